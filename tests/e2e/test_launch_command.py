"""A real GRPO run: script, accelerate YAML and DeepSpeed JSON; planted faults are found with their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

pytestmark = pytest.mark.process

#: id -> file and a piece of the line that is at fault
PLANTED = {
    "ACC001": ("zero2.yaml", "zero_stage: 2"),
    "LCH5095/processes": ("zero2.yaml", "num_processes: 16"),
    "DSP004": ("zero2.json", '"gradient_accumulation_steps": 4'),
    "DSP010": ("zero2.json", '"stage": "2"'),
    "DAT001": ("train_grpo.py", "def correct_reward"),
    "DAT003": ("train_grpo.py", "return -sum("),
    "DAT1825/prompt": ("sums.jsonl", None),
    "TRL2205/removed": ("train_grpo.py", "max_prompt_length=512"),
    "TRL3814/groups": ("train_grpo.py", "num_generations=6"),
    "TRL016": ("train_grpo.py", "vllm_tensor_parallel_size=3"),
    "TRL022": ("train_grpo.py", "max_completion_length=40000"),
    "TRL2205/transformers_removed": ("train_grpo.py", "evaluation_strategy="),
    "TRF006": ("train_grpo.py", "fp16=True"),
    "TRL2205/lora": ("train_grpo.py", "LoraConfig(rank=16"),
    "NUM001": ("train_grpo.py", "fp16=True"),
}

SampleRun = Callable[[str], Run]


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_every_planted_fault_is_found_at_its_line(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    found = {each["id"]: each["where"] for each in run.check()["findings"]}
    assert PLANTED.keys() <= found.keys(), PLANTED.keys() - found.keys()
    for problem, (file, text) in PLANTED.items():
        assert found[problem]["file"] == str(run.folder / file), problem
        if text is not None:
            assert found[problem]["line"] == line_of(run.folder / file, text), problem


def test_the_mended_run_is_met_with_silence(sample_run: SampleRun) -> None:
    report = sample_run("mended").check("--ignore", "HST")  # the machine under the tests is not the one simulated
    assert report["findings"] == []
    assert report["summary"]["errors"] == report["summary"]["warnings"] == 0
    assert report["summary"]["checks_run"] > 60


@pytest.mark.parametrize(
    "command",
    [
        "python -m accelerate.commands.launch --config_file zero2.yaml train_grpo.py",
        "nohup timeout 3h accelerate launch --config_file=zero2.yaml train_grpo.py",
        "env NCCL_DEBUG=WARN accelerate launch --config_file zero2.yaml train_grpo.py",
    ],
)
def test_other_spellings_of_the_command_find_the_same(sample_run: SampleRun, command: str) -> None:
    found = {each["id"] for each in sample_run("faulty").check(command=command)["findings"]}
    assert PLANTED.keys() <= found


def test_the_interpreter_of_the_launcher_is_judged(sample_run: SampleRun, stack: Path) -> None:
    report = sample_run("mended").check()
    assert Path(report["target"]["python"]).parent == stack


def test_comment_in_the_script_silences_one_line_and_says_why(sample_run: SampleRun) -> None:
    run = sample_run("faulty")
    script = run.folder / "train_grpo.py"
    old = "max_prompt_length=512,"
    script.write_text(
        script.read_text().replace(old, f"{old}  # doctor: ignore[TRL2205/removed] older TRL on the cluster")
    )
    report = run.check("--ignore", "LCH5095/processes=eight more cards come on Monday")
    assert not {"TRL2205/removed", "LCH5095/processes"} & {each["id"] for each in report["findings"]}
    reasons = {each["id"]: each["reason"] for each in report["skipped"] if each.get("ignored")}
    assert reasons == {
        "TRL2205/removed": "ignored: older TRL on the cluster",
        "LCH5095/processes": "ignored: eight more cards come on Monday",
    }


def test_nothing_of_the_users_is_run(sample_run: SampleRun) -> None:
    run = sample_run("mended")
    script = run.folder / "train_grpo.py"
    script.write_text("open('was_run', 'w')\n" + script.read_text())
    run.check()
    assert not (run.folder / "was_run").exists()
    assert sorted(path.name for path in run.folder.iterdir()) == [
        "model", "sums.jsonl", "train_grpo.py", "zero2.json", "zero2.yaml",
    ]  # fmt: skip


def test_saved_facts_judge_the_same_command_elsewhere(sample_run: SampleRun, tmp_path: Path) -> None:
    run = sample_run("faulty")
    first = run.check("--save-facts", str(tmp_path / "node.json"))
    again = run.check("--from", str(tmp_path / "node.json"))

    def ids(report: dict[str, list[dict[str, str]]]) -> set[str]:
        return {each["id"] for each in report["findings"] if not each["id"].startswith("HST")}

    assert ids(again) == ids(first)
