"""What a rehearsal found: the post-mortem of a pass that failed, and what only a rehearsal can see."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress as silently
from statistics import median
from typing import Any

from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry as CatalogueEntry
from doctor.catalogue.index import load
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.problem import ERROR
from doctor.checks.checkpoint import adapter_weights_not_loaded
from doctor.checks.checkpoint.of_another_model import shapes
from doctor.checks.data.columns import reward_function_fails_on_answers
from doctor.checks.deepspeed import checkpoint_of_empty_shards
from doctor.checks.launch import rehearsal_not_finished
from doctor.checks.nccl.collectives import peer_connection_lost
from doctor.checks.numerics import first_step_contradicts_its_data, margins_stay_zero, trains_other_than_asked
from doctor.checks.perf import reward_call_slow
from doctor.checks.rl import (
    reward_does_not_judge,
    reward_not_repeatable,
    weights_do_not_follow_the_rate,
)
from doctor.checks.rl.rewards import template_rewrites_history
from doctor.diagnosis.report import Diagnosis, Subject
from doctor.diagnosis.suppress import Ignored, suppress
from doctor.logs.capsules import looks
from doctor.monitors.guard.first_step import FILE as INVENTORY
from doctor.monitors.rehearse.standing import stacks
from doctor.monitors.rehearse.tries import TRY_S
from doctor.rehearse.beside import PAST, disproved, together
from doctor.rehearse.left import waits_for_who_left
from doctor.rehearse.record import Entry, Rehearsed, left_out, phases
from doctor.rehearse.session import Session
from doctor.run.folder import RunDir

_FRAMES = 6
#: problems of which there may be several: one for each reward function
_OFTEN = frozenset({"DAT9584", "RLX1239", "PRF5034"})
#: what two steps of a tiny model, or of the real one at lengths that are forced, say nothing of: constant rewards
_UNJUDGED = frozenset({"RLX010"})
#: what lengths that are forced to the maximum make of any run
_OF_FORCED_LENGTHS = frozenset({"RLX011", "RLX7826", "RLX012"})
#: what nobody knows, where it is the rehearsal's own refusal that ended the command
_OURS = frozenset({"UNK001"})
#: areas whose checks judge a framework's configuration, not the machine
_CONFIGURED = frozenset({"verl", "openrlhf", "trinity", "data", "rl"})


def judged(session: Session, ignored: Iterable[Ignored] = (), language: str = "en") -> Diagnosis:
    """The diagnosis of a rehearsal, those findings first that ended it.

    Args:
        session: the rehearsal.
        ignored: what the user does not want to hear.
        language: "en" or "zh".

    """
    began = time.monotonic()
    entries = load()
    failed = session.failed
    looked_at = failed or _alarmed(session)
    died, outcome = (None, None) if looked_at is None else _examined(looked_at, session, language)
    unjudged = _UNJUDGED | (_OURS if _refused(session, failed) else frozenset())
    unjudged |= frozenset() if session.wishes.scale == "tiny" else _OF_FORCED_LENGTHS
    seen = tuple(each for each in outcome.findings if each.problem.id not in unjudged) if outcome else ()
    alone = None if failed is None else waits_for_who_left(_part(session, failed), failed)
    if alone is not None:  # the lost connection is what came of it
        seen = (alone, *(each for each in seen if each.problem.id != peer_connection_lost.PROBLEM.id))
    told = {each.problem.id for each in seen}
    own = tuple(each for each in _own(session) if each.problem.id not in told or each.problem.id in _OFTEN)
    findings = (*seen, *own)
    if failed is not None and not any(each.severity is ERROR for each in findings):
        findings = (*findings, _failed(session, failed))
    checked, past = _checked(session, {each.id: each for each in entries})
    findings = together(findings, checked)
    crashed = (*_crashes(session.rehearsed), *(outcome.crashed if outcome else ()), *session.checked.crashed)
    skipped = (*(outcome.skipped if outcome else ()), *past)
    number = outcome.checks_run if outcome else len(phases(session.rehearsed))
    whole = suppress(Outcome(findings, skipped, crashed, number, session.seconds), ignored, session.checked.script)
    target = Subject(argv=session.argv, run_dir=str(session.run.path), summary=died.target.summary if died else ())
    return Diagnosis(
        "rehearse", target, whole, {each.id: each for each in entries}, language,
        session.seconds + time.monotonic() - began, fixes=died.fixes if died else frozenset(),
        chain=died.chain if died else (),
    )  # fmt: skip


def _alarmed(session: Session) -> RunDir | None:
    """The pass in which the guard said something: it may have stopped a run that then ended with 0."""
    for run in (session.run, session.second):
        if run is not None and any(each["kind"] == "alarm" for each in run.read_events()):
            return run
    return None


def _examined(run: RunDir, session: Session, language: str) -> tuple[Diagnosis | None, Outcome | None]:
    """What the post-mortem says of a pass that failed; its own command is the user's, without what stood around it."""
    from doctor.logs.gathered import LogNotReadable
    from doctor.logs.metrics.courses import OF_REHEARSAL
    from doctor.logs.postmortem import examine
    from doctor.logs.read.layouts import NoLogs

    run.write_run(argv=list(session.argv), **{OF_REHEARSAL: True})
    try:
        done = examine((str(run.path),), language=language, run_dir=str(run.path), context=(run.run_json,))
    except (NoLogs, LogNotReadable) as error:
        return None, Outcome((), (Skipped("postmortem", str(error)),), (), 0, 0.0)
    return done.diagnosis, done.diagnosis.outcome


