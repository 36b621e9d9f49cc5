"""Configurations of several faults: what the report orders can be carried out together, and mends what it is for."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from doctor.base.record import replace
from doctor.diagnosis.offers import Judged
from doctor.diagnosis.proving import _firsts, _make, proven
from doctor.diagnosis.rejudge import rejudge
from doctor.diagnosis.supposing import SupposedInputs, Untried
from tests.remedies.test_proving import SCRIPT, judged

SETTINGS = (
    "num_generations=1", "num_generations=3", "num_generations=7", "per_device_train_batch_size=1",
    "per_device_train_batch_size=5", "gradient_accumulation_steps=3", "steps_per_generation=2",
    "generation_batch_size=10", "bf16=True", "fp16=True", "fp16=True, bf16=True", "tf32=True", "use_vllm=True",
    "vllm_gpu_memory_utilization=95", "per_device_eval_batch_size=3", "eval_strategy='steps'",
    "save_strategy='epoch', eval_strategy='steps', load_best_model_at_end=True", "report_to=['wandb','swanlab']",
    "optim='adamw_bnb_8bit'", "deepspeed='ds.json'", "beta=0.0, sync_ref_model=True", "temperature=0",
    "loss_type='dapo'", "loss_type='xyz'", "num_generation=4", "use_liger_loss=True", "no_cuda=True", "max_steps=0",
    "model_init_kwargs={'attn_implementation': 'flash_attention_2'}", "learning_rate=1.0", "auto_find_batch_size=True",
)  # fmt: skip
DEEPSPEED = (
    {"train_batch_size": 7}, {"gradient_accumulation_steps": 5}, {"fp16": {"enabled": True}},
    {"bf16": {"enabled": True}}, {"zero_optimisation": {"stage": 2}}, {"gradient_clipping": 3.0},
    {"optimizer": {"type": "AdamW", "params": {"lr": 1}}},
)  # fmt: skip
ACCELERATE = ("mixed_precision: fp16", "mixed_precision: bf16", "num_processes: 3", "distributed_type: FSDP")
COMMANDS = (
    "python train.py", "accelerate launch --config_file a.yaml train.py", "torchrun --nproc_per_node 5 train.py",
    "deepspeed train.py", "accelerate launch --num_processes 2 --mixed_precision bf16 train.py",
)  # fmt: skip
RELEASES = (("0.16.1", "4.51.0", "2.6.0"), ("0.22.0", "4.56.0", "2.8.0"), ("1.16.0", "5.24.0", "2.13.0"))
V100, A100 = (
    {"gpus": [{"index": each, "name": name, "compute_capability": list(capability)} for each in range(2)]}
    for name, capability in (("Tesla V100-SXM2-32GB", (7, 0)), ("NVIDIA A100-SXM4-80GB", (8, 0)))
)


def several_faults(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    trl, transformers, torch = chance.choice(RELEASES)
    packages = {"trl": trl, "transformers": transformers, "torch": torch, "accelerate": "1.10.1", "deepspeed": "0.17.0"}
    held: dict[str, Any] = {}
    for each in chance.sample(DEEPSPEED, chance.choice([0, 1, 3])):
        held.update(each)
    accelerate = "\n".join(chance.sample(ACCELERATE, chance.choice([0, 1, 2])))
    script = SCRIPT.format(settings=", ".join(chance.sample(SETTINGS, chance.choice([2, 3, 5, 7]))))
    return {
        "command": chance.choice(COMMANDS),
        "files": {"train.py": script, "ds.json": json.dumps(held, indent=1), "a.yaml": f"{accelerate}\n"},
        "facts": {"packages": packages, "gpus": chance.choice([V100, A100])},
    }


def spoilt(given: Judged) -> set[str]:
    """The problems whose first command was carried out with those of all others, and which are found all the same."""
    ordered = _firsts(given)
    draft = SupposedInputs(given.collector)
    try:
        for finding, command in ordered:
            _make(draft, command, finding)
        supposed = draft.supposed()
    except Untried:
        return set()
    mended = Counter(finding.problem.id for finding, _ in ordered)
    verdict = rejudge(given.entries, given.outcome, given.collector, supposed, list(mended))
    there = Counter(each.problem.id for each in given.outcome.findings)
    left = Counter(each.problem.id for each in verdict.left)
    return {name for name, count in mended.items() if left[name] > there[name] - count}


@pytest.mark.parametrize("seed", range(40))
def test_no_two_of_a_report_undo_each_other(seed: int, tmp_path: Path) -> None:
    given = judged(several_faults(seed), tmp_path)
    findings, _ = proven(given, limit_s=60.0)
    assert spoilt(replace(given, outcome=replace(given.outcome, findings=findings))) == set()


@pytest.mark.parametrize(
    ("settings", "together"),
    [
        ("save_strategy='epoch', eval_strategy='steps', load_best_model_at_end=True", {"TRF009", "TRF010"}),
        ("num_generations=7, generation_batch_size=10, per_device_train_batch_size=4",
         {"TRL3814/groups", "TRL3814/not_multiple"}),
    ],
)  # fmt: skip
def test_of_two_that_clash_the_second_loses_its_command_and_says_why(settings, together, tmp_path: Path) -> None:
    case = {**several_faults(0), "command": "python train.py"}
    case["files"] = {"train.py": SCRIPT.format(settings=settings)}
    case["facts"] = {"packages": {"trl": "1.16.0", "transformers": "5.24.0", "torch": "2.13.0"}, "gpus": A100}
    given = judged(case, tmp_path)
    assert together <= {each.problem.id for each in given.outcome.findings}
    findings, withdrawn = proven(given, limit_s=60.0)
    told = {each.problem for each in withdrawn if "does not go together" in each.why.en} & together
    assert told
    for each in findings:
        if each.problem.id in told:
            assert "does not go together with the fixes of the other problems" in each.words("en").remedy
            assert "不能同时使用" in each.words("zh").remedy


def test_what_installs_a_package_hides_nothing_of_the_other_commands(tmp_path: Path) -> None:
    case = several_faults(0)
    case["command"] = "accelerate launch --num_processes 2 --mixed_precision bf16 train.py"
    case["files"] = {"train.py": SCRIPT.format(settings="use_vllm=True, vllm_mode='colocate'")}
    case["facts"] = {"packages": {"trl": "1.0.0", "transformers": "5.0.0", "torch": "2.10.0"}, "gpus": V100}
    given = judged(case, tmp_path)
    findings, _ = proven(given, limit_s=60.0)
    (card,) = (each for each in findings if each.problem.id == "GPU013")
    assert card.commands == ()  # fp16 would contradict what the launcher is told
    assert any(command.startswith("pip install") for each in findings for command in each.commands)
