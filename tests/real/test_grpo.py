"""TRL's GRPO on a CPU, broken in one place at a time: the first finding names the place."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from .runs import PROGRAMS, Ran, diagnose, environment, run

pytestmark = pytest.mark.process


class Died(NamedTuple):
    """A run that ends with an exception: the id, and patterns of the words of the first finding."""

    case: str
    id: str
    words: tuple[str, ...]


DIED = (
    Died("groups", "TRL3814/groups", (r"`num_generations=3` does not divide .* 4", r"num_generations=2")),
    Died("one-generation", "TRL008", (r"num_generations=1", r"2 or more")),
    Died("old-name", "TRL2205/transformers_removed", (r"`evaluation_strategy`", r"eval_strategy=")),
    Died("removed-argument", "TRL2205/removed", (r"`max_prompt_length`", r"0\.28\.0", r"from the script")),
    Died("misspelt-argument", "TRL2205/unknown", (r"`num_generation`", r"`num_generations`")),
    Died("bf16-without-gpu", "TRF007", (r"bf16", r"no GPU", r"use_cpu")),
    Died(
        "both-batch-arguments",
        "TRL3814/twice",
        (r"`generation_batch_size` and `steps_per_generation`", r"one of the two"),
    ),
    Died("eval-without-data", "TRF009", (r"`eval_dataset`",)),
    Died("vllm-not-installed", "PYT3270/vllm", (r"use_vllm=True", r'pip install "trl\[vllm\]"')),
    Died("resume-from-nothing", "CKP004", (r"out/checkpoint-500",)),
    Died("eight-bit-optimizer", "PYT3270/optimizer", (r"`bitsandbytes`", r"pip install")),
    Died("reward-texts", "DAT003", (r"list of `str`", r"list of floats")),
    Died("reward-scalar", "DAT003", (r"single `float`", r"list of floats")),
    Died("reward-too-few", "DAT013", (r"returned 1 rewards for 4 completions",)),
    Died("reward-not-callable", "DAT023", (r"`float`", r"function itself")),
    Died("no-prompt-column", "DAT1825/prompt", (r"no column `prompt`", r'rename_column\("question", "prompt"\)')),
    Died("no-chat-template", "DAT009", (r"chat template",)),
    Died("tokenizer-argument", "TRF005", (r"processing_class=tokenizer",)),
    Died("no-pad-token", "DAT010", (r"padding token", r"tokenizer\.pad_token")),
    Died("lora-target", "PFT004", (r"`c_attn`", r"all-linear")),
    Died("huge-learning-rate", "NUM010", (r"NaN or infinite", r"learning rate")),
    Died("nan-weight", "NUM010", (r"NaN or infinite",)),
)


@pytest.mark.parametrize("expected", DIED, ids=[each.case for each in DIED])
def test_a_run_that_dies(expected: Died, grpo: Callable[[str], Ran]) -> None:
    ran = grpo(expected.case)
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == (expected.id, "cause", "known"), answer.words
    assert answer.code == 1
    missing = [each for each in expected.words if not re.search(each, answer.words)]
    assert not missing, answer.words


def test_a_reward_function_that_raises_is_the_users_own_code(grpo: Callable[[str], Ran]) -> None:
    ran = grpo("reward-raises")
    assert ran.code == 1
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.verdict, answer.first["confidence"]) == ("DAT053", "known", "likely")
    assert re.search(r"Your reward function `\w+` raises KeyError in `grpo\.py:[\w<>]+`", answer.first["headline"])


class Silent(NamedTuple):
    """A run that ends well and trained nothing, or garbage: the first id, its step, and words."""

    case: str
    id: str
    step: int | None
    words: str


SILENT = (
    Silent("nan-rewards", "RLX006", 1, r"NaN"),
    Silent("none-rewards", "RLX006", 1, r"None"),
    Silent("equal-rewards", "RLX008", 1, r"`reward` is exactly 1"),
    Silent("nan-greedy", "NUM006", 4, r"`grad_norm` is NaN at step 4"),
    Silent("nan-greedy-unfiltered", "NUM006", 4, r"NaN at step 4"),
    Silent("no-learning-rate", "RLX017", 12, r"`learning_rate` is 0 in all 12 steps"),
    Silent("clipped", "RLX011", 20, r"max_completion_length"),
    Silent("empty-dataset", "DAT012", None, r"batch"),
)


@pytest.mark.parametrize("expected", SILENT, ids=[each.case for each in SILENT])
def test_a_run_that_ends_well_and_trained_garbage(expected: Silent, grpo: Callable[[str], Ran]) -> None:
    ran = grpo(expected.case)
    assert ran.code == 0, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"], answer.verdict) == (expected.id, "cause", "known"), answer.words
    assert (answer.first["where"] or {}).get("step") == expected.step, answer.first
    assert re.search(expected.words, answer.words), answer.words


@pytest.mark.parametrize("case", ["no-processing-class"])
def test_what_works_stays_silent(case: str, grpo: Callable[[str], Ran]) -> None:
    ran = grpo(case)
    assert ran.code == 0, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.ids, answer.code) == ([], 0)


def test_a_healthy_run_of_its_own_stays_silent(python: Path, model: Path, tmp_path: Path) -> None:
    argv = [str(python), str(PROGRAMS / "grpo.py"), str(model), "healthy"]
    ran = run(argv, tmp_path, environment(python, tmp_path))
    assert ran.code == 0, ran.text[-2000:]
    assert ran.text.endswith("finished\n")
    answer = diagnose(ran.log)
    assert (answer.ids, answer.code) == ([], 0)


def test_an_exception_of_a_shared_process_reads_as_one_of_its_own(
    python: Path, model: Path, tmp_path: Path, grpo: Callable[[str], Ran]
) -> None:
    shared = grpo("removed-argument").text
    alone = tmp_path / "alone"
    alone.mkdir()
    argv = [str(python), str(PROGRAMS / "grpo.py"), str(model), "removed-argument"]
    own = run(argv, alone, environment(python, alone)).text
    start = "Traceback (most recent call last)"
    assert start in own
    assert shared[shared.index(start) :] == own[own.index(start) :]