def _own(session: Session) -> Iterator[Finding]:
    """What only a rehearsal can see."""
    done = session.rehearsed
    late = session.late
    if late is not None:
        yield from looks.told([_late(session, late)], [str(late.path)], {rehearsal_not_finished.PROBLEM.id})
    elif not session.ended:
        yield rehearsal_not_finished.elsewhere(session.framework)
    elif session.failed is None and not done.trained and not session.framework and not done.of("parts"):
        computed = done.of("backwards")
        unseen, no_step = rehearsal_not_finished.unseen, rehearsal_not_finished.no_step
        yield no_step(computed[0]["count"]) if computed else unseen(len(done.of("process")))
    elif session.failed is None and done.of("trained") and not done.finished:
        yield rehearsal_not_finished.no_steps()
    yield from map(checkpoint_of_empty_shards.of_rehearsal, done.of("saved_empty")[:1])
    yield from _rewards(done)
    asked = tuple(trains_other_than_asked.of_inventory(inventory_of(session.run)))
    yield from asked
    yield from _contradictions(done, asked)
    yield from _held(done, asked)
    yield from map(margins_stay_zero.of_loop, done.of("margins")[:1])
    yield from map(template_rewrites_history.of_last_answers, done.of("rendered")[:1])
    same = margins_stay_zero.of_rehearsal([each["values"] for each in done.of("logged")])
    yield from [] if same is None else [same]
    for each in done.of("resume_own")[:1]:
        differing = shapes.of_rehearsal(each)
        yield from [] if differing is None else [differing]
    yield from _adapters(done)
    for each in done.of("conversation")[:1]:
        told = template_rewrites_history.of_rehearsal(each)
        yield from [] if told is None else [told]
    yield from _unmoved(session)


def _contradictions(done: Rehearsed, told: Iterable[Finding]) -> Iterator[Finding]:
    """What the gradients of the first steps show; what the inventory has told already is not told again."""
    judge, asked = first_step_contradicts_its_data, trains_other_than_asked
    messages = [each.message for each in told]
    by_process: dict[int, list[Entry]] = {}
    for each in done.of("outputs"):
        by_process.setdefault(each["pid"], []).append(each)
    for entries in list(by_process.values())[:1]:
        yield from judge.of_outputs(entries, shifted=asked.SHIFTED in messages, padded=asked.PADDED in messages)
    for kind, judged_by in (
        ("ratio", judge.of_ratio),
        ("clearing", judge.of_clearing),
        ("clipping", judge.of_clipping),
        ("collated", judge.of_collated),
    ):
        found = [judged_by(each) for each in done.of(kind)[:1]]
        yield from (each for each in found if each is not None)
    yield from map(judge.of_contract, done.of("contract")[:2])
    yield from map(judge.of_early_step, done.of("early_step")[:1])
    repeated = judge.of_rows_again(done.of("outputs"), _of_loop(done, "first_rows"))
    yield from [] if repeated is None else [repeated]
    same = judge.of_processes(done.of("outputs"), _sharing(done))
    yield from [] if same is None else [same]


