"""Puts what the capsules hold to the first finding: the violated condition, its values, and the odd rank out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.ranks import ranks_text
from doctor.base.record import record, replace
from doctor.catalogue.finding import Finding, Message, Words, said
from doctor.logs.capsules.held import Held, judge, shown
from doctor.logs.capsules.read import Capsule, CapsuleFailure, CapsuleFrame, CapsuleLink, Capsules, Fact

_SPACE = later(r"\s+")
_LONGEST = 300
_MOST_DIFFERENCES = 3


@record
class Matched:
    """The failure that a finding speaks of."""

    capsule: Capsule
    failure: CapsuleFailure
    link: CapsuleLink


def told(findings: Sequence[Finding], capsules: Capsules, unknown: Container[str]) -> tuple[Finding, ...]:
    """The findings, the first with what the process held.

    Args:
        findings: as ranked.
        capsules: of the same run.
        unknown: ids of the problems that say only that nothing is known.

    """
    if not findings or not capsules.capsules:
        return tuple(findings)
    first = findings[0]
    matched = match(first, capsules.capsules) or (
        _first_to_end(capsules.capsules) if first.problem.id in unknown else None
    )
    if first.problem.id in unknown:
        matched = _of_its_rank(first, matched, capsules.capsules)
    if matched is None:
        return tuple(findings)
    held = judge(matched.capsule, matched.link)
    odd = odd_ranks(matched, capsules.capsules)
    if held is None and odd is None:
        return tuple(findings)
    return (_with(first, matched, held, odd, renames=first.problem.id in unknown), *findings[1:])


def match(finding: Finding, capsules: Sequence[Capsule]) -> Matched | None:
    """The failure whose exception the finding quotes: of its rank first, and the earliest of those that fit.

    A worker that hands its exception on tells it before the process that it is handed to.
    """
    quotes = [text for each in finding.evidence if (text := _squeezed(each.text))]
    fits = [each for each in _all(capsules) if any(_same(each.link, quote) for quote in quotes)]
    rank = finding.where.rank
    return min(
        fits, key=lambda each: (rank is not None and each.capsule.rank not in (rank, None), each.failure.t_ns),
        default=None,
    )  # fmt: skip


def _of_its_rank(finding: Finding, matched: Matched | None, capsules: Sequence[Capsule]) -> Matched | None:
    """The failure that ended first, where the finding names its rank and quotes only what another rank said of it."""
    ended = _first_to_end(capsules)
    if ended is None or finding.where.rank is None or ended.capsule.rank != finding.where.rank:
        return matched
    return matched if matched is not None and matched.capsule.rank == finding.where.rank else ended


def _all(capsules: Sequence[Capsule]) -> Iterator[Matched]:
    for capsule in capsules:
        for failure in capsule.failures:
            for link in failure.chain:
                yield Matched(capsule, failure, link)


def _same(link: CapsuleLink, quote: str) -> bool:
    """Whether a line of a log is the last line of an exception's traceback."""
    told_ = _squeezed(f"{link.name}: {link.message}" if link.message else link.name)
    message = _squeezed(link.message)
    return told_ in quote or quote in told_ or (len(message) > 20 and message in quote)


def _squeezed(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:_LONGEST]


def _first_to_end(capsules: Sequence[Capsule]) -> Matched | None:
    """The failure that ended a process first, and its first raise."""
    ended = [(failure.t_ns, place, failure) for place, each in enumerate(capsules) for failure in each.failures
             if failure.ends and failure.code != 0 and failure.chain]  # fmt: skip
    if not ended:
        return None
    _, place, failure = min(ended, key=lambda each: each[:2])
    return Matched(capsules[place], failure, failure.chain[0])


@record
class Odd:
    """A rank that holds another value than its siblings at the same place."""

    en: str
    zh: str
    evidence: tuple[Observed, ...]


def odd_ranks(matched: Matched, capsules: Sequence[Capsule]) -> Odd | None:
    """How the ranks differ at the place of the failure, or in the step that they had reached."""
    ranks = {each.rank: each for each in capsules if each.rank is not None}
    if matched.capsule.rank is None or len(ranks) < 2:
        return None
    for frame in matched.link.frames:
        if not (frame.values or frame.conditions) or frame.module.startswith(("torch.", "threading")):
            continue
        here = {rank: values for rank, each in ranks.items() if (values := _values_at(each, frame)) is not None}
        differs = _differing(here)
        if differs:
            return _odd(frame, differs, matched)
    return _apart(ranks, matched)


def _values_at(capsule: Capsule, frame: CapsuleFrame) -> dict[str, str] | None:
    """Values of a process in the same function, wherever in it the process stands."""
    stacks = [link.frames for failure in capsule.failures for link in failure.chain] + [capsule.stands]
    for frames in stacks:
        for each in frames:
            if (each.file, each.function) == (frame.file, frame.function):
                inside = [fact for condition in each.conditions for fact in condition["values"].items()]
                told_ = (pair for name, fact in (*each.values.items(), *inside) for pair in _opened(name, fact))
                return {name: shown(fact) for name, fact in told_ if _comparable(fact)}
    return None


def _comparable(fact: Fact) -> bool:
    """Whether ranks that do the same hold the same: shapes, counts and names, but neither times nor losses."""
    return fact.get("type") in ("int", "bool", "str", "NoneType", "torch.Size") or bool(fact.get("tensor")) or (
        "length" in fact
    )  # fmt: skip


