"""Judges first-step-contradicts-its-data (NUM2455), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: tokens that must be seen, and the share of them that is the one in question
_LEAST, _SHARE = 8, 0.95
#: padding that counts: its share, and how many places a row, for the first may be meant as the end of the text
_OF_PADDING, _A_ROW = 0.1, 2
#: rows of which nothing but padding counts, at least
_LEAST_ROWS = 2
#: a weight that is the inverse of a number of places
_EQUAL = 2e-3
#: the share of places that count, above which it says little by what they are divided
_MOST_COUNTED = 0.95
#: ratios that are not 1: their share, of so many at least
_OFF, _LEAST_RATIOS = 0.5, 8
#: steps of a first start that must have other rows
_STEPS = 2
#: the share of pairs of answers whose order must be that of their rewards
_FOLLOW = 0.75
#: the share of a batch's rows whose labels a collator may cut off
_EMPTIED = 0.2

_Entry = Mapping[str, Any]


def of_outputs(entries: Sequence[_Entry], *, shifted: bool = False, padded: bool = False) -> Iterator[Finding]:
    """Judge what the loss does to the outputs of the model, in the first steps of one process.

    Args:
        entries: of the journal, as `doctor.monitors.rehearse.outputs` writes them, one a step.
        shifted: that labels are shifted twice has been told already.
        padded: that padding counts has been told already.

    """
    forwards = [each for entry in entries[:1] for each in entry["forwards"]]
    if not padded:
        yield from _padding(forwards)
    yield from _blind(forwards)
    if not shifted:
        yield from _shifts(forwards)
    yield from _leak(entries)
    yield from _crossed(entries)
    yield from _divided(entries)
    yield from _summed(entries)
    yield from _groups(entries)
    yield from _extents(entries)
    yield from _divided_twice(entries)
    yield from _pairs(entries)
    yield from _ranked(entries)


def _padding(forwards: Sequence[_Entry]) -> Iterator[Finding]:
    told = [each for each in forwards if each["logits"] and _padded(each)]
    count, counted = sum(map(_padded, told)), sum(each["counted"] for each in told)
    rows = sum(each["rows"] for each in told)
    if count >= max(_LEAST, _A_ROW * rows, _OF_PADDING * counted, 1):
        text = f"gradient at {counted} places, at {count} of them for a target that is padding"
        yield found(PROBLEM, TOML["padding"], count=count, counted=counted, share=_share(count, counted),
                    evidence=_seen(text))  # fmt: skip


def _padded(forward: _Entry) -> int:
    """Places that count and are padding: by the attention mask, or by what stands there behind an end."""
    return int(max(forward.get("padded", 0), forward.get("behind", 0)))


def _blind(forwards: Sequence[_Entry]) -> Iterator[Finding]:
    told = [each for each in forwards if each.get("blind") and not each["logits"]]
    count, rows = sum(each["blind"] for each in told), sum(each["rows"] for each in told)
    if count >= _LEAST_ROWS:
        text = f"{count} of {rows} rows: gradient only where the attention mask is 0"
        yield found(PROBLEM, TOML["blind"], count=count, rows=rows, evidence=_seen(text))


def _shifts(forwards: Sequence[_Entry]) -> Iterator[Finding]:
    """The token that is trained at a place is its own, or the one after the next."""
    told = [each for each in forwards if each["causal"] and each.get("tokens")]
    total = sum(each["tokens"] for each in told)
    own, following, after = (sum(each[name] for each in told) for name in ("own", "next", "after"))
    text = f"{total} tokens: {own} are the place's own, {following} the next one, {after} the one after it"
    for name, count in (("own", own), ("after", after)):
        if total >= _LEAST and count >= _SHARE * total and following <= _OFF * total:
            yield found(PROBLEM, TOML[name], count=count, total=total, evidence=_seen(text))
            return


def _leak(entries: Sequence[_Entry]) -> Iterator[Finding]:
    for leak in (entry.get("leak") for entry in entries[:1]):
        if leak and leak["changed"] >= _LEAST_ROWS and leak["changed"] >= _SHARE * leak["rows"]:
            text = f"{leak['changed']} of {leak['rows']} rows: other logits in front of a token that was changed"
            yield found(PROBLEM, TOML["leak"], **leak, evidence=_seen(text))


def _divided(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """A mean over all places, where batches differ in their padding: the same token counts less in a longer one.

    Two batches of other sizes show it; a constant is no mean.
    """
    told = [each for entry in entries for each in entry["forwards"] if each.get("tokens")]
    if any(entry["generated"] for entry in entries) or not all(_of_all_places(each) for each in told):
        return
    padded = [each for each in told if each["tokens"] <= _MOST_COUNTED * each["places"] and each["alike"]]
    sizes = {each["places"] for each in padded}
    if len(sizes) > 1:
        one = padded[0]
        text = ", ".join(f"weight {each['least']:.3g} with {each['places']} places" for each in padded[:2])
        yield found(PROBLEM, TOML["divided"], places=one["places"], counted=one["tokens"], evidence=_seen(text))


def _of_all_places(forward: _Entry) -> bool:
    """Whether the weight of a token is one over the places of the batch, with or without the last of each row."""
    places = (forward["places"], forward["places"] - forward["rows"])
    return any(abs(forward["least"] * each - 1) <= _EQUAL for each in places)


def _groups(entries: Sequence[_Entry]) -> Iterator[Finding]:
    for groups in (entry.get("groups") for entry in entries[:1]):
        if groups:
            text = f"{groups['groups']} prompts with {groups['size']} answers each: sums of 0 over {groups['across']}"
            yield found(PROBLEM, TOML["groups"], confidence=LIKELY, groups=groups["groups"], size=groups["size"],
                        evidence=_seen(text))  # fmt: skip


def _crossed(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Texts of a packed row that see the ones in front of them."""
    for leak in (entry.get("leak") or {} for entry in entries[:1]):
        count, rows = leak.get("crossed", 0), leak.get("packed", 0)
        if rows and count == rows:
            text = f"{count} of {rows} rows: other logits in the last text when a token of the one before it is changed"
            yield found(PROBLEM, TOML["crossed"], confidence=LIKELY, count=count, rows=rows, evidence=_seen(text))


