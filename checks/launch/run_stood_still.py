"""Judges run-stood-still (LCH023), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.standing import Standstill, Waiting
from doctor.catalogue.stillness import Stillness
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
AT_STEP = TOML["at_step"]
MESSAGE = TOML["main"]
STANDS = TOML["stands"]
BEHIND = TOML["behind"]
APART = TOML["apart"]


def of_standstill(standstill: Standstill) -> Finding:
    """Say where the ranks of a live run stand, and which one is not where the others wait; asked by the guard."""
    first = standstill.first
    quotes = tuple(
        Observed.quoted(each.file or f"rank {each.rank}", f"rank {each.rank} after step {each.step}: {each.at}")
        for each in standstill.standing
    )
    message = BEHIND if standstill.behind and first.at else APART if len(standstill.waits) > 1 else STANDS
    return found(
        PROBLEM, message, confidence=LIKELY, evidence=quotes,
        where=Where(rank=first.rank if standstill.behind else None, step=first.step, host=first.host or None),
        seconds=_long(first.seconds), seconds_zh=_long_zh(first.seconds),
        step="?" if first.step is None else first.step,
        usual="an unknown time" if first.usual_s is None else _long(first.usual_s),
        usual_zh="未知时间" if first.usual_s is None else _long_zh(first.usual_s),
        rank=first.rank, at=first.at, who=_who(standstill), who_zh=_who_zh(standstill),
    )  # fmt: skip


def _who(standstill: Standstill) -> str:
    """Sentences about the ranks, each known for certain."""
    behind, waiting = _listed(standstill.behind), standstill.waiting
    told = []
    if behind and _inside(standstill):
        told.append(f"The last step of {behind} is older than that of the others.")
    elif behind and waiting:
        told.append(f"All other ranks that answered wait in `{waiting}`, and {behind} is not there.")
    elif behind and standstill.waits:
        told.append(f"The other ranks wait in different collectives, and {behind} is in none of them.")
    elif behind:
        told.append(f"The last step of {behind} is older than that of the others.")
    elif waiting and len(standstill.standing) > 1:
        told.append(f"All ranks that answered wait in `{waiting}`.")
    if len(standstill.waits) > 1:
        told += [f"{_capital(_listed(each.ranks))}: `{each.collective}`{_led(each)}." for each in standstill.waits[:4]]
    if standstill.silent:
        told.append(f"Nothing was heard of {_listed(standstill.silent)}.")
    return " ".join(told)


def _who_zh(standstill: Standstill) -> str:
    behind, waiting = _listed(standstill.behind), standstill.waiting
    told = []
    if behind and _inside(standstill):
        told.append(f"{behind} 的最后一步比其他 rank 旧。")
    elif behind and waiting:
        told.append(f"其他有响应的 rank 都在 `{waiting}` 中等待,而 {behind} 不在其中。")
    elif behind and standstill.waits:
        told.append(f"其他 rank 在不同的集合通信中等待,而 {behind} 不在其中任何一个。")
    elif behind:
        told.append(f"{behind} 的最后一步比其他 rank 旧。")
    elif waiting and len(standstill.standing) > 1:
        told.append(f"所有有响应的 rank 都在 `{waiting}` 中等待。")
    if len(standstill.waits) > 1:
        told += [f"{_listed(each.ranks)}:`{each.collective}`{_led_zh(each)}。" for each in standstill.waits[:4]]
    if standstill.silent:
        told.append(f"{_listed(standstill.silent)} 没有任何消息。")
    return "".join(told)


def _led(waiting: Waiting) -> str:
    """Who called a collective: `` called by `f (a.py:3)`, from `main (train.py:9)` ``."""
    return " called by " + ", from ".join(f"`{each}`" for each in waiting.led_by) if waiting.led_by else ""


def _led_zh(waiting: Waiting) -> str:
    return ",调用者:" + ",其上层:".join(f"`{each}`" for each in waiting.led_by) if waiting.led_by else ""


def _inside(standstill: Standstill) -> bool:
    """Whether a rank that is behind waits in a collective itself, of an earlier step."""
    return any(each.collective for each in standstill.standing if each.rank in standstill.behind)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(ranks: Sequence[int]) -> str:
    """``rank 3``, ``rank 0, 2``, ``rank 0, 1, 2 and 61 more``."""
    shown = ", ".join(map(str, ranks[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank {shown}{more}" if ranks else ""


def of_stillness(stillness: Stillness) -> Finding:
    """Say how long, at which step, and whose words ended first; asked by `doctor.logs.failures.hangs`."""
    behind = stillness.behind[0] if stillness.behind else None
    where = stillness.where if behind is None else replace(stillness.where, rank=behind[0])
    return found(
        PROBLEM, MESSAGE if stillness.total is None else AT_STEP, where=where, evidence=stillness.evidence,
        confidence=LIKELY, seconds=_long(stillness.seconds), seconds_zh=_long_zh(stillness.seconds),
        usual=_long(stillness.usual_s), usual_zh=_long_zh(stillness.usual_s),
        step="?" if stillness.step is None else stillness.step, total=stillness.total,
        behind=f"The last words of rank {behind[0]} are {_long(behind[1])} older than those of the others."
            if behind else "",
        behind_zh=f"rank {behind[0]} 的最后输出比其他 rank 早 {_long_zh(behind[1])}。" if behind else "",
    )  # fmt: skip


def _long(seconds: float) -> str:
    """``under 1 s``, ``3.4 s``, ``19 s``, ``12 min``, ``3.5 h``."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 120:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _long_zh(seconds: float) -> str:
    return _long(seconds).replace("under", "不到").replace("min", "分钟").replace(" s", " 秒").replace(" h", " 小时")
