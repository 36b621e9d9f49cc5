"""What is told to be no override, Hydra's own parser refuses."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.checks.verl._override_grammar import SEVERAL, refused

PARSER = OverridesParser.create()
PIECES = (
    "a", "b.c", "model", "=", '"', "'", "[", "]", "{", "}", "(", ")", ",", " ", "~", "+", "#", "<", ">", "$", "${x}",
    "${", "1", "1e-6", "null", "True", "/", "-", ".", ":", "@", "\\", "|", "?", "*", "%", "é", "中", '"q"', "'q'", "\t",
    "&", ";", "!", "^", "`", "f(",
)  # fmt: skip
BEGINNINGS = ("", "a=", "a.b=", "+a=", "++a.b=", "~a", "a=[", "a={b: ")


def is_read(word: str) -> bool:
    """Whether Hydra reads a word as one value."""
    try:
        return not PARSER.parse_override(word).is_sweep_override()
    except HydraException:
        return False


@given(st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
@settings(max_examples=600, deadline=None)
def test_only_what_hydra_refuses_is_told(beginning: str, rest: str) -> None:
    why = refused(beginning + rest)
    assert why is None or not is_read(beginning + rest), why


@pytest.mark.parametrize(
    "word",
    [
        "a=~/x", "a=<x>", "a=中文", "a=x#y", "a=x&y", "a=b=c", "a=[1,", "wandb]", "a='x", "a=x'y'", "a=[x] ", " ", "",
        "# c", "a b=1", "word", "a=x,y", "a={b:1", "a=x]", '"a=b',
    ],
)  # fmt: skip
def test_what_users_write_is_told(word: str) -> None:
    assert refused(word) is not None
    assert not is_read(word)


def test_several_values_are_a_sweep() -> None:
    why = refused("a=x,y")
    assert why is not None
    assert why.kind == SEVERAL
    assert PARSER.parse_override("a=x,y").is_sweep_override()