def _sharing(done: Rehearsed) -> int:
    """Processes that share the rows of a step; 0 where some of them may share a model, and get the same ones."""
    ranks = {each["rank"] for each in done.of("outputs")}
    return 0 if any(each.get("model_parallel") for each in done.of("outputs")) else len(ranks)


def _held(done: Rehearsed, told: Iterable[Finding]) -> Iterator[Finding]:
    """What the optimizers of a loop hold and lack, and what is frozen though it is new."""
    headlines = [each.words().headline for each in told]
    for each in (*done.of("held")[:1], *_of_loop(done, "held")):
        yield from trains_other_than_asked.of_held(each, headlines)
    yield from map(trains_other_than_asked.of_frozen, done.of("frozen")[:1])
    yield from map(trains_other_than_asked.of_aside, done.of("aside")[:1])
    yield from map(trains_other_than_asked.of_unread, done.of("unread")[:1])


def _unmoved(session: Session) -> Iterator[Finding]:
    """Weights that do not follow the rate of a large step.

    At real scale no noise is added to rewards: where all are equal, nothing moves and nothing is wrong. Nor is it
    where a trainer learns from successes alone, of which random weights have none.
    """
    done, wishes = session.rehearsed, session.wishes
    noisy = wishes.scale == "tiny" or wishes.null
    told = done.of("moved")[:1] if noisy and not done.without_signal else []
    for each in (*told, *_of_loop(done, "moved")):
        if not each.get("skipped"):
            found = weights_do_not_follow_the_rate.of_rehearsal(
                each["examples"], each["still"], each["rates"], done.steps or wishes.steps,
                count=each["moved"], null=wishes.null, used=each.get("used"), again=each not in told,
            )  # fmt: skip
            if found is not None:
                yield found
                return


def _of_loop(done: Rehearsed, kind: str) -> list[Entry]:
    """The first entry of a kind in the second start of a loop, which goes on from what it has saved by itself."""
    return done.of(kind, resumed=True)[:1] if done.goes_on else []


def _checked(
    session: Session, entries: Mapping[str, CatalogueEntry]
) -> tuple[tuple[Finding, ...], tuple[Skipped, ...]]:
    """What the check says, and what of it the rehearsal has disproved.

    Of a framework's workers only what it says of the configuration that was rehearsed.
    """
    found, done = session.checked.findings if session.ended else (), session.rehearsed
    if done.of("parts"):
        return tuple(each for each in found if each.problem.area in _CONFIGURED), ()
    if session.failed is not None or session.late is not None or not done.finished:
        return found, ()
    missing = {each.why for each in left_out(done)}
    past = [each for each in found if disproved(each, entries.get(each.problem.id), missing)]
    return tuple(each for each in found if each not in past), tuple(Skipped(each.problem.id, PAST) for each in past)


def _adapters(done: Rehearsed) -> Iterator[Finding]:
    """Saved adapters that do not fit their real base models."""
    for keys in (each["adapter"] for each in done.of("made") if each.get("adapter")):
        differing = shapes.of_rehearsal(keys) or adapter_weights_not_loaded.of_rehearsal(keys)
        yield from [] if differing is None else [differing]


