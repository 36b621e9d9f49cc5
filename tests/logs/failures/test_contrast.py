"""What a person says beside a log of where it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine
from doctor.logs.told.contrast import read
from tests.prepared import prepared_once


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("works with one GPU, fails with two", ("ranks", "with one GPU")),
        ("Worked in trl 0.17, breaks in 0.18", ("release", "in trl 0.17")),
        ("In pipeline mode the reward drops; in collocated mode it grows.", ("mode", "in collocated mode")),
        ("The merged model is fine.", ("adapter", "The merged model")),
        ("with --enforce-eager it works", ("compiled", "with --enforce-eager")),
        ("It does not happen with TP=1", ("parallel", "with TP=1")),
        ("loss is fine in bf16 but nan in fp16", ("precision", "in bf16")),
        ("this works as intended for the reward", None),
        ("the loader works on two columns", None),
        ("no error, no exit, GPUs idle", None),
    ],
)
def test_sentences(said: str, told: tuple[str, str] | None) -> None:
    found = read(f"GRPO\n{said}\n")
    assert (None if found is None else (found.kind, found.well)) == told


def test_it_is_told_only_where_nothing_else_is_known(tmp_path: Path) -> None:
    def headline(log: str) -> str:
        (tmp_path / "run.log").write_text(log)
        (tmp_path / "context.txt").write_text("It works with one GPU, and hangs with two.\n")
        outcome = examine(
            [str(tmp_path / "run.log")], context=[tmp_path / "context.txt"], prepared=prepared_once()
        ).diagnosis.outcome
        return outcome.findings[0].words().headline

    assert headline("loading the model\n").startswith("According to the text it works with one GPU")
    failed = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: no\n'
    assert "According to the text" not in headline(failed)
