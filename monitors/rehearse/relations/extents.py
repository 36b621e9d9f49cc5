"""Whether a policy's loss trains just the tokens that it generated: from the first to the one that ends an answer.

Prompts are noted as they are handed to `generate`, and what it gives back; a row of a later forward that begins with
one of them is its answer. In a conversation of several turns the prompt of a later turn holds answers of earlier ones,
and between them stands what nobody generated: a tool's result, the user's next question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Optional

from doctor.monitors.rehearse import journal

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

#: prompts that are kept, and tokens of one
_MOST, _LONGEST = 512, 1 << 14
#: rows that are kept of one prompt
_ANSWERS = 64


class Known:
    """Prompts of this process without padding, each with the rows that were generated from it."""

    prompts: ClassVar[dict[tuple[int, ...], set[tuple[int, ...]]]] = {}
    #: the generated rows in the order in which they came
    order: ClassVar[list[tuple[int, ...]]] = []


@journal.shielded
def generated(ids: Any, mask: Any) -> None:
    """Answers to these prompts are about to be generated: `ids` and `mask`, [rows, width]."""
    for prompt in _prompts(ids, mask):
        Known.prompts.setdefault(prompt, set())


@journal.shielded
def answered(ids: Any, mask: Any, result: Any) -> None:
    """What `generate` gave back for them: [rows times answers, width], or an object that holds it."""
    rows = getattr(result, "sequences", result)
    prompts = _prompts(ids, mask)
    if not prompts or getattr(rows, "ndim", 0) != 2 or len(rows) % len(prompts):
        return
    several, width = len(rows) // len(prompts), ids.shape[1]
    for at, row in enumerate(rows):
        prompt = prompts[at // several]
        known = Known.prompts.get(prompt)
        if known is not None and len(known) < _ANSWERS and row.shape[0] > width:
            known.add(prompt + tuple(row[width:].tolist()))
            if len(Known.order) < _MOST:
                Known.order.append(prompt + tuple(row[width:].tolist()))


def _prompts(ids: Any, mask: Any) -> list[tuple[int, ...]]:
    """The tokens of each row; empty where there are too many, or none."""
    if getattr(ids, "ndim", 0) != 2 or len(Known.prompts) >= _MOST or ids.shape[1] > _LONGEST:
        return []
    fits = getattr(mask, "shape", None) == ids.shape
    return [tuple((tokens[mask[row] != 0] if fits else tokens).tolist()) for row, tokens in enumerate(ids)]


def of_forward(seen: Forward) -> Optional[dict[str, int]]:
    """Counts of rows whose trained tokens are not those of their answer; None where no row is an answer that trains.

    `prompt` rows train a token of the prompt, `late` ones the second token of the answer and not the first, `open` ones
    the token in front of the end and not the end, `closed` ones the end. `between` rows hold tokens between two answers
    that nobody generated, `inserted` ones train one of those.
    """
    if seen.target is None or not Known.prompts:
        return None
    found = {"rows": 0, "prompt": 0, "late": 0, "open": 0, "closed": 0, "between": 0, "inserted": 0}
    for row, ids in enumerate(seen.ids.tolist()):
        start, written = _written(seen, row, ids)
        following = ids[seen.first + 1 :]
        target = seen.target[row].tolist()
        trained = {seen.first + at + 1 for at, (one, own) in enumerate(zip(target, following)) if one == own}  # noqa: B905
        if start is None or not any(each > start for each in trained):
            continue
        own = written or range(start, len(ids))
        end = next((at for at in own if ids[at] in seen.ends), None)
        between = [at for at in range(start, max(own)) if written and at not in written]
        found["rows"] += 1
        found["prompt"] += any(each < start for each in trained)
        found["late"] += start not in trained and start + 1 in trained
        found["closed"] += end is not None and end in trained
        found["open"] += end is not None and end not in trained and end > start and end - 1 in trained
        found["between"] += bool(between)
        found["inserted"] += not trained.isdisjoint(between)
    return found if found["rows"] else None


def in_order(seen: Forward) -> bool:
    """Whether the rows of a forward stand in the order in which they were generated, none shuffled or encoded anew."""
    last = -1
    for row, ids in enumerate(seen.ids.tolist()):
        _, written = _written(seen, row, ids)
        tokens = tuple(ids) if seen.mask is None else tuple(each for at, each in enumerate(ids) if seen.mask[row, at])
        answers = enumerate(Known.order[last + 1 :], last + 1)
        found = next((at for at, each in answers if each[: len(tokens)] == tokens[: len(each)]), None)
        if not written or found is None:
            return False
        last = found
    return True


def _written(seen: Forward, row: int, ids: list[int]) -> tuple[Optional[int], list[int]]:
    """Place of the first token behind the prompt of a row, and the places of tokens that were generated, in order.

    No such places where the row is none that came back from `generate`: texts may be encoded once more.
    """
    real = list(range(len(ids))) if seen.mask is None else [at for at, one in enumerate(seen.mask[row].tolist()) if one]
    tokens = tuple(ids[at] for at in real)
    fits = [each for each in Known.prompts if tokens[: len(each)] == each and len(each) < len(tokens)]
    written: set[int] = set()
    for prompt in fits:
        for answer in Known.prompts[prompt]:
            written.update(range(len(prompt), _alike(tokens, answer)))
    if written:
        places = sorted(real[at] for at in written)
        return places[0], places
    return (real[min(map(len, fits))] if fits else None), []


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two rows have in common from their beginning on."""
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))  # noqa: B905
