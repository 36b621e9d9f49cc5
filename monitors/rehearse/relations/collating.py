"""Whether what is trained of a row depends on the rows beside it: the first batch's rows are collated once more, alone.

A collator pads and masks. Where the mask is counted from an edge that padding has moved, a row trains other tokens in
another batch. Collators that draw (masked words) are left aside; those that join rows give no row to compare.
https://github.com/pytorch/pytorch/blob/v2.5.0/torch/utils/data/_utils/fetch.py
"""

from __future__ import annotations

import copy
import functools
import random
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.rows import Drawn
from doctor.monitors.rehearse.settings import settings

_ROWS = 8
#: a label that does not count
_IGNORED = -100


class _Looked:
    done: ClassVar[bool] = False


def attach(module: Any) -> None:
    """Stand around the collator of every loader; `module` is torch.utils.data._utils.fetch."""
    owner = module._BaseDatasetFetcher  # noqa: SLF001 - what every loader makes
    original = owner.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _stand_around(self)

    owner.__init__ = init


@journal.shielded
def _stand_around(fetcher: Any) -> None:
    workers: Any = sys.modules.get("torch.utils.data")
    inside = workers is not None and workers.get_worker_info() is not None
    if not inside and not _Looked.done and callable(fetcher.collate_fn) and getattr(fetcher, "auto_collation", False):
        fetcher.collate_fn = _watched(fetcher.collate_fn)


def _watched(original: Any) -> Any:
    @functools.wraps(original, updated=())
    def watched(rows: Any) -> Any:
        before = _before(rows)
        batch = original(rows)
        if before is not None:
            _compare(original, before, batch)
        return batch

    return watched


@journal.shielded
def _before(rows: Any) -> Optional[tuple[list[Any], Any]]:
    """Copies of the rows and what random numbers come next; None where nothing is compared."""
    if _Looked.done or settings().resume or not isinstance(rows, list) or len(rows) < 2:
        return None
    try:
        return [copy.deepcopy(each) for each in rows[:_ROWS]], _numbers()
    except Exception:  # noqa: BLE001 - a row that cannot be copied
        return None


def _numbers() -> Any:
    torch: Any = sys.modules["torch"]
    numpy: Any = sys.modules.get("numpy")
    drawn = None if numpy is None else numpy.random.get_state()[1:3]
    return random.getstate(), torch.get_rng_state().tolist(), None if drawn is None else (drawn[0].tolist(), drawn[1])


@journal.shielded
def _compare(original: Any, before: tuple[list[Any], Any], batch: Any) -> None:
    """Collate each row alone, and tell how many train other tokens then."""
    rows, numbers = before
    together = _trained(batch)
    if together is None or _numbers() != numbers:
        return
    _Looked.done = True
    compared = differing = 0
    emptied = sum(_labelled(row) and all(each == _IGNORED for each in one[1]) for row, one in zip(rows, together))  # noqa: B905
    for row, one in zip(rows, together):  # noqa: B905 - Python 3.9
        alone = _trained(original([row]))
        if alone is None or len(alone) != 1 or alone[0][0] != one[0] or not one[2]:
            continue
        compared += 1
        differing += alone[0][1] != one[1]
    # the longest rows, which a rehearsal draws first, say nothing of the others
    journal.write(
        "collated", rows=compared, differing=differing, batch=len(together),
        emptied=0 if Drawn.longest_first else emptied,
    )  # fmt: skip


def _labelled(row: Any) -> bool:
    """Whether a row brings labels of its own, some of which count."""
    labels: Any = row.get("labels") if isinstance(row, Mapping) else None
    if hasattr(labels, "tolist"):
        labels = labels.tolist()
    return isinstance(labels, list) and any(isinstance(each, int) and each != _IGNORED for each in labels)


def _trained(batch: Any) -> Optional[list[tuple[list[int], list[int], bool]]]:
    """Of each row: its real tokens, their labels, and whether it is padded."""
    if not isinstance(batch, Mapping) or not all(name in batch for name in ("input_ids", "labels", "attention_mask")):
        return None
    parts = [batch[name] for name in ("input_ids", "labels", "attention_mask")]
    if any(getattr(each, "ndim", 0) != 2 for each in parts) or len({tuple(each.shape) for each in parts}) != 1:
        return None
    found = []
    for ids, labels, mask in zip(*(each.tolist() for each in parts)):  # noqa: B905
        real = [(token, label) for token, label, there in zip(ids, labels, mask) if there]  # noqa: B905
        found.append(([token for token, _ in real], [label for _, label in real], len(real) < len(ids)))
    return found