def _summed(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Micro-batches of a trainer whose tokens have the weight of a whole step each."""
    for entry in entries[:1]:
        parts, told = entry.get("parts", 1), [each for each in entry["forwards"] if each.get("tokens")]
        whole = [each for each in told if each["least"] > 0 and abs(each["total"] - 1) <= _EQUAL]
        if parts > 1 and len(whole) == len(told) == parts == entry.get("backwards"):
            text = ", ".join(
                f"{each['tokens']} tokens with a weight of {each['total']:.3f} in all" for each in told[:2]
            )
            yield found(PROBLEM, TOML["summed"], parts=parts, evidence=_seen(text))


def _extents(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Answers whose first token, whose end or whose prompt is not trained as the rest is."""
    told = [each for entry in entries[:1] for each in entry.get("extents") or ()]
    rows, prompt, late, open_rows, closed, between, inserted = (
        sum(each.get(name, 0) for each in told)
        for name in ("rows", "prompt", "late", "open", "closed", "between", "inserted")
    )
    signed = any(each.get("least", 0) < 0 for entry in entries[:1] for each in entry["forwards"])
    for name, count, holds in (
        ("prompt", prompt, signed and prompt >= _SHARE * rows),
        ("late", late, late >= _SHARE * rows),
        ("open", open_rows, not closed),
        ("inserted", inserted, inserted >= _SHARE * between),
    ):
        if count >= _LEAST_ROWS and holds:
            text = (
                f"{rows} answers: {prompt} with tokens of the prompt, {late} without the first token, {closed} closed, "
                f"{inserted} of {between} with tokens between their turns"
            )
            yield found(PROBLEM, TOML[name], confidence=LIKELY, count=count, rows=rows, evidence=_seen(text))


def _divided_twice(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Micro-batches whose mean is divided by their number, and is divided by it once more on its way to the step."""
    for entry in entries[:1]:
        parts, told = entry.get("divides", 1), [each for each in entry["forwards"] if each.get("tokens")]
        twice = [each for each in told if each["least"] > 0 and abs(each["total"] * parts**2 - 1) <= _EQUAL]
        if parts > 1 and len(twice) == len(told) >= _LEAST_ROWS:
            text = ", ".join(
                f"{each['tokens']} tokens with a weight of {each['total']:.4g} in all" for each in told[:2]
            )
            yield found(PROBLEM, TOML["divided_twice"], parts=parts, square=parts**2, evidence=_seen(text))


def _pairs(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Better answers to prompts that no worse answer of the batch has."""
    for pairs in (entry.get("pairs") for entry in entries[:1]):
        if pairs and pairs["apart"] >= max(_LEAST_ROWS, _OFF * pairs["pairs"]):
            text = f"{pairs['pairs']} pairs: {pairs['apart']} better answers to prompts that no worse one has"
            yield found(PROBLEM, TOML["pairs"], confidence=LIKELY, count=pairs["apart"], rows=pairs["pairs"],
                        evidence=_seen(text))  # fmt: skip


def _ranked(entries: Sequence[_Entry]) -> Iterator[Finding]:
    """Answers that earned different rewards: all have one weight, or the better ones are not those that rise."""
    told = [entry["ranked"] for entry in entries if entry.get("ranked")]
    if told and all(each["alike"] for each in told):
        text = f"{told[0]['rows']} rows of one weight, while `{told[0]['name']}` differs"
        yield found(PROBLEM, TOML["one_weight"], confidence=LIKELY, rows=told[0]["rows"], name=told[0]["name"],
                    evidence=_seen(text))  # fmt: skip
        return
    if any(entry.get("groups") for entry in entries[:1]):
        return  # why they are not is known
    for each in (entry.get("ranked") for entry in entries[:1]):
        if each and each["pairs"] >= _LEAST and each["follow"] < _FOLLOW * each["pairs"]:
            text = f"`{each['name']}`: {each['follow']} of {each['pairs']} pairs in the order of their weights"
            yield found(PROBLEM, TOML["unranked"], confidence=LIKELY, count=each["pairs"] - each["follow"],
                        pairs=each["pairs"], name=each["name"], evidence=_seen(text))  # fmt: skip


def of_processes(entries: Sequence[_Entry], world: int) -> Finding | None:
    """Judge whether all processes train on the same rows.

    Args:
        entries: of all journals, as in `of_outputs`, with `rank` and `rows` (a digest of the tokens).
        world: number of processes that share the rows.

    """
    steps: dict[int, dict[int, str]] = {}
    for each in entries:
        steps.setdefault(each["step"], {})[each["rank"]] = each.get("rows", "")
    told = [ranks for ranks in steps.values() if len(ranks) == world > 1]
    if not told or any(len(set(ranks.values())) > 1 for ranks in told):
        return None
    text = f"{len(told)} steps: the same tokens in all {world} processes"
    return found(PROBLEM, TOML["same_rows"], confidence=LIKELY, world=world, evidence=_seen(text))


def of_rows_again(first: Sequence[_Entry], again: Sequence[_Entry]) -> Finding | None:
    """Judge the first rows of a loop that goes on from what it saved.

    Args:
        first: of the journal of the first start, as in `of_outputs`; its steps have other rows from each other.
        again: of the second start, with `rows` (a digest of the tokens of its first forward).

    """
    steps = [each.get("first") for each in first]
    if not again or len(steps) < _STEPS or len(set(steps)) < len(steps) or again[0]["rows"] != steps[0]:
        return None
    text = f"the first batch of both starts is the same, behind {len(steps)} steps with other batches"
    return found(PROBLEM, TOML["rows_again"], confidence=LIKELY, evidence=_seen(text))


def of_early_step(entry: _Entry) -> Finding:
    """Judge a step in the middle of what Accelerate accumulates."""
    text = f"{entry['optimizer']}: a step while `sync_gradients` is False, {entry['parts']} micro-batches asked for"
    return found(PROBLEM, TOML["early"], parts=entry["parts"], optimizer=entry["optimizer"], evidence=_seen(text))


def of_collated(entry: _Entry) -> Finding | None:
    """Judge a collator that leaves rows nothing to train, or whose rows train other tokens when they are alone."""
    emptied, batch = entry.get("emptied", 0), entry.get("batch", 0)
    if emptied >= max(_LEAST_ROWS, _EMPTIED * batch):
        text = f"{emptied} of {batch} rows: labels that count before the collator, none behind it"
        return found(PROBLEM, TOML["emptied"], count=emptied, rows=batch, evidence=_seen(text))
    if entry["differing"] < _LEAST_ROWS or entry["differing"] < _OFF * entry["rows"]:
        return None
    text = f"{entry['differing']} of {entry['rows']} padded rows have other labels alone"
    return found(PROBLEM, TOML["beside"], count=entry["differing"], rows=entry["rows"], evidence=_seen(text))


def of_ratio(entry: _Entry) -> Finding | None:
    """Judge the ratio of new to old probabilities before the first step."""
    if entry["values"] < _LEAST_RATIOS or entry["off"] < _OFF * entry["values"]:
        return None
    text = f"{entry['off']} of {entry['values']} ratios beside 1, from {entry['least']:.3g} to {entry['most']:.3g}"
    return found(
        PROBLEM, TOML["ratio"], confidence=LIKELY, off=entry["off"], values=entry["values"],
        least=f"{entry['least']:.3g}", most=f"{entry['most']:.3g}", evidence=_seen(text),
    )  # fmt: skip


def of_clearing(entry: _Entry) -> Finding | None:
    """Judge what a loop does with gradients between its steps."""
    steps = entry["steps"]
    if entry["kept"]:
        text = "the second step's gradient begins with the first one's"
        return found(PROBLEM, TOML["kept"], evidence=_seen(text))
    if steps and all(backwards > 1 and lost == backwards - 1 for backwards, lost in steps):
        backwards, lost = steps[0]
        text = ", ".join(f"{one} backward passes, {other} cleared" for one, other in steps)
        return found(PROBLEM, TOML["cleared"], count=lost, total=backwards, evidence=_seen(text))
    return None


def of_clipping(entry: _Entry) -> Finding | None:
    """Judge whether the steps of a loop use the gradients that it clipped."""
    first, second = entry["steps"]
    if first is False or not second:
        return None
    text = "each step: a backward pass behind the last clip" if first else "the first clip comes behind the first step"
    return found(PROBLEM, TOML["unclipped"], evidence=_seen(text))


def of_contract(entry: _Entry) -> Finding:
    """A loss of torch that is given something else than what it takes."""
    function = entry["function"]
    given = TOML.phrases("given")[entry["given"]]
    if entry.get("target"):
        takes = TOML.phrases("target")["log_target" if entry.get("log") else function]
        text = f"{function}: target is {entry['given']}"
        return found(PROBLEM, TOML["target"], function=function, given=given, takes=takes, evidence=_seen(text))
    takes, text = TOML.phrases("takes")[function], f"{function}: input is {entry['given']}"
    return found(PROBLEM, TOML["contract"], function=function, given=given, takes=takes, evidence=_seen(text))


def _seen(text: str) -> tuple[Observed, ...]:
    return (Observed.quoted("first step", text),)


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %"