def _opened(name: str, fact: Fact) -> Iterator[tuple[str, Fact]]:
    """A value, and inside of a batch or of metrics the tensors, and what is missing."""
    yield name, fact
    for key, inside in fact.get("entries", ()):
        if isinstance(key, str) and (inside.get("tensor") or inside.get("type") == "NoneType"):
            yield f'{name}["{key}"]', inside


def _differing(here: dict[int, dict[str, str]]) -> list[tuple[str, dict[int, str]]]:
    """Expressions that every rank told and whose values are not the same."""
    if len(here) < 2:
        return []
    names = set.intersection(*(set(each) for each in here.values()))
    order = [name for name in next(iter(here.values())) if name in names and not _is_rank(name)]
    by_name = [(name, {rank: each[name] for rank, each in here.items()}) for name in order]
    return [(name, values) for name, values in by_name if len(set(values.values())) > 1][:_MOST_DIFFERENCES]


def _is_rank(name: str) -> bool:
    """Whether a name is that of the rank itself, or of what differs by nature."""
    return any(each in name.lower() for each in ("rank", "process_index", "seed", "port", "pid", "time"))


def _odd(frame: CapsuleFrame, differs: Sequence[tuple[str, dict[int, str]]], matched: Matched) -> Odd:
    parts, parts_zh = [], []
    for name, values in differs:
        common, count = Counter(values.values()).most_common(1)[0]
        odd = {rank: value for rank, value in values.items() if value != common}
        if count > len(values) / 2:
            others = "; ".join(f"{value} on rank {ranks_text([rank])}" for rank, value in sorted(odd.items()))
            parts.append(f"`{name}` is {others}, and {common} on the other {count}")
            others_zh = "、".join(f"rank {rank} 上为 {value}" for rank, value in sorted(odd.items()))
            parts_zh.append(f"`{name}` 在{others_zh},在其余 {count} 个 rank 上为 {common}")
        else:
            told_ = ", ".join(f"{value} on rank {rank}" for rank, value in sorted(values.items()))
            parts.append(f"`{name}` is {told_}")
            parts_zh.append(
                f"`{name}`:{'、'.join(f'rank {rank} 为 {value}' for rank, value in sorted(values.items()))}"
            )
    english = f"The ranks differ in `{frame.function}`: {'; '.join(parts)}."
    chinese = f"各 rank 在 `{frame.function}` 中不同:{';'.join(parts_zh)}。"
    return Odd(english, chinese, (Observed.quoted(matched.capsule.path, english),))


def _apart(ranks: dict[int, Capsule], matched: Matched) -> Odd | None:
    """Ranks that had reached different steps, or stand at different places."""
    steps = {rank: each.step for rank, each in ranks.items() if each.step is not None}
    if len(steps) == len(ranks) and len({*steps.values()}) > 1:
        told_ = ", ".join(f"rank {rank} at step {step}" for rank, step in sorted(steps.items()))
        return Odd(f"The ranks had come apart: {told_}.", f"各 rank 已不同步:{told_}。",
                   (Observed.quoted(matched.capsule.path, told_),))  # fmt: skip
    stands = {rank: each.stands[0].place if each.stands else "" for rank, each in ranks.items()}
    others = {rank: place for rank, place in stands.items() if place and rank != matched.capsule.rank}
    if not others:
        return None
    told_ = ", ".join(f"rank {rank} in {place}" for rank, place in sorted(others.items())[:4])
    return Odd(f"The others were elsewhere at that time: {told_}.", f"当时其他 rank 的位置:{told_}。",
               (Observed.quoted(matched.capsule.path, told_),))  # fmt: skip


def _with(finding: Finding, matched: Matched, held: Held | None, odd: Odd | None, *, renames: bool) -> Finding:
    """The finding with sentences, evidence and place out of the capsule."""
    english = " ".join(each.en for each in (held, odd) if each is not None)
    chinese = "".join(each.zh for each in (held, odd) if each is not None)
    head = _HEADS.get(held.kind, _HEAD) if held is not None and held.kind != "values" and renames else {}
    message = Message(
        _worded(finding.message.words("en"), " ", headline=head.get("en", "")),
        _worded(finding.message.words("zh"), "", headline=head.get("zh", "")),
    )
    values = {
        **finding.values, "held": said(english, chinese), "held_who": matched.capsule.who,
        "held_type": matched.link.name, "held_first": said(held.head, held.head_zh) if held else "",
        "held_place": held.frame.place.partition(" (")[0] if held else "",
    }  # fmt: skip
    where = finding.where
    where = replace(
        where, rank=where.rank if where.rank is not None else matched.capsule.rank,
        step=where.step if where.step is not None else matched.capsule.step,
    )  # fmt: skip
    evidence = (*finding.evidence, *(held.evidence if held else ()), *(odd.evidence if odd else ()))
    return replace(finding, message=message, values=values, where=where, evidence=evidence)


#: headline of an answer that knows no problem, where the values themselves show what does not agree
_HEAD = {
    "en": "{held_who}: `{held_type}`: {held_first}",
    "zh": "{held_who}:`{held_type}`:{held_first}",
}
#: where the values alone say it badly: a condition means nothing without its place
_HEADS = {
    "condition": {
        "en": "{held_who}: `{held_type}` raised in `{held_place}`, {held_first}",
        "zh": "{held_who}:`{held_place}` 抛出 `{held_type}`,{held_first}",
    },
}


def _worded(words: Words, between: str, *, headline: str) -> Words:
    return Words(headline or words.headline, "{held}" + between + words.explanation, words.remedy)
