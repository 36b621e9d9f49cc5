"""Mistakes in real runs under `doctor run`: the first finding holds the fact that no traceback holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ports import free_port

from .runs import PROGRAMS, diagnose, environment, run

#: mistake -> (processes, what the first finding must hold)
MISTAKES = {
    "none-setting": (1, ("SHAPING.penalty", "is None", "Shaping")),
    "index-beyond": (1, ("`SHAPING.weights` has 2 elements", "`place` is 2")),
    "assertion": (1, ("`len(rewards)` = 6", "`len(prompts)` = 4")),
    "pool": (1, ("`len(table) - 2` = 0",)),
    "groups": (1, ("`self.generation_batch_size` = 8", "`self.num_generations` = 3")),
    "advantages": (1, ("[4, 8]", "[2, 1, 2]", "dimension -1")),
    "value-head": (1, ("float32[4, 18, 32]", "float32[1, 16]")),
    "frozen": (1, ("None of the 35,232 parameters", "Qwen2ForCausalLM")),
    "half": (1, ("`self.weight` is bfloat16", "`input` is float32")),
    "embedding": (1, ("258 rows", "vocab_size")),
    "uneven": (1, ("`features`", "input_ids", "different length")),
    "preference-none": (1, ('example["chosen"]` is None',)),
    "optimizer-state": (1, ("`len(groups)` = 2", "`len(saved_groups)` = 1")),
    "ranks-differ": (2, ("`logits.shape[0]` = 3", "`expected` = 4", "rank 0")),
    "leaves": (2, ("batch % (world * 4)", "`batch` = 6", "`world` = 2")),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_first_finding_holds_the_decisive_fact(mistake: str, python: Path, model: Path, tmp_path: Path) -> None:
    processes, expected = MISTAKES[mistake]
    command = [str(python), str(PROGRAMS / "mistakes.py"), str(model), mistake]
    if processes > 1:
        command[:1] = [
            str(python.parent / "accelerate"), "launch", "--multi_gpu", "--num_processes", str(processes),
            "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port",
            str(free_port()),
        ]  # fmt: skip
    words = [sys.executable, "-m", "doctor", "run", "--no-check", "--no-monitor", "--", *command]
    ran = run(words, tmp_path, environment(python, tmp_path))
    assert ran.code not in (0, None), ran.text[-3000:]
    (folder,) = (tmp_path / "doctor-runs").glob("2*")
    answer = diagnose(folder)
    missing = [each for each in expected if each not in answer.words]
    assert not missing, answer.words
