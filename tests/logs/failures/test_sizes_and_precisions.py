"""Sizes that do not divide each other, precisions that meet, single numbers among rows, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import LIKELY, Finding
from doctor.logs.failures import divisions, precisions
from doctor.logs.postmortem import Prepared, examine, prepare

HEADER = "Traceback (most recent call last):\n"
LIBRARY = '  File "/opt/venv/lib/python3.11/site-packages/{path}", line 171, in {function}\n    {code}\n'


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def first(prepared: Prepared, tmp_path: Path, text: str, context: str = "") -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    told = [tmp_path / "context.txt"] if context else []
    outcome = examine([str(tmp_path / "train.log")], context=told, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return outcome.findings[0]


def raised(code: str, words: str, path: str = "acme/batching.py", prefix: str = "") -> str:
    text = f"{HEADER}{LIBRARY.format(path=path, function='split', code=code)}{words}\n"
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("message", "sizes"),
    [
        ("Data dict size (249) is not a multiple of the provided microbatch size (2)", ("249", "2")),
        ("batch of 97 must be divisible by the tensor parallel size 8", ("97", "8")),
        ("num_heads 30 should be a multiple of world size, got 4", ("30", "4")),
        ("input tensor must be the same size as output size times world size", ("", "")),
    ],
)
def test_a_size_that_leaves_a_rest(message: str, sizes: tuple[str, str]) -> None:
    assert divisions.read(message) == divisions.Uneven(*sizes)


@pytest.mark.parametrize(
    "message",
    [
        "batch of 96 must be divisible by the tensor parallel size 8",  # it is: the words are about another thing
        "hidden size must be a multiple of 64",
        "version 2.9 is not a multiple of anything",
        "got 3 samples of 12",
    ],
)
def test_no_size_that_leaves_a_rest(message: str) -> None:
    assert divisions.read(message) is None


def test_settings_of_a_rest_are_those_that_hold_it() -> None:
    made = {"logprob_batch_size": 2, "num_workers": 2, "policy.train_micro_batch_size": 2, "train_micro_batch_size": 2}
    message = "Data dict size (249) is not a multiple of the provided microbatch size (2)"
    assert divisions.settings("249", "2", message, made) == ("logprob_batch_size=2", "policy.train_micro_batch_size=2")
    ranks = {"tp": 8, "max_running_requests": 97, "max_model_len": 4096}
    assert divisions.settings("", "", "", ranks) == ("max_running_requests=97", "tp=8")
    assert divisions.settings("", "", "", {**ranks, "max_running_requests": 96}) == ()


@pytest.mark.parametrize(
    ("message", "types"),
    [
        ("mismatch dtype: src torch.float32, dst torch.bfloat16", ("float32", "bfloat16")),
        ("expected c10::BFloat16 but got fp32", ("bfloat16", "float32")),
        ("unparametrized dtype: torch.float32 parametrized dtype: torch.bfloat16", ("float32", "bfloat16")),
        ("dtype torch.float32 must be torch.float32", None),
        ("dtype must be one of float16, bfloat16, float32", None),
        ("loaded float32 weights, saved bfloat16", None),
    ],
)
def test_two_precisions_that_meet(message: str, types: tuple[str, str] | None) -> None:
    assert precisions.read(message) == types


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        (
            raised("assert size % micro == 0", "AssertionError: size (9) is not a multiple of micro batch size (2)"),
            "micro_batch_size=2", "9 is not a multiple of 2",
        ),
        (
            raised("raise ValueError(", "ValueError: mismatch dtype: src torch.float32, dst torch.bfloat16"),
            "bf16=True", "float32 meets bfloat16",
        ),
        (
            raised("log['x'] = sum(scores) / len(scores)",
                   "TypeError: unsupported operand type(s) for +: 'int' and 'dict'"),
            "", "an entry of `scores` is a `dict`",
        ),
        (
            raised("parts = torch.chunk(value, 2, dim=0)",
                   "IndexError: Dimension specified as 0 but tensor has no dimensions"),
            "seen: {'token_count': tensor(384., device='cuda:0')}", "`token_count` is a single number",
        ),
        (
            raised("self.generation.vllm_client.chat(", "AttributeError: 'VLLMGeneration' object has no attribute 'x'",
                   "trl/generation/openenv.py", "[rank1]: "),
            "", "set on the main process only",
        ),
    ],
)  # fmt: skip
def test_what_the_words_and_the_line_show(
    prepared: Prepared, tmp_path: Path, text: str, context: str, holds: str
) -> None:
    finding = first(prepared, tmp_path, text, context)
    assert holds in finding.words().headline, finding.words().headline
    assert finding.confidence is LIKELY


@pytest.mark.parametrize(
    ("text", "not_held"),
    [
        # rank 0 fails as well; and a class of another package may be of another release
        (
            raised("self.generation.x.chat(", "AttributeError: 'VLLMGeneration' object has no attribute 'x'",
                   "trl/generation/openenv.py", "[rank0]: ")
            + raised("self.generation.x.chat(", "AttributeError: 'VLLMGeneration' object has no attribute 'x'",
                     "trl/generation/openenv.py", "[rank1]: "),
            "main process only",
        ),
        (
            raised("model.config.x", "AttributeError: 'QwenConfig' object has no attribute 'x'",
                   "trl/generation/openenv.py", "[rank1]: "),
            "main process only",
        ),
        # two numbers that are added, of which one is a text
        (
            raised("total = count + name", "TypeError: unsupported operand type(s) for +: 'int' and 'dict'"),
            "an entry of",
        ),
    ],
)  # fmt: skip
def test_what_only_looks_like_it(prepared: Prepared, tmp_path: Path, text: str, not_held: str) -> None:
    assert not_held not in first(prepared, tmp_path, text).words().headline


ROW = "{{'loss': -0.0002, 'reward': 0.97, 'grad_norm': 0.01, 'entropy': {entropy}, 'epoch': 0.72}}\n"


@pytest.mark.parametrize(("entropy", "told"), [(0.0004, True), (0.9, False)])
def test_an_extreme_before_a_missing_value_is_told(
    prepared: Prepared, tmp_path: Path, entropy: float, *, told: bool
) -> None:
    line = raised("x = torch.tensor(logps)", "RuntimeError: Could not infer dtype of NoneType", "acme/trainer.py")
    finding = first(prepared, tmp_path, ROW.format(entropy=entropy) + line)
    assert ("nearly deterministic" in finding.words().explanation) is told


CALL = "Trainer = PPOTrainer(config=c, policy=p, ref_policy=r, reward_model=m, {more}train_dataset=d)\ntrl==0.12.0\n"


@pytest.mark.parametrize(("more", "told"), [("", True), ("value_model=v, ", False)])
def test_the_argument_that_a_quoted_call_leaves_out_is_named(
    prepared: Prepared, tmp_path: Path, more: str, *, told: bool
) -> None:
    frames = (
        f'{HEADER}  File "/home/user/ppo.py", line 51, in <module>\n    trainer = PPOTrainer(\n'
        + LIBRARY.format(path="trl/trainer/ppo_trainer.py", function="__init__", code="disable_dropout_in_model(module)")
        + LIBRARY.format(path="trl/trainer/utils.py", function="disable_dropout_in_model",
                         code="for module in model.modules():")
        + "AttributeError: 'NoneType' object has no attribute 'modules'\n"
    )  # fmt: skip
    finding = first(prepared, tmp_path, frames, CALL.format(more=more))
    assert ("`value_model`" in finding.words().explanation) is told
