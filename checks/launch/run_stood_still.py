"""Judges run-stood-still (LCH023), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding, Phrase, Where, found, joined
from doctor.catalogue.problem import WARNING
from doctor.catalogue.standing import Standstill, Waiting
from doctor.catalogue.stillness import Begun, Loop, Stacks, Stillness, Stood
from doctor.catalogue.words import words_of

_MOST_SHOWN = 4

TOML = words_of(__name__)
PROBLEM = TOML.problem
AT_STEP = TOML["at_step"]
MESSAGE = TOML["main"]
STANDS = TOML["stands"]
BEHIND = TOML["behind"]
ALONE = TOML["alone"]
APART = TOML["apart"]
AT_BAR = TOML["at_bar"]
LOOP = TOML["loop"]
STANDING = TOML["standing"]
BEGUN = {
    "extension": TOML["begun_extension"],
    "rendezvous": TOML["begun_rendezvous"],
    "communicator": TOML["begun_communicator"],
    "data": TOML["begun_data"],
    "waits": TOML["begun_waits"],
    "receiver": TOML["begun_receiver"],
    "resources": TOML["begun_resources"],
    "elsewhere": TOML["begun_elsewhere"],
    "paused": TOML["begun_paused"],
}
STACKS = {
    "apart": TOML["stacks_apart"],
    "outside": TOML["stacks_outside"],
    "parted": TOML["stacks_parted"],
    "same": TOML["stacks_same"],
    "alone": TOML["stacks_alone"],
}


def of_standstill(standstill: Standstill) -> Finding:
    """Say where the ranks of a live run stand, and which one is not where the others wait; asked by the guard."""
    first = standstill.first
    quotes = tuple(
        Observed.quoted(each.file or f"rank {each.rank}", f"rank {each.rank} after step {each.step}: {each.at}")
        for each in standstill.standing
    )
    message = BEHIND if standstill.behind and first.at else APART if len(standstill.waits) > 1 else STANDS
    if first.world_size == 1 and first.at:
        message = ALONE
    return found(
        PROBLEM, message, confidence=LIKELY, evidence=quotes,
        where=Where(rank=first.rank if standstill.behind else None, step=first.step, host=first.host or None),
        seconds=_long(first.seconds),
        step="?" if first.step is None else first.step,
        usual=TOML.phrase("unknown") if first.usual_s is None else _long(first.usual_s),
        rank=first.rank, at=first.at, who=_who(standstill),
    )  # fmt: skip


def _who(standstill: Standstill) -> Phrase:
    """Sentences about the ranks, each known for certain."""
    behind, waiting = _listed(standstill.behind), standstill.waiting
    told = []
    if behind and _inside(standstill):
        told.append(TOML.phrase("older", behind=behind))
    elif behind and waiting:
        told.append(TOML.phrase("not_there", behind=behind, waiting=waiting))
    elif behind and standstill.waits:
        told.append(TOML.phrase("in_none", behind=behind))
    elif behind:
        told.append(TOML.phrase("older", behind=behind))
    elif waiting and len(standstill.standing) > 1:
        told.append(TOML.phrase("all_wait", waiting=waiting))
    if len(standstill.waits) > 1:
        told += map(_waits, standstill.waits[:4])
    if standstill.silent:
        told.append(TOML.phrase("silent", silent=_listed(standstill.silent)))
    return joined(told)


def _waits(waiting: Waiting) -> Phrase:
    """Who waits in a collective, and who called it: `f (a.py:3)`, from `main (train.py:9)`."""
    led: Phrase | str = ""
    for caller in waiting.led_by:
        led = TOML.phrase("led", inner=led, caller=caller)
    return TOML.phrase("waits", ranks=_numbers(waiting.ranks), collective=waiting.collective, led=led)


def _inside(standstill: Standstill) -> bool:
    """Whether a rank that is behind waits in a collective itself, of an earlier step."""
    return any(each.collective for each in standstill.standing if each.rank in standstill.behind)


def _listed(ranks: Sequence[int]) -> str:
    """``rank 3``, ``rank 0, 2``, ``rank 0, 1, 2 and 61 more``."""
    return f"rank {_numbers(ranks)}" if ranks else ""


def _numbers(ranks: Sequence[int]) -> str:
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return ", ".join(map(str, ranks[:8])) + more


def of_stacks(stacks: Stacks) -> Finding:
    """Say who waits for whom by the stacks that a text quotes; asked by `doctor.logs.stacks`."""
    shown = (*stacks.waiting, *stacks.others)
    first, doing = shown[0], shown[0].doing
    told = joined([_stands(each) for each in shown[:_MOST_SHOWN]])
    ways = ", ".join(dict.fromkeys(f"`{each.what}` ({each.who})" for each in stacks.waiting[:_MOST_SHOWN]))
    if stacks.form == "parted":
        ways = ", ".join(f"`{each.way[0]}` ({each.who})" for each in shown[:_MOST_SHOWN])
        told = joined([TOML.phrase("way", who=each.who, way=" → ".join(each.way)) for each in shown[:_MOST_SHOWN]])
    alone = stacks.form == "alone"
    return found(
        PROBLEM, STACKS[stacks.form], confidence=LIKELY, where=stacks.where,
        evidence=tuple(each.quote for each in shown[:_MOST_SHOWN]), told=told, ways=ways, collective=first.what,
        waiting=_whose(stacks.waiting), other=_whose(stacks.others), one=_whose(stacks.waiting[:1]),
        at=(*stacks.others, first)[0].at,
        caller=first.led_by, does=TOML.phrase(f"does.{doing}") if alone else "",
        why=TOML.phrase(f"why.{doing}") if alone else "",
        what=TOML.phrase(f"remedy.{doing}", at=first.at) if alone else "",
    )  # fmt: skip


def _stands(each: Stood) -> Phrase:
    who = f"{each.who[0].upper()}{each.who[1:]}" if each.who else TOML.phrase("whose.alone")
    return TOML.phrase(f"stand.{each.doing}", who=who, what=each.what, at=each.at, caller=each.led_by)


def _whose(processes: Sequence[Stood]) -> Phrase | str:
    """``rank 3``, ``rank 3 and 2 more``, ``the process``."""
    if not processes:
        return ""
    if len(processes) == 1:
        return processes[0].who or TOML.phrase("whose.alone")
    return TOML.phrase("whose.several", first=processes[0].who, more=len(processes) - 1)


def of_stillness(stillness: Stillness) -> Finding:
    """Say how long, at which step, and whose words ended first; asked by `doctor.logs.failures.hangs`."""
    behind = stillness.behind[0] if stillness.behind else None
    where = stillness.where if behind is None else replace(stillness.where, rank=behind[0])
    message = AT_BAR if stillness.what else MESSAGE if stillness.total is None else AT_STEP
    return found(
        PROBLEM, message, where=where, what=stillness.what, evidence=stillness.evidence,
        confidence=LIKELY, seconds=_long(stillness.seconds), usual=_long(stillness.usual_s),
        step="?" if stillness.step is None else stillness.step, total=stillness.total,
        behind=TOML.phrase("quiet", rank=behind[0], earlier=_long(behind[1])) if behind else "",
    )  # fmt: skip


def of_begun(begun: Begun) -> Finding:
    """Say what was begun last and what holds it up; asked by `doctor.logs.failures.begun`."""
    return found(
        PROBLEM, BEGUN[begun.place], severity=WARNING, where=begun.where, evidence=begun.evidence, confidence=LIKELY,
        what=begun.what, ended=begun.ended,
    )  # fmt: skip


def of_loop(loop: Loop) -> Finding:
    """Say what a loop waits for, and what failed before it; asked by `doctor.logs.failures.loops`."""
    return found(
        PROBLEM, STANDING if loop.idle else LOOP, where=loop.where, evidence=loop.evidence, confidence=LIKELY,
        text=loop.text, failed=loop.failed, idle=loop.idle, limits=", ".join(f"`{each}`" for each in loop.limits),
    )  # fmt: skip


def _long(seconds: float) -> Phrase:
    """``under 1 s``, ``3.4 s``, ``19 s``, ``12 min``, ``3.5 h``."""
    if seconds < 1:
        return TOML.phrase("time.instant")
    if seconds < 120:
        return TOML.phrase("time.seconds", number=f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}")
    if seconds < 7200:
        return TOML.phrase("time.minutes", number=f"{seconds / 60:.0f}")
    return TOML.phrase("time.hours", number=f"{seconds / 3600:.1f}")
