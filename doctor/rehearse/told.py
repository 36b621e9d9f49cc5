"""The sentences of a rehearsal: what was not rehearsed before and after, what was extrapolated, what was called."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from doctor.monitors.rehearse.arguments import COMPLETION
from doctor.rehearse.record import Rehearsed, left_out
from doctor.rehearse.session import RehearsalWishes, Session
from doctor.rehearse.updates import unseen
from doctor.rehearse.words import REASONS, SENTENCES


def beforehand(wishes: RehearsalWishes, *, gpu: bool, nodes: int, language: str) -> list[str]:
    """What this rehearsal cannot show, as far as it is known before it begins.

    Args:
        wishes: what is asked of it.
        gpu: whether the machine has a GPU.
        nodes: of the launch.
        language: "en" or "zh".

    """
    words, keys = REASONS[language], ["steps"]
    if wishes.scale == "tiny":
        keys = ["tiny", "lengths", *keys]
    if not gpu:
        keys.append("no_gpu")
    keys.append("uploads")
    if nodes > 1:
        keys.append("several_nodes")
    return [words[each].format(steps=wishes.steps, tokens=COMPLETION, nodes=nodes) for each in keys]


def not_rehearsed(session: Session, language: str) -> list[tuple[str, str]]:
    """(what, why) of everything that was not rehearsed, each once."""
    words, wishes = REASONS[language], session.wishes
    found = dict.fromkeys(_reasons(session))
    told = []
    for name, why, values in found:
        given = {"steps": wishes.steps, "tokens": COMPLETION, **dict(values)}
        told.append((name, words[why].format_map(_Missing(given))))
    return list(dict.fromkeys(told))


class _Missing(dict[str, Any]):
    """Values of a sentence; what a journal did not tell is a question mark."""

    def __missing__(self, key: str) -> str:
        return "?"


def _reasons(session: Session) -> Iterator[tuple[str, str, tuple[tuple[str, Any], ...]]]:
    done = session.rehearsed
    if not session.ended:
        yield "run", "framework", (("framework", session.framework),)
        return
    yield from _of_parts(done)
    if done.trained:
        yield from _of_training(done, tiny=session.wishes.scale == "tiny")
    for one in left_out(done):
        yield one.name, one.why, tuple((key, str(value)) for key, value in one.values.items())
    for each in done.of("made"):
        if each.get("quantised"):
            yield "model", "quantised", (("method", each["quantised"]),)
    if not session.apart.held:
        yield "files", "no_overlay", (("why", session.apart.why),)
    for each in done.of("refused"):
        yield "files", "refused", (("path", each["path"]),)
    yield from _of_rewards(done)
    yield from _of_resume(session)
    reason = unseen(session)
    if reason:
        yield "weight_update", "not_seen", (("reason", reason),)
    hosts = sorted({str(each["host"]) for each in done.of("contacted") if each.get("refused")})
    if hosts:
        yield "network", "remote", (("hosts", ", ".join(hosts)),)


def _of_training(done: Rehearsed, *, tiny: bool) -> Iterator[tuple[str, str, tuple[tuple[str, Any], ...]]]:
    if tiny:
        if any(each.get("tiny") for each in done.of("loaded")):
            yield "memory", "tiny", ()
        yield "completions", "lengths", ()
    yield "steps", "steps", ()
    if done.without_signal:
        yield "optimizer", "no_signal", ()


def _of_parts(done: Rehearsed) -> Iterator[tuple[str, str, tuple[tuple[str, Any], ...]]]:
    for each in done.of("parts"):
        yield "run", "parts", (("framework", each["framework"]),)
    for each in done.of("prompts"):
        if each["over"]:
            yield "data", "overlong", tuple((name, each[name]) for name in ("over", "rows", "limit"))


def _of_rewards(done: Rehearsed) -> Iterator[tuple[str, str, tuple[tuple[str, Any], ...]]]:
    tried = done.of("reward")
    if tried and not any(each["reads"] for each in tried):
        names = "`, `".join(str(each["function"]) for each in tried)
        yield "reward", "no_answers", (("function", names),)


def _of_resume(session: Session) -> Iterator[tuple[str, str, tuple[tuple[str, Any], ...]]]:
    done = session.rehearsed
    for each in done.of("resume_own"):
        yield "resume", "own_checkpoint", (("folder", each["folder"]),)
    if session.second is not None:
        return
    if session.failed is not None or session.late is not None:
        yield "resume", "broke_before", ()
    elif not session.wishes.resume:
        yield "resume", "resume_off", ()
    elif done.trained and not done.saved:
        yield "resume", "nothing_saved", ()
    elif done.begins_anew:
        yield "resume", "begins_anew", ()


def contacted(done: Rehearsed) -> list[tuple[str, str]]:
    """(address, who called it) of what was contacted beyond this machine."""
    both = (*done.of("contacted"), *done.of("contacted", resumed=True))
    return list(dict.fromkeys((f"{each['host']}:{each['port']}", str(each.get("by") or "")) for each in both))


def extrapolated(session: Session, language: str) -> list[str]:
    """What the rehearsal lets expect of the run itself; each says what it was measured on."""
    words, done, told = SENTENCES[language], session.rehearsed, []
    seconds = done.step_seconds
    if seconds is not None:
        told.append(words["step"].format(seconds=seconds))
    for each in done.of("mapped"):
        rows, real = each["rows"], each.get("stands_for")
        if real and rows and real < 1 << 40:
            duration = _long(each["seconds"] * real / rows)
            told.append(words["mapping"].format(rows=real, duration=duration, measured=rows))
    if session.wishes.scale == "tiny" and done.trained:
        told.append(words["memory"].format(command=shlex.join(session.argv)))
    return list(dict.fromkeys(told))


def _long(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
