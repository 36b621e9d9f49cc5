#!/usr/bin/env python3
"""Score `doctor postmortem` on one half of the pool of cases from public threads.

Right: the first finding's id is one of the label's `expected`, or every pattern of `answer_must_match` is found in its
headline, explanation and remedy. Otherwise: unknown (no finding, or one that says that the cause is unknown, whatever
its words hold), wrong and confident (confirmed, severity error), wrong (all else). It judges by the label alone; a
person reads the answers.

    python tools/score_pool.py --half 1 --answers answers.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from score_corpus import _prepared, cases_of
from score_corpus import judge as by_words

POOL = Path(__file__).resolve().parent.parent / "tests" / "pool"
RESULTS = ("right", "unknown", "wrong", "wrong and confident")


@dataclass(frozen=True)
class Answer:
    """One case: what its label says of it, and what the doctor said first."""

    case: str
    kind: str
    topic: str
    static: bool
    result: str
    found: str
    certainty: str
    words: str
    others: tuple[str, ...]


def verdict(report: dict[str, Any], label: dict[str, Any]) -> str:
    """One of RESULTS for the first finding of a report."""
    if not report["findings"]:
        return "unknown"
    first = report["findings"][0]
    if first["id"] in label["expected"]:
        return "right"
    if first["id"].startswith("UNK"):
        return "unknown"
    if by_words(report, label)[0] == "right":
        return "right"
    return "wrong and confident" if (first["confidence"], first["severity"]) == ("confirmed", "error") else "wrong"


def answer(folder: Path) -> Answer:
    """Run the post-mortem over one case."""
    from doctor.diagnosis.report import as_dict
    from doctor.logs.postmortem import examine

    label = json.loads((folder / "label.json").read_text(encoding="utf-8"))
    context = [folder / "context.txt"] if (folder / "context.txt").is_file() else []
    report = as_dict(examine([str(folder / "log.txt")], context=context, prepared=_prepared()).diagnosis)
    _, found, words, _ = by_words(report, label)
    first = report["findings"][0] if report["findings"] else {"confidence": "", "severity": ""}
    certainty = f"{first['confidence']} {first['severity']}".strip()
    others = tuple(each["id"] for each in report["findings"][1:])
    kind, topic, static = label["kind"], label["topic"], bool(label.get("static"))
    return Answer(folder.name, kind, topic, static, verdict(report, label), found, certainty, words, others)


def main() -> int:
    """Print the table of one half; 2 when there is no case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=POOL)
    parser.add_argument("--half", type=int, required=True)
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write every answer to this file, to be read")
    chosen = parser.parse_args()
    folders = [each for each in cases_of(chosen.folder) if _half(each) == chosen.half]
    if not folders:
        print(f"no labelled case of half {chosen.half} in {chosen.folder}", file=sys.stderr)
        return 2
    with ProcessPoolExecutor() as pool:
        answers = list(pool.map(answer, folders))
    if chosen.answers:
        chosen.answers.write_text(json.dumps([asdict(each) for each in answers], indent=1, ensure_ascii=False), "utf-8")
    _print(answers)
    return 0


def _half(folder: Path) -> int:
    return int(json.loads((folder / "label.json").read_text(encoding="utf-8")).get("half", 0))


def _print(answers: list[Answer]) -> None:
    for each in answers:
        if each.result != "right":
            print(f"{each.result:20} {each.found:7} {each.kind:7} {each.topic:14} {each.case}")
    _table("kind", [(each.kind, each.result) for each in answers])
    _table("topic", [(each.topic, each.result) for each in answers])
    _table("static", [("decidable" if each.static else "not", each.result) for each in answers])


def _table(title: str, rows: list[tuple[str, str]]) -> None:
    counts = Counter(rows)
    print(f"\n{title:16}" + "".join(f"{each:>22}" for each in RESULTS) + f"{'of':>6}")
    for name in [*sorted({name for name, _ in rows}), "all"]:
        numbers = [sum(n for (row, each), n in counts.items() if each == r and name in (row, "all")) for r in RESULTS]
        print(f"{name:16}" + "".join(f"{n:>22}" for n in numbers) + f"{sum(numbers):>6}")


if __name__ == "__main__":
    sys.exit(main())
