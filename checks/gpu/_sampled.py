"""How findings about the cards of a run are told: few of them one by one, many together with their machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Where
from doctor.facts.sampled import SampledEvent, SampledGpu

#: cards with the same problem that have a finding each
FEW = 4
_SHOWN = 8


def alone(card: SampledGpu | SampledEvent, source: str, text: str) -> dict[str, Any]:
    """Place and evidence of a finding about one card, for ``found(..., **alone(...))``."""
    return {"where": Where(gpu=card.index, host=card.host), "evidence": (Observed.quoted(source, text),)}


def together(cards: Sequence[tuple[SampledGpu | SampledEvent, str]], source: str) -> dict[str, Any]:
    """The same of many cards, each with its text, the worst first; their machines are named with ranges folded."""
    hosts = tuple(sorted({card.host for card, _ in cards if card.host is not None}))
    evidence = [Observed.quoted(source, f"GPU {card.label}: {text}") for card, text in cards[:_SHOWN]]
    if len(cards) > _SHOWN:
        evidence.append(Observed.quoted("...", f"+{len(cards) - _SHOWN}"))
    return {"where": Where(host=hosts[0] if hosts else None), "evidence": tuple(evidence), "nodes": hosts}
