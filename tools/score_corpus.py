#!/usr/bin/env python3
"""Score `doctor postmortem` on a folder of labelled cases.

A case is a folder with log.txt, label.json and, where there is one, context.txt. Right means: every pattern of
`answer_must_match` is found in headline, explanation and remedy of the first finding (quotes never count). Wrong and
confident: not right, confirmed, severity error. Everything else is unknown.

    python tools/score_corpus.py tests/postmortem --at-least 90
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RIGHT, CONFIDENT, UNKNOWN = "right", "wrong but confident", "unknown"


@dataclass(frozen=True)
class Scored:
    """One case: what came out, under which id, and how it was worded."""

    case: str
    area: str
    result: str
    found: str
    words: str
    missing: tuple[str, ...]


def judge(report: dict[str, Any], label: dict[str, Any]) -> tuple[str, str, str, tuple[str, ...]]:
    """(result, id, words, patterns that were not found) of the first finding."""
    if not report["findings"]:
        return UNKNOWN, "none", "", tuple(label["answer_must_match"])
    first = report["findings"][0]
    words = "\n".join((first["headline"], first["explanation"], first["remedy"]["text"], *first["remedy"]["commands"]))
    missing = tuple(each for each in label["answer_must_match"] if not re.search(each, words, re.IGNORECASE))
    if not missing:
        return RIGHT, first["id"], words, ()
    confident = first["confidence"] == "confirmed" and first["severity"] == "error"
    return (CONFIDENT if confident else UNKNOWN), first["id"], words, missing


def score(folder: Path) -> Scored:
    """Run the post-mortem over one case."""
    from doctor.diagnosis.report import as_dict
    from doctor.logs.postmortem import examine

    label = json.loads((folder / "label.json").read_text(encoding="utf-8"))
    context = [folder / "context.txt"] if (folder / "context.txt").is_file() else []
    logs = folder / "logs" if (folder / "logs").is_dir() else folder / "log.txt"
    report = as_dict(examine([str(logs)], context=context, prepared=_prepared()).diagnosis)
    result, found, words, missing = judge(report, label)
    area = (label.get("stack") or ["unknown"])[0]
    return Scored(folder.name, area, result, found, words, missing)


@cache
def _prepared() -> Any:
    from doctor.logs.postmortem import prepare

    return prepare()


def cases_of(folder: Path) -> list[Path]:
    """Folders that hold a labelled case."""
    return sorted(each.parent for each in folder.glob("*/label.json"))


def main() -> int:
    """Print the table; 1 when the share of right answers is below --at-least, or one is wrong and confident."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--allow-confident", action="store_true", help="do not fail on wrong and confident answers")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only cases whose name, stack or id found holds this"
    )
    parser.add_argument("--show", action="store_true", help="print the words of every answer that is not right")
    chosen = parser.parse_args()
    folders = cases_of(chosen.folder)
    if not folders:
        print(f"no labelled case in {chosen.folder}", file=sys.stderr)
        return 2
    with ProcessPoolExecutor() as pool:
        scored = [
            each
            for each in pool.map(score, folders)
            if chosen.only.lower() in f"{each.case} {each.area} {each.found}".lower()
        ]
    _print(scored, show=chosen.show)
    right = 100 * sum(each.result == RIGHT for each in scored) / max(1, len(scored))
    confident = sum(each.result == CONFIDENT for each in scored)
    return int(right < chosen.at_least or (confident > 0 and not chosen.allow_confident))


def _print(scored: list[Scored], *, show: bool) -> None:
    for each in scored:
        if each.result != RIGHT or show:
            print(f"{each.result:20} {each.found:7} {each.case}")
        if show and each.result != RIGHT:
            print("    " + each.words.replace("\n", "\n    "))
            print(f"    not found: {list(each.missing)}")
    areas = sorted({each.area for each in scored})
    print(f"\n{'area':16}{RIGHT:>8}{CONFIDENT:>22}{UNKNOWN:>10}")
    for area in areas:
        counts = Counter(each.result for each in scored if each.area == area)
        print(f"{area:16}{counts[RIGHT]:>8}{counts[CONFIDENT]:>22}{counts[UNKNOWN]:>10}")
    counts = Counter(each.result for each in scored)
    print(
        f"{'all':16}{counts[RIGHT]:>8}{counts[CONFIDENT]:>22}{counts[UNKNOWN]:>10}   "
        f"{100 * counts[RIGHT] / max(1, len(scored)):.1f} % right"
    )


if __name__ == "__main__":
    sys.exit(main())
