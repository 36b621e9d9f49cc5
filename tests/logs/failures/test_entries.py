"""A script that only starts a program is never the user's code, wherever frames are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.standing import Standing
from doctor.logs.failures.frames import Frame, is_own
from doctor.logs.postmortem import examine
from doctor.monitors.usage.about import frame_of
from tests.prepared import prepared_once

ENTRIES = (
    "/opt/conda/bin/torchrun", "/home/u/.local/bin/accelerate", "/home/u/DeepSpeed/bin/deepspeed", "/v/bin/trl",
    r"C:\v\Scripts\torchrun.exe\__main__.py", r"C:\v\Scripts\accelerate-script.py", "runpy.py", "<frozen runpy>",
    "/usr/lib/python3.11/runpy.py", "/home/u/bin/deepspeed.py", "torchrun",
)  # fmt: skip
LIBRARY = "/v/lib/python3.11/site-packages/torch/distributed/run.py"


@pytest.mark.parametrize("path", ENTRIES)
def test_an_entry_is_nobodys_code(path: str) -> None:
    assert not is_own(f"{path}:<module>")
    assert Frame(path, 8, "<module>").starts


@pytest.mark.parametrize("path", ["/home/u/train.py", "torchrun.py", "/home/u/bins/train.py", "/w/accelerate_run.py"])
def test_a_script_is(path: str) -> None:
    assert is_own(f"{path}:<module>")


@pytest.mark.parametrize("path", ENTRIES)
def test_no_answer_points_at_an_entry(tmp_path: Path, path: str) -> None:
    log = tmp_path / "train.log"
    header = "Traceback (most recent call last):\n"
    log.write_text(
        f'{header}  File "{path}", line 8, in <module>\n    sys.exit(main())\nRuntimeError: it lost its way\n'
    )
    found = examine([str(log)], prepared=prepared_once()).diagnosis.outcome.findings
    words = found[0].words()
    assert found[0].problem.id == "UNK001"
    assert ":8" not in f"{words.headline} {words.explanation}"
    assert frame_of(tmp_path, {"where": {"file": str(log), "line": 4}}) is None
    own = log.read_text().replace(header, f'{header}  File "/w/train.py", line 3, in main\n    go()\n')
    log.write_text(own)
    told = frame_of(tmp_path, {"where": {"file": str(log), "line": 6}})
    assert told == {"place": "/w/train.py:3 (main)", "code": "go()"}


def test_who_waits_is_not_the_launcher() -> None:
    frames = ((LIBRARY, 9, "run"), ("/opt/conda/bin/torchrun", 8, "<module>"))
    standing = Standing(0, 1, None, 0.0, None, frames)
    assert standing.at == "run (torch/distributed/run.py:9)"
    assert standing.led_by == ()
    assert Standing(0, 1, None, 0.0, None, (*frames, ("/home/u/t.py", 2, "main"))).led_by == ("main (t.py:2)",)
