"""Small judgements on which larger ones rest: ranges, options, levels, programs."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from doctor.catalogue.changes import program_of
from doctor.catalogue.nodes.compare import Compared, Value
from doctor.catalogue.nodes.departures import _told_split
from doctor.catalogue.shared.gaps import Gap
from doctor.catalogue.shared.requirements import satisfies
from doctor.catalogue.shared.said import options_of
from doctor.catalogue.signature import Hit, Hits
from doctor.facts.launch import Launch


def hits(*values: str) -> Hits:
    made = [Hit({"size": each}, "a.log", line, 0, None, None) for line, each in enumerate(values, 1)]
    return Hits(made, len(made))


def test_captured_texts_that_are_no_numbers_are_left_out() -> None:
    assert hits("8", "auto", "-1", "8", "1.5").ints("size") == [8, -1]


@pytest.mark.parametrize(
    ("version", "wanted", "answer"),
    [
        ("2.6.0", ">=2.6", True), ("2.5.1", ">=2.6", False), ("2.6.0a0+ecf3bae40a.nv25.01", ">=2.6", True),
        ("2.6.0.dev20250101", ">=2.6", True), ("2.6.0+cu124", "==2.6.0", True), ("2.5.0rc1", ">=2.6", False),
        ("unknown", ">=2.6", None),
    ],
)  # fmt: skip
def test_a_build_before_a_release_counts_as_that_release(version: str, wanted: str, answer: bool | None) -> None:
    assert satisfies(version, SpecifierSet(wanted)) is answer


def test_options_of_a_program_that_nobody_knows() -> None:
    launch = Launch(("serve.py", "--max-len=a=b", "--fast", "--name", "x", "-p", "1", "--"), kind="python")
    assert {name: each.value for name, each in options_of(launch).items()} == {
        "max_len": "a=b", "fast": "true", "name": "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("sampling/importance_sampling_ratio/mean", (0.5, 2.0)), ("token_mult_prob_error", (0.0, 1.05)),
        ("TME", (0.0, 1.05)), ("rollout_corr/kl", (-0.1, 0.1)),
    ],
)  # fmt: skip
def test_levels_of_the_gap_are_those_of_its_kind(name: str, bounds: tuple[float, float]) -> None:
    assert Gap(name).bounds == bounds


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("A=1 B=2 /opt/bin/vllm serve m; echo done", ("vllm", "vllm")),
        ("accelerate launch t.py && vllm serve m", ("accelerate", "accelerate")),
        ("python3 -m trl.scripts.grpo --x", ("trl.scripts.grpo", "trl")), ("python -m", None),
        ("python -m json.tool x", None), ("echo vllm", None), ("A=1", None), ("", None),
    ],
)  # fmt: skip
def test_the_program_of_a_command(command: str, program: tuple[str, str] | None) -> None:
    assert program_of(command) == program


def test_readings_that_split_alike_are_counted() -> None:
    one = Compared("torch", "python", (Value("2.5.1", ("a", "b")), Value("2.6.0", ("c",))))
    assert _told_split([one], "en") == "2.5.1 (2), 2.6.0 (1)"
    assert _told_split([one, one], "en") == "2.5.1 (2), 2.6.0 (1); and 1 more reading"
    assert _told_split([one] * 3, "en").endswith("and 2 more readings")