def inventory_of(run: RunDir) -> Mapping[str, Any]:
    """The inventory of a run's first step, as the guard kept it; empty where there is none."""
    with silently(OSError, ValueError):
        data = json.loads((run.path / INVENTORY).read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def _failed(session: Session, run: RunDir) -> Finding:
    """What is said of a command that failed and of which no error is known: never that all is well."""
    at = 0 if run.path == session.run.path else 1
    code, part = session.ended[at].code, _part(session, run)
    refused = _refused(session, run)
    if refused:
        return rehearsal_not_finished.refused(code, refused[-1]["path"])
    marked = [each for each in phases(part) if each.mark in ("broke", "open")]
    reached = [each.name for each in phases(part) if each.mark != "not_reached"]
    last = marked[-1].name if marked else reached[-1] if reached else "imports"
    return rehearsal_not_finished.broke(code, last, marked[-1].error if marked else "")


def _refused(session: Session, run: RunDir | None) -> list[Entry]:
    """Changes that the rehearsal refused in a pass that failed."""
    return [] if run is None or session.apart.held else _part(session, run).of("refused")


def _part(session: Session, run: RunDir) -> Rehearsed:
    """The journals of one pass."""
    done = session.rehearsed
    return Rehearsed(done.resumed) if session.second is not None and run.path == session.second.path else done


def _late(session: Session, run: RunDir) -> Finding:
    part = _part(session, run)
    open_now = [each.name for each in phases(part) if each.mark == "open"]
    made = [each for each in part.of("step") if each.get("edge") == "end"]
    where = open_now[-1] if open_now else "imports" if not made else "other"
    told = {name: _innermost(text) for name, text in stacks(run.path).items()}
    return rehearsal_not_finished.late(where, session.ended[-1].seconds, len({each["step"] for each in made}), told)


def _innermost(text: str) -> str:
    """The innermost frames of the thread that was asked, as the fault handler writes them."""
    lines = [each.strip() for each in text.splitlines()]
    start = next((at for at, each in enumerate(lines) if each.startswith("Current thread")), 0)
    frames = [each for each in lines[start + 1 : start + 1 + 40] if each.startswith("File")]
    return " < ".join(each.removeprefix("File ") for each in frames[:_FRAMES])


def _rewards(done: Rehearsed) -> Iterator[Finding]:
    tried = done.of("reward")
    usual = _usual(done)
    for each in tried:
        name, place = each["function"], each.get("place", "")
        seconds = usual.get(name, 0.0)
        yield from reward_function_fails_on_answers.of_rehearsal({**each, "usual": seconds, "limit": TRY_S})
        for found in (
            reward_not_repeatable.of_rehearsal(name, place, each["own"], each.get("again") or each["own"]),
            reward_not_repeatable.of_turned_rows(name, place, each["own"], each.get("turned") or []),
            reward_call_slow.of_rehearsal(name, place, seconds, each["rows"]),
        ):
            yield from [] if found is None else [found]
    told = {each["function"] for each in tried}
    for name in usual.keys() - told:  # what could not be tried was timed all the same
        slow = reward_call_slow.of_rehearsal(name, "", usual[name], 0)
        yield from [] if slow is None else [slow]
    if tried and len(tried) == len(usual):
        does_not = reward_does_not_judge
        found = (
            does_not.of_rehearsal(tried)
            or does_not.of_mixed_answers(tried)
            or does_not.of_near_answers(tried)
            or does_not.of_shown_form(tried)
            or does_not.of_absent_columns(tried)
            or does_not.of_lookups(tried)
        )
        yield from [] if found is None else [found]


def _usual(done: Rehearsed) -> dict[str, float]:
    """Function -> seconds of its median call in the run itself."""
    calls: dict[str, list[float]] = {}
    for each in done.of("reward_call"):
        calls.setdefault(each["function"], []).append(each["seconds"])
    return {name: median(seconds) for name, seconds in calls.items()}


def _crashes(done: Rehearsed) -> Iterator[Crashed]:
    """Our own failures inside the command's processes, each place once."""
    seen: set[str] = set()
    for each in (*done.of("crashed"), *done.of("crashed", resumed=True)):
        if each["where"] not in seen:
            seen.add(each["where"])
            yield Crashed(f"rehearsal: {each['where']}", each.get("error", ""), each.get("traceback", ""))
