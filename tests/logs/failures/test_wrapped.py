"""What rich breaks at the width of the console is found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Postmortem, examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
BOX = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/user/train.py:3 in <module>                                            │
│                                                                              │
│    1 import torch                                                            │
│    2                                                                         │
│ ❱  3 from flash_attn import flash_attn_func                                  │
╰──────────────────────────────────────────────────────────────────────────────╯
"""
BROKEN = """\
ImportError: 
/home/user/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-lin
ux-gnu.so: undefined symbol: 
_ZN3c104cuda9SetDeviceEi
"""


def _examined(tmp_path: Path, text: str) -> Postmortem:
    path = tmp_path / "run.log"
    path.write_text(text)
    return examine([str(path)], prepared=PREPARED)


@pytest.mark.parametrize("blank", ["kept", "lost"])
def test_a_message_that_was_broken_at_the_width_is_searched_whole(tmp_path: Path, blank: str) -> None:
    told = BROKEN if blank == "kept" else "\n".join(each.rstrip() for each in BROKEN.splitlines())
    done = _examined(tmp_path, BOX + told)
    assert [each.problem.id for each in done.diagnosis.outcome.findings] == ["FLA003"]
    assert done.case.failures[0].cause.unbroken.endswith(
        "x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
    )
    assert done.diagnosis.outcome.findings[0].where.line == BOX.count("\n") + 1


def test_a_paste_that_begins_with_the_broken_message_is_searched_whole(tmp_path: Path) -> None:
    text = """\
ImportError:
/usr/lib/python3/dist-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so
: undefined symbol: _ZN3c104cuda9SetDeviceEi

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/user/train.py", line 25, in <module>
    from llmfoundry.callbacks import AsyncEval
ImportError: Please make sure flash attention is installed
"""
    done = _examined(tmp_path, text)
    assert done.diagnosis.outcome.findings[0].problem.id == "FLA003"
    assert [each.link for each in done.case.failures[0].chain] == ["", "because"]


@pytest.mark.parametrize("behind", ["", "no GPU was found, going on with the CPU", "step 1", "x" * 59])
def test_a_name_with_a_colon_is_no_failure(tmp_path: Path, behind: str) -> None:
    done = _examined(tmp_path, f"step 0\nRuntimeError:\n{behind}\nstep 2\n")
    assert not done.case.failures


def test_without_the_box_lines_of_a_message_stay_apart(tmp_path: Path) -> None:
    done = _examined(tmp_path, f"Traceback (most recent call last):\n{BROKEN}")
    assert done.ranked.verdict == "unknown"


def test_a_message_that_is_known_already_is_told_once(tmp_path: Path) -> None:
    whole = "ImportError: /x/flash_attn_2_cuda.so: undefined symbol: _ZN3c10\n"
    done = _examined(tmp_path, f"{BOX}{whole}more of it\n")
    assert [each.problem.id for each in done.diagnosis.outcome.findings] == ["FLA003"]
    assert len(done.diagnosis.outcome.findings[0].evidence) == 1


def test_an_engine_that_died_without_a_word_is_no_healthy_run(tmp_path: Path) -> None:
    text = """\
INFO 01-22 00:12:10 launcher.py:19] Available routes are:
INFO:     172.27.0.4:56768 - "POST /v1/chat/completions HTTP/1.1" 200 OK
ERROR 01-22 00:13:32 client.py:282] RuntimeError('Engine process (pid 77) died.')
ERROR 01-22 00:13:32 client.py:282] NoneType: None
CRITICAL 01-22 00:13:36 launcher.py:99] MQLLMEngine is already dead, terminating server process
INFO:     172.27.0.4:56768 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error
"""
    done = _examined(tmp_path, text)
    assert done.ranked.verdict == "unknown"
    assert [each.pid for each in done.case.exits] == [77, None]
    assert [each.problem.id for each in done.diagnosis.outcome.findings] == ["UNK002"]
    assert all("None" not in each["detail"] for each in done.diagnosis.chain)


def test_a_failed_assertion_of_c_is_quoted(tmp_path: Path) -> None:
    text = """\
python: /srv/deepspeed/ops/csrc/aio/py_lib/deepspeed_py_aio_handle.cpp:159: void deepspeed_aio_handle_t::_stop_threads(): Assertion `0 == _num_pending_ops' failed.
Killing subprocess 484
"""
    done = _examined(tmp_path, text)
    assert [each.signal for each in done.case.exits] == ["SIGABRT"]
    assert "_num_pending_ops" in done.diagnosis.outcome.findings[0].evidence[0].text
