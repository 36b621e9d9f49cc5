"""Pasted code and configuration becomes facts, open ones, and checks judge them where nothing better is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.base.opened import NotSeen
from doctor.catalogue.finding import Role
from doctor.logs.postmortem import Postmortem, Prepared, examine, prepare
from doctor.logs.told.context import listed_versions
from doctor.logs.told.pasted import pasted_in
from doctor.logs.told.pieces import MOST_LINES, pieces_in

THREADS = Path(__file__).parent / "pasted"
#: threads whose answer rests on what is pasted
ANSWERS = {"arctic-fp16-and-bf16": "DSP006", "polyglot-dpo-arguments": "TRL2205/removed"}
ISSUE = """\
The reward does not move. My script:

```python
from trl import GRPOConfig, GRPOTrainer

def score(completions, **kwargs):
    return [1.0 for _ in completions]

    training_args = GRPOConfig(
        output_dir="out",
        num_generations=1,
        ...
    )
trainer = GRPOTrainer(model="m", reward_funcs=[score], args=training_args, train_dataset=ds)
```
reward: 0.3 at every step, what am I doing wrong?
"""


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.splitlines(), 1))


def judged(prepared: Prepared, folder: Path, text: str, context: str = "") -> Postmortem:
    (folder / "log.txt").write_text(text, encoding="utf-8")
    (folder / "context.txt").write_text(context, encoding="utf-8")
    return examine([str(folder / "log.txt")], context=[folder / "context.txt"], prepared=prepared)


def ids(result: Postmortem) -> list[str]:
    return [each.problem.id for each in result.diagnosis.outcome.findings]


def test_statements_are_found_between_prose_and_keep_their_lines() -> None:
    found = pieces_in(numbered(ISSUE.replace("    training_args", "training_args")))
    lines = found.python.splitlines()
    assert lines[3] == "from trl import GRPOConfig, GRPOTrainer"
    assert lines[8] == "training_args = GRPOConfig("
    assert lines[13].startswith("trainer = GRPOTrainer(")
    assert not any("reward: 0.3" in each or "```" in each or "..." in each for each in lines)


@pytest.mark.parametrize(
    "text",
    [
        "reward: 0.3\nloss = 1.2\n{'loss': 0.1, 'reward': 0.4}\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x = GRPOConfig(beta=1)\nValueError: no\n',
        "TrainingArguments(\n_n_gpu=1,\nhub_strategy=<HubStrategy.EVERY_SAVE: 'every_save'>,\n)\n",
        "GRPOConfig(beta=0.1)\n" + "step\n" * MOST_LINES,
    ],
)
def test_metrics_frames_dumps_and_long_logs_are_no_script(text: str) -> None:
    assert not pieces_in(numbered(text)).python


def test_facts_of_a_pasted_script_are_open() -> None:
    text = "args = GRPOConfig(beta=0.1)\ntrainer = GRPOTrainer(model='m', args=args)\n"
    facts = {each.name: each for each in pasted_in(numbered(text), "issue.md").observed}
    training = facts["training"].value
    assert facts["training"].origin.kind == "pasted"
    assert training.arguments["beta"].value == 0.1
    assert training.arguments["beta"].place.line == 1
    with pytest.raises(NotSeen):
        training.arguments.get("learning_rate")
    with pytest.raises(NotSeen):
        len(facts["script"].value.calls_of("GRPOConfig"))


def test_two_versions_of_a_configuration_tell_nothing_of_the_training() -> None:
    text = "a = GRPOConfig(beta=0.1)\nThis works:\na = GRPOConfig(beta=0.2)\ntrainer = GRPOTrainer(model='m', args=a)\n"
    assert "training" not in {each.name for each in pasted_in(numbered(text), "").observed}


def test_modules_beside_the_doctor_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.py").write_text("from trl import GRPOConfig\nargs = GRPOConfig(num_generations=1)\n")
    monkeypatch.chdir(tmp_path)
    text = "from settings import args\ntrainer = GRPOTrainer(model='m', args=args)\n"
    facts = {each.name: each.value for each in pasted_in(numbered(text), "issue.md").observed}
    with pytest.raises(NotSeen):
        facts["training"].arguments.get("num_generations")


def test_configurations_of_known_frameworks() -> None:
    deepspeed = '{\n "zero_optimization": {"stage": 3},\n "fp16": {"enabled": true}\n}\n'
    yaml = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 2\n"
    found = pieces_in(numbered(f"config:\n\n{deepspeed}\n{yaml}"))
    assert [settings for _, settings in found.deepspeed] == [
        {"zero_optimization": {"stage": 3}, "fp16": {"enabled": True}}
    ]
    assert [first for first, _ in found.accelerate] == [8]


def test_a_command_is_read_with_its_continuation_and_not_where_words_are_left_out() -> None:
    whole = pieces_in(numbered("accelerate launch \\\n  --num_processes 4 \\\n  train.py\n"))
    assert whole.commands == [(1, "accelerate launch --num_processes 4 train.py")]
    for cut in ("trl sft ... --bf16\n", "accelerate launch --num_processes $N train.py\n", "torchrun \\\n"):
        assert not pieces_in(numbered(cut)).commands


def test_versions_are_read_from_lists_and_not_from_sentences() -> None:
    assert listed_versions("trl 0.19.0, transformers 4.53.0") == {"trl": "0.19.0", "transformers": "4.53.0"}
    assert not listed_versions("with trl 0.19.0 it works")


def test_a_check_gives_the_cause_where_nothing_better_is_known(prepared: Prepared, tmp_path: Path) -> None:
    result = judged(prepared, tmp_path, ISSUE.replace("    training_args", "training_args"))
    first = result.diagnosis.outcome.findings[0]
    assert (first.problem.id, first.role, first.confidence.value) == ("TRL008", Role.CAUSE, "likely")
    assert first.where.line == 11


def test_a_failure_is_not_explained_by_an_unrelated_setting(prepared: Prepared, tmp_path: Path) -> None:
    failure = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nFrobError: the widget is loose\n'
    result = judged(prepared, tmp_path, failure, "args = GRPOConfig(num_generations=1)\ntrl 0.19.0\n")
    assert ids(result)[0] != "TRL008"


def test_what_would_have_ended_the_run_is_not_its_cause(prepared: Prepared, tmp_path: Path) -> None:
    metrics = "{'loss': 0.5, 'grad_norm': 1.0, 'learning_rate': 1e-06, 'epoch': 0.1}\n" * 3
    config = '{"zero_optimization": {"stage": 3}, "fp16": {"enabled": true}, "bf16": {"enabled": true}}\n'
    assert "DSP006" in ids(judged(prepared, tmp_path, config))
    assert "DSP006" not in ids(judged(prepared, tmp_path, metrics + config))


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_threads_stay_answered(prepared: Prepared, name: str) -> None:
    context = THREADS / name / "context.txt"
    found = examine([str(THREADS / name / "log.txt")], context=[context] if context.exists() else [], prepared=prepared)
    assert ids(found)[0] == ANSWERS[name]
    assert ANSWERS[name].partition("/")[0] in json.loads((THREADS / name / "label.json").read_text())["expected"]


def test_a_name_that_no_release_has_needs_no_release(prepared: Prepared, tmp_path: Path) -> None:
    script = "from trl import GRPOConfig\nargs = GRPOConfig(output_dir='a', num_generation=8, max_prompt_length=9)\n"
    assert ids(judged(prepared, tmp_path, script)) == ["TRL2205/unknown"]  # what was dropped later may fit theirs


def test_keywords_of_the_trainer_are_settings(prepared: Prepared, tmp_path: Path) -> None:
    call = "trainer = SFTTrainer(model=model, train_dataset=rows, dataset_text_field='text', args=args)\n"
    script = f"from trl import SFTTrainer\n{call}"
    assert ids(judged(prepared, tmp_path, call, "trl==0.19.1\n")) == ["UNK003"]  # it may be Unsloth's trainer
    assert ids(judged(prepared, tmp_path, script, "trl==0.19.1\n")) == ["TRL2205/removed"]
    assert "TRL2205/removed" not in ids(judged(prepared, tmp_path, script, "trl==0.9.6\n"))


def test_a_quoted_warning_about_the_training_is_the_subject(prepared: Prepared, tmp_path: Path) -> None:
    line = "{'input_ids': [128000, 128000, 128006, 882]}\n"
    assert ids(judged(prepared, tmp_path, line))[0] == "DAT3073/rendered_twice"
    run = "Train:  10%|#   | 10/100 [00:01<00:09, 9.0it/s]\n" * 20
    assert ids(judged(prepared, tmp_path, line + run))[0] == "UNK003"


LONE = """\
```python
import torch.distributed as dist
dist.init_process_group("nccl")
for step in range(10):
    if dist.get_rank() == 0:
        save(step)
        dist.barrier()
```
"""
WAITED = """\
[rank0]:[E1128 10:12:00.123456789 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before \
timing out.
"""


def test_code_says_why_a_rank_waited_for_the_others(prepared: Prepared, tmp_path: Path) -> None:
    result = judged(prepared, tmp_path, WAITED, context=LONE)
    first, second = result.diagnosis.outcome.findings[:2]
    assert (first.problem.id, second.problem.id) == ("NCC9344", "NCC011")
    assert second.role is Role.SYMPTOM
    assert any(each.text == "dist.get_rank() == 0" for each in first.evidence)
    assert ids(judged(prepared, tmp_path, WAITED, context=LONE.replace("        dist.b", "    dist.b")))[0] == "NCC011"
