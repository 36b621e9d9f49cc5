"""Makes docs/gpu-truth.md of what run.sh brought home: each claim of the docs beside its measurement.

    python tools/gpu_truth/report.py [RESULTS | RESULTS.tar.gz ...] > docs/gpu-truth.md

Of several results each becomes a column of its own. Without any, every claim waits for a card.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent


@dataclass
class Card:
    """Results of one machine: step -> what it left."""

    steps: dict[str, dict[str, Any]]

    @property
    def title(self) -> str:
        """The card's name."""
        names = self.steps.get("machine", {}).get("measures", {}).get("names") or ["unknown card"]
        kind = "stand-in for " if self.stands_in else ""
        return f"{kind}{len(names)} x {names[0]}" if len(names) > 1 else f"{kind}{names[0]}"

    @property
    def stands_in(self) -> bool:
        """Whether no card was there."""
        return any(each.get("device_kind") != "cuda" for each in self.steps.values())

    def lines(self) -> list[str]:
        """Driver, date and libraries."""
        machine = self.steps.get("machine", {})
        seen = machine.get("measures", {})
        packages = ", ".join(f"{name} {version}" for name, version in seen.get("packages", {}).items())
        root = "root" if seen.get("root") else "an ordinary user"
        day = str(machine.get("began", ""))[:10] or "unknown day"
        return [f"**{self.title}**: {day}, driver {seen.get('driver', 'unknown')}, as {root}, {packages}."]

    def value(self, measure: str) -> tuple[Any, str]:
        """(what was measured, "") or (None, why there is nothing)."""
        step, _, name = measure.partition(".")
        found = self.steps.get(step)
        if found is None:
            return None, "waits for a card"
        if name in found["measures"]:
            return found["measures"][name], ""
        return None, found["missing"].get(name) or found["why"] or "not measured"


def main(paths: Sequence[str]) -> None:
    """Print the page."""
    cards = [card_of(Path(each)) for each in paths]
    claims = tomllib.loads((HERE / "claims.toml").read_text())["claim"]
    print("# What was measured on GPUs\n")
    print("`tools/gpu_truth/run.sh` measures what the docs claim, on a machine with a GPU, in half an hour and")
    print("without a network. `tools/gpu_truth/report.py` makes this page from its results.\n")
    if not cards:
        print("There are no results yet: every line below waits for a card.\n")
    for card in cards:
        print("\n".join(card.lines()) + "\n")
    print(table(claims, cards))
    for card in cards:
        print(rows_of_memory(card), end="")


def card_of(path: Path) -> Card:
    """What a folder of results or its archive holds.

    Raises:
        SystemExit: there is nothing of the kind.

    """
    texts = archived(path) if path.is_file() else [each.read_text() for each in sorted(path.glob("*/result.json"))]
    steps = {each["step"]: each for each in map(json.loads, texts)}
    if not steps:
        sys.exit(f"{path}: no result.json of any step in it")
    return Card(steps)


def archived(path: Path) -> list[str]:
    """The texts of all results in an archive."""
    with tarfile.open(path) as packed:
        members = [each for each in packed.getmembers() if each.isfile() and each.name.endswith("/result.json")]
        opened = (packed.extractfile(each) for each in members)
        return [each.read().decode() for each in opened if each is not None]


def table(claims: Sequence[Mapping[str, Any]], cards: Sequence[Card]) -> str:
    """A row a claim, a column a card; ✓ where it holds, ✗ where not."""
    heads = [card.title for card in cards] or ["measured"]
    lines = [f"| document | what is measured | claimed | {' | '.join(heads)} |", "| --- " * (3 + len(heads)) + "|"]
    for claim in claims:
        cells = [cell(claim, card) for card in cards] or ["waits for a card"]
        lines.append(f"| {claim['doc']} | {claim['as']} | {bound(claim)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def bound(claim: Mapping[str, Any]) -> str:
    """The claim as a figure."""
    for key, sign in (("at_most", "≤ "), ("at_least", "≥ "), ("equals", "")):
        if key in claim:
            return sign + shown(claim[key], claim)
    return ""


def cell(claim: Mapping[str, Any], card: Card) -> str:
    """The measurement, and whether the claim holds."""
    value, why = card.value(claim["measure"])
    if value is None:
        return f"not known: {why}"
    mark = "" if card.stands_in else "✓ " if holds(claim, value) else "✗ "  # a stand-in bears nothing out
    return mark + shown(value, claim)


def holds(claim: Mapping[str, Any], value: Any) -> bool:
    """Whether a measurement bears a claim out."""
    if "at_most" in claim:
        return bool((abs(value) if claim.get("form") == "percent" else value) <= claim["at_most"])
    if "at_least" in claim:
        return bool(value >= claim["at_least"])
    return bool(value == claim["equals"]) if "equals" in claim else True


def shown(value: Any, claim: Mapping[str, Any]) -> str:
    """A figure as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, dict)):
        return ", ".join(map(str, value)) or "none"
    if claim.get("form") == "percent":
        return f"{100 * value:.1f} %"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def rows_of_memory(card: Card) -> str:
    """The plan against the card, setting by setting."""
    rows = card.steps.get("memory", {}).get("measures", {}).get("rows", [])
    rows = [each for each in rows if "card" in each]
    if not rows:
        return ""
    head = "| setting | card, GiB | estimate | update: tensors, GiB | estimate |\n| --- | ---: | ---: | ---: | ---: |"
    cells = (
        (each["name"], f"{each['card'] / 2**30:.2f}", f"{each['error']:+.1%}", f"{each['update'] / 2**30:.2f}",
         f"{each['update_error']:+.1%}")
        for each in rows
    )  # fmt: skip
    lines = "\n".join(f"| {' | '.join(each)} |" for each in cells)
    return f"\n## Memory on {card.title}\n\n{head}\n{lines}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
