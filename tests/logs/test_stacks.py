"""Stacks that a text quotes: whose they are, what each process does, and who waits for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine
from doctor.logs.stacks.doing import stood
from doctor.logs.stacks.judged import laid_together
from doctor.logs.stacks.read import by_process, stacks_in
from tests.prepared import prepared_once

GATHERS = """Thread 1201 (active): "MainThread"
    all_gather_into_tensor (torch/distributed/distributed_c10d.py:3857)
    wrapper (torch/distributed/c10d_logger.py:83)
    gather_logits (sampler.py:61)
    step (engine.py:18)
"""
SAVES = """Thread 1187 (active): "MainThread"
    save (torch/serialization.py:967)
    save_checkpoint (trainer.py:1121)
    train (trainer.py:90)
"""
WAITS_FOR_WORK = """Thread 1188 (idle): "MainThread"
    poll (zmq/sugar/poll.py:106)
    dequeue (vllm/distributed/device_communicators/shm_broadcast.py:794)
    worker_busy_loop (vllm/v1/executor/multiproc_executor.py:983)
"""
HELPERS = """Thread 1302 (idle): "QueueFeederThread"
    wait (threading.py:355)
    _feed (multiprocessing/queues.py:231)
"""
SCORES = """Fatal Python error: Aborted

Current thread 0x00007f0000000000 (most recent call first):
  File "/x/sympy/core/expr.py", line 12 in equals
  File "/x/rewards/math_score.py", line 40 in compute_score
  File "/x/train.py", line 90 in step
"""
TRACEBACK = """Traceback (most recent call last):
  File "/x/score.py", line 3, in compute_score
  File "/x/score.py", line 9, in grade
ValueError: no
"""


def _in_pass(function: str) -> str:
    return GATHERS.replace("    step (", f"    {function} (layer.py:9)\n    forward (model.py:3)\n    step (")


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepared_once()


def shown(text: str) -> list[tuple[str, str, str]]:
    stacks = stacks_in(list(enumerate(text.splitlines(), 1)))
    found = (stood(who, threads, "x.log") for who, threads in by_process(stacks))
    return [(each.who, each.doing, each.led_by) for each in found if each is not None]


def form(text: str) -> str | None:
    stacks = stacks_in(list(enumerate(text.splitlines(), 1)))
    found = [stood(who, threads, "x.log") for who, threads in by_process(stacks)]
    result = laid_together([each for each in found if each is not None])
    return None if result is None else result.form


@pytest.mark.parametrize(
    ("heading", "who"),
    [
        ("== rank 1 (node B) ==", "rank 1"), ("py-spy dump --pid 41235   # actor rank 3", "rank 3"),
        ("Process 2213: ray::WorkerDict", "process 2213"), ("# py-spy of the worker of TP1", "TP1"),
    ],
)  # fmt: skip
def test_a_heading_says_whose_stack_it_is(heading: str, who: str) -> None:
    assert shown(f"{heading}\n{GATHERS}") == [(who, "collective", "gather_logits (sampler.py:61)")]


def test_the_prefix_of_its_lines_says_whose_stack_it_is() -> None:
    text = "".join(f"(EngineCore_DP1 pid=2214) {line}\n" for line in GATHERS.splitlines())
    assert shown(text) == [("EngineCore_DP1", "collective", "gather_logits (sampler.py:61)")]


def test_the_thread_that_tells_most_stands_for_its_process() -> None:
    assert shown(f"rank 0\n{HELPERS}\n{GATHERS}") == [("rank 0", "collective", "gather_logits (sampler.py:61)")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"rank 0\n{GATHERS}\nrank 1\n{SAVES}", "outside"),
        (f"rank 0\n{GATHERS}\nrank 1\n{WAITS_FOR_WORK}", "outside"),
        (f"rank 0\n{GATHERS}\nrank 1\n{GATHERS.replace('gather_logits', 'gather_losses')}", "apart"),
        (f"rank 0\n{GATHERS}\nrank 1\n{GATHERS.replace(':61', ':62')}", "same"),
        (f"rank 0\n{GATHERS}\nrank 1\n{GATHERS.replace('step (', 'validate (')}", "parted"),
        # where both begin is not shown; within one pass each may stand at another layer; one is cut short
        (f"rank 0\n{GATHERS}\nrank 1\n{GATHERS.replace('step (engine', 'validate (other')}", "same"),
        (f"rank 0\n{_in_pass('attend')}\nrank 1\n{_in_pass('route')}", "same"),
        (f"rank 0\n{GATHERS}\nrank 1\n{GATHERS.replace('    step (engine.py:18)', '')}", "same"),
        (f"rank 0\n{GATHERS}", "alone"),
        (SCORES, "alone"),
        (f"rank 0\n{SAVES}", None),
        (f"rank 0\n{WAITS_FOR_WORK}", None),
        (f"rank 0\n{WAITS_FOR_WORK}\nrank 1\n{SAVES}", None),  # nobody is waited for
        (f"{GATHERS}\nand that of another one:\n{SAVES}", None),  # whose is whose is not told
    ],
)
def test_what_stacks_come_to(text: str, told: str | None) -> None:
    assert form(text) == told


@pytest.mark.parametrize(
    "text",
    [
        # a crash: where it crashed, not where it waits
        SCORES.replace("Aborted", "Segmentation fault"),
        # a traceback, whose innermost frame comes last
        TRACEBACK,
        "a sentence about py-spy (see README.md:12)\n",
    ],
)
def test_what_is_no_stack_of_a_wait(text: str) -> None:
    assert shown(text) == []


def test_a_rank_that_is_elsewhere_comes_before_the_wait_of_the_others(tmp_path: Path, prepared: Prepared) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "(APIServer pid=1) ERROR 09-01 02:18:07 [core.py:1099] TimeoutError: RPC call to sample_tokens timed out.\n"
        f"# py-spy, rank 0\n{GATHERS}\n# py-spy, rank 1\n{SAVES}"
    )
    findings = examine([str(log)], prepared=prepared).diagnosis.outcome.findings
    assert [each.problem.id for each in findings[:2]] == ["LCH023", "VLL063"]
    words = findings[0].words()
    assert "rank 0 waits in `all_gather_into_tensor`" in words.headline
    assert "and rank 1 is in `save (serialization.py:967)`" in words.headline
    assert findings[0].confidence.value == "likely"


def test_a_reward_that_does_not_end(tmp_path: Path, prepared: Prepared) -> None:
    log = tmp_path / "driver.log"
    log.write_text(SCORES)
    findings = examine([str(log)], prepared=prepared).diagnosis.outcome.findings
    assert findings[0].problem.id == "LCH023"
    assert "computes rewards in `equals (expr.py:12)`, called from `compute_score" in findings[0].words().headline
