"""Whether a policy's loss trains just the tokens that it generated: from the first to the one that ends an answer.

Prompts are noted as they are handed to `generate`; a row of a later forward that begins with one of them is its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Optional

from doctor.monitors.rehearse import journal

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

#: prompts that are kept, and tokens of one
_MOST, _LONGEST = 512, 1 << 14


class Known:
    """Prompts of this process, without padding."""

    prompts: ClassVar[set[tuple[int, ...]]] = set()


@journal.shielded
def generated(ids: Any, mask: Any) -> None:
    """Answers to these prompts are about to be generated: `ids` and `mask`, [rows, width]."""
    if getattr(ids, "ndim", 0) != 2 or len(Known.prompts) >= _MOST or ids.shape[1] > _LONGEST:
        return
    fits = getattr(mask, "shape", None) == ids.shape
    for row, tokens in enumerate(ids):
        Known.prompts.add(tuple((tokens[mask[row] != 0] if fits else tokens).tolist()))


def of_forward(seen: Forward) -> Optional[dict[str, int]]:
    """Counts of rows whose trained tokens are not those of their answer; None where no row is an answer that trains.

    `prompt` rows train a token of the prompt, `late` ones the second token of the answer and not the first, `open` ones
    the token in front of the end and not the end, `closed` ones the end.
    """
    if seen.target is None or not Known.prompts:
        return None
    found = {"rows": 0, "prompt": 0, "late": 0, "open": 0, "closed": 0}
    for row, ids in enumerate(seen.ids.tolist()):
        start = _start(seen, row, ids)
        following = ids[seen.first + 1 :]
        target = seen.target[row].tolist()
        trained = {seen.first + at + 1 for at, (one, own) in enumerate(zip(target, following)) if one == own}  # noqa: B905
        if start is None or not any(each > start for each in trained):
            continue
        end = next((at for at in range(start, len(ids)) if ids[at] in seen.ends), None)
        found["rows"] += 1
        found["prompt"] += any(each < start for each in trained)
        found["late"] += start not in trained and start + 1 in trained
        found["closed"] += end is not None and end in trained
        found["open"] += end is not None and end not in trained and end > start and end - 1 in trained
    return found if found["rows"] else None


def _start(seen: Forward, row: int, ids: list[int]) -> Optional[int]:
    """Place of the first token behind the longest known prompt that a row begins with."""
    real = list(range(len(ids))) if seen.mask is None else [at for at, one in enumerate(seen.mask[row].tolist()) if one]
    tokens = tuple(ids[at] for at in real)
    fits = [len(each) for each in Known.prompts if tokens[: len(each)] == each and len(each) < len(tokens)]
    return real[max(fits)] if fits else None
