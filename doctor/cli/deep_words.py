"""What `doctor check --deep` measured, in clauses: TFLOPS and GB/s of each card, against its own peak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.base.ranks import ranks_text
from doctor.base.record import replace
from doctor.facts.deep import Speed
from doctor.sizing.cards import Card, named


def with_speeds(diagnosis: Any, states: Mapping[str, Any]) -> Any:
    """The diagnosis with a clause on each kind of card that was measured."""
    deep, gpus = (states.get(name) for name in ("deep", "gpus"))
    if deep is None or deep.status != "ok" or not deep.value.speeds:
        return diagnosis
    names = {each.index: each.name for each in gpus.value.gpus} if gpus is not None and gpus.status == "ok" else {}
    clauses = (*diagnosis.target.summary, *said(deep.value.speeds, names))
    return replace(diagnosis, target=replace(diagnosis.target, summary=clauses))


def said(speeds: Iterable[Speed], names: Mapping[int, str | None]) -> Iterator[str]:
    """`GPU 0-3 NVIDIA H200: 701 to 718 TFLOPS in bf16 (71 % of 989), 4,120 GB/s (86 % of 4,800)`."""
    groups: dict[tuple[str | None, str], list[Speed]] = {}
    for each in speeds:
        groups.setdefault((names.get(each.gpu), each.dtype), []).append(each)
    for (name, dtype), group in groups.items():
        found = named(name) if name else None
        card = found[1] if found else None
        short = {"bfloat16": "bf16", "float16": "fp16"}.get(dtype, dtype)
        peak = getattr(card, short, None) if card is not None else None
        who = f"GPU {ranks_text(sorted(each.gpu for each in group))}" + (f" {name}" if name else "")
        products = _figures([each.tflops for each in group], peak, f"TFLOPS in {short}")
        yield f"{who}: {products}, {_figures([each.gb_s for each in group], _bandwidth(card), 'GB/s')}"


def _bandwidth(card: Card | None) -> float | None:
    return None if card is None else card.gb_s


def _figures(values: list[float], peak: float | None, unit: str) -> str:
    """Lowest to highest, and the lowest as a share of the card's peak."""
    low, high = (f"{each:,.0f}" if each >= 10 else f"{each:.2g}" for each in (min(values), max(values)))
    told = f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
    return f"{told} ({100 * min(values) / peak:.0f} % of {peak:,.0f})" if peak else told
