"""Whose argument it is that a library finds to be None, and which of several operations on a line had it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.failures.frames import Frame
from doctor.logs.failures.handed import handed_down
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

SITE = "/opt/venv/lib/python3.12/site-packages"


def frames(*rows: tuple[str, str, str]) -> list[Frame]:
    return [Frame(path, 7, function, code) for path, function, code in rows]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # https://github.com/bghira/SimpleTuner
        ([("/content/train.py", "main", "get_state_dict(unet)"), (f"{SITE}/peft/u.py", "get_state_dict", "model.config")], ("unet", "get_state_dict")),
        ([("/content/train.py", "main", "get_state_dict(a, model=self.net)"), (f"{SITE}/peft/u.py", "get_state_dict", "x")], ("self.net", "get_state_dict")),
        ([("/w/a.py", "run", "f(net)"), (f"{SITE}/trl/b.py", "f", "g(net)"), (f"{SITE}/peft/u.py", "g", "x")], ("net", "f")),
        ([("/w/a.py", "<module>", "t = PPOTrainer("), (f"{SITE}/trl/b.py", "__init__", "g(m)"), (f"{SITE}/trl/u.py", "g", "x")], ("", "PPOTrainer")),
        ([("/w/a.py", "run", "f(net, other)"), (f"{SITE}/trl/b.py", "f", "x")], None),
        ([("/w/a.py", "run", "h()"), (f"{SITE}/trl/b.py", "f", "x")], None),
    ],
)  # fmt: skip
def test_who_handed_it_down(rows: list[tuple[str, str, str]], told: tuple[str, str] | None) -> None:
    handed = handed_down(frames(*rows), "model.config")
    assert (None if handed is None else (handed.given, handed.of)) == told


def headline(tmp_path: Path, code: str, message: str) -> str:
    (tmp_path / "run.log").write_text(
        'Traceback (most recent call last):\n  File "/root/slime/slime/utils/h.py", line 12, in start\n'
        f"    {code}\nTypeError: {message}\n"
    )
    finding = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis.outcome.findings[0]
    return finding.words().headline


def test_of_several_operations_the_operator_tells_which(tmp_path: Path) -> None:
    """https://github.com/THUDM/slime/blob/main/slime/utils/http_utils.py"""
    code = "n = args.concurrency * args.rollout_num_gpus // args.gpus_per_engine"
    assert headline(tmp_path, code, "unsupported operand type(s) for *: 'int' and 'NoneType'") == (
        "The option `rollout_num_gpus` is not set: `args.rollout_num_gpus` is None"
    )
    assert "args.gpus_per_engine" in headline(
        tmp_path, code, "unsupported operand type(s) for //: 'int' and 'NoneType'"
    )
    assert headline(tmp_path, "x = y + z - w", "unsupported operand type(s) for +: 'NoneType' and 'int'") == (
        "`y` is None where a value is required"
    )
    several = "n = args.a * args.b * args.c"
    assert "is not set" not in headline(tmp_path, several, "unsupported operand type(s) for *: 'int' and 'NoneType'")


def test_the_handed_argument_is_named_first(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(
        'Traceback (most recent call last):\n  File "/content/train.py", line 9, in main\n    get_state_dict(unet)\n'
        f'  File "{SITE}/peft/utils/save_and_load.py", line 71, in get_state_dict\n    config = model.peft_config[name]\n'
        "AttributeError: 'NoneType' object has no attribute 'peft_config'\n"
    )
    finding = examine([str(tmp_path / "run.log")], prepared=prepared_once()).diagnosis.outcome.findings[0]
    assert finding.words().headline == "`model` is None: `unet` was handed to `get_state_dict()` without a value"
