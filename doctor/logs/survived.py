"""Failures that a program itself caught, and what ended it later.

A traceback is caught where a record carries it, where it begins amid a program, or where it begins in a function of a
library that begins no process. One that begins at the top may have been caught there, and may be that of another
process: what the run did after it tells, or nobody. Where labels tell processes apart, only failures of one process are
compared, and those of Ray's workers with what ended the driver, which raises again what a worker raised.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from doctor.core.patterns import later
from doctor.logs.attempts import OF_SEVERAL
from doctor.logs.case import Case
from doctor.logs.marks import STEPS_ON
from doctor.logs.retries import ended, is_another, is_another_later, reached_top, said_near
from doctor.logs.tracebacks import Failure, Raised, begins_amid
from doctor.logs.victims import failed_by_itself

#: slips of a program where its own code raises them: no line about the machine or the network explains one
_SLIPS = frozenset({
    "KeyError", "IndexError", "NameError", "UnboundLocalError", "TypeError", "ZeroDivisionError", "SyntaxError",
    "IndentationError",
})  # fmt: skip
#: where libraries begin a process, or run the tasks of others: what comes out of these is an end
#: https://github.com/uqfoundation/multiprocess, https://github.com/celery/billiard
_ENTRIES = later(
    r"[\\/](?:multiprocess|billiard)[\\/]process\.py:_bootstrap$|[\\/]torch[\\/]multiprocessing[\\/]spawn\.py:_wrap$"
    r"|[\\/]torch[\\/]distributed[\\/](?:elastic|launcher)[\\/]|[\\/]ray[\\/]_private[\\/]"
)
#: an end that tells of nothing but somebody who did not answer: it may be an echo of any failure
_UNANSWERED = later(
    r"connect|time(?:d[ _])?out|unavailable|\b50[0-4]\b|internal ?server|remote|\brpc|APIError|ClientError",
    re.IGNORECASE,
)
#: a program says beside a failure that it does without
#: https://github.com/modelscope/ms-swift/blob/main/swift/dataset/preprocessor/core.py (`batched_preprocess`)
_GOES_ON = later(
    r"\bskip(?:s|ped|ping)?\b|\bignor(?:ed|ing)\b|\bfall(?:s|ing)? ?back\b|\bcontinuing\b"
    r"|\bwill be (?:deleted|dropped|skipped|ignored)\b|跳过|忽略",
    re.IGNORECASE,
)
#: a program says beside a failure that it ends of it: an engine, whose clients go on for a while
#: https://github.com/vllm-project/vllm/blob/main/vllm/v1/engine/core.py (`run_engine_core`)
#: https://github.com/vllm-project/vllm/blob/v0.6.6/vllm/engine/async_llm_engine.py (`_log_task_completion`)
#: https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/scheduler.py (`run_scheduler_process`)
_FATAL = later(
    r"\bfatal\b|background task failed|hit an exception|failed to start|\bdied\b|is dead\b|shutting down",
    re.IGNORECASE,
)
#: torchrun asks its workers to end as soon as one has failed, and kills them half a minute later
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/multiprocessing/api.py (`close`)
_ALL_ENDED_NS = 120_000_000_000


def later_end(case: Case, failure: Failure) -> Failure | None:
    """The first failure of another kind that ended the same process after one that may have been caught."""
    if not _may_be_caught(failure):
        return None
    return next((each for each in case.failures if is_another_later(each, failure) and _ends(each, failure)), None)


def last_ends(failures: Iterable[Failure]) -> list[Failure]:
    """Of the failures that ended processes, the last of each kind."""
    last: dict[tuple[int, str, str], Failure] = {}
    for each in failures:
        key = each.first.source, each.process, each.cause.type
        if ended(each) and (key not in last or last[key].first.order < each.first.order):
            last[key] = each
    return list(last.values())


def survived(case: Case, failure: Failure, end: Failure) -> bool:
    """Whether a program caught a failure, and warned of it only or got a step further, before another one ended it."""
    if not failure.chain[0].frames or not _may_be_caught(failure) or not _ends(end, failure):
        return False
    if not is_another_later(end, failure) and not _is_of_driver(end, failure):
        return False
    if failure.caught == "W":
        return True
    orders = case.marks.progress.get(failure.first.source, ())
    steps = sum(failure.first.order < order < end.first.order for order in orders)
    if _is_caught(failure) or not reached_top(failure):
        return not _is_fatal(case, failure) and (steps > 0 or said_near(case, failure, _GOES_ON))
    if _program(failure) != _program(end):
        return False  # two programs one after the other, and each of them failed
    enough = STEPS_ON if _has_several(case, failure) else 1
    return steps >= enough or _outlived_all(case, failure, end)


def is_slip(failure: Failure) -> bool:
    """Whether the user's own code raised what only a mistake in it raises."""
    frames = failure.cause.frames
    return bool(frames) and frames[-1].own and failure.cause.name in _SLIPS


def _may_be_caught(failure: Failure) -> bool:
    return _is_caught(failure) or reached_top(failure) or _by_library(failure.end)


def _is_caught(failure: Failure) -> bool:
    """Whether it shows itself that its program caught it."""
    return not failure.at_top and (bool(failure.caught) or not failure.end.frames or begins_amid(failure.end))


def _program(failure: Failure) -> str:
    return failure.end.frames[0].path if failure.end.frames else ""


def _by_library(raised: Raised) -> bool:
    """Whether its first frame is a library's function, in which no process begins: there it was caught and printed."""
    first = raised.frames[0]
    return raised.kind == "python" and bool(first.package) and not _ENTRIES.search(first.key)


def _ends(end: Failure, failure: Failure) -> bool:
    """Whether a failure ended a process by itself, and is no echo of another one."""
    return ended(end) and failed_by_itself(end) and (_is_caught(failure) or not _is_unanswered(end))


def _is_fatal(case: Case, failure: Failure) -> bool:
    """Whether a program says where it prints a failure that it ends of it."""
    return _FATAL.search(failure.first.text[:300]) is not None or said_near(case, failure, _FATAL)


def _is_unanswered(end: Failure) -> bool:
    return _UNANSWERED.search(f"{end.cause.type}: {end.cause.message[:300]}") is not None


def _is_of_driver(end: Failure, failure: Failure) -> bool:
    """Whether what ended the program that started Ray's worker is none of the worker's failure."""
    of_worker = end.first.source == failure.first.source and not end.process and "pid=" in failure.process
    return of_worker and is_another(end, failure) and not _is_unanswered(end)


def _has_several(case: Case, failure: Failure) -> bool:
    """Whether a log shows that several ranks write into it."""
    source = failure.first.source
    if failure.process or (case.world_size or 1) > 1 or len(case.ranks) > 1 or source >= len(case.kept):
        return True
    return any(word in text for _, text in case.kept[source] for word in OF_SEVERAL)


def _outlived_all(case: Case, failure: Failure, end: Failure) -> bool:
    """Whether so much time lies between two failures that a launcher would have ended all ranks after the first."""
    if not any(each.pid is not None and (each.rank is not None or each.by_launcher) for each in case.exits):
        return False
    clock = case.clocks.get(failure.first.source, ())
    after = bisect_left(clock, (case.order_of(failure.first.source, failure.last_line) + 1, 0))
    before = bisect_left(clock, (end.first.order, 0)) - 1
    return after <= before and clock[before][1] - clock[after][1] >= _ALL_ENDED_NS
