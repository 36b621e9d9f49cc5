#!/usr/bin/env python3
"""Count broken runs that `doctor postmortem` calls "Healthy", and healthy runs that it accuses.

Broken: labelled cases (half 1 of tests/pool, tests/postmortem, tests/witness/threads) and the spoilt runs of the real
TRL in tests/rules/runs. Healthy: labels that say so, tests/healthy, and the runs there that are well. Silent cases are
judged a second time as runs that came to their end, for most threads quote a few lines from the middle, of which nobody
says "Healthy" anyway.

    python tools/score_healthy.py [--more FOLDER ...] [--healthy FOLDER ...] [--at-most PERCENT]

A folder given by `--more` holds labelled cases, one by `--healthy` logs of runs that are well.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from score_corpus import _prepared, cases_of

TESTS = Path(__file__).resolve().parent.parent / "tests"
LABELLED = (TESTS / "pool", TESTS / "postmortem", TESTS / "witness" / "threads")
RUNS, WELL = TESTS / "rules" / "runs", TESTS / "healthy"
#: what many programs print when a run has come to its end; no metric stands in it
END = b"Training completed\n"


@dataclass(frozen=True)
class Run:
    """One log: whether it is of a healthy run, and whether an end is put behind it."""

    name: str
    log: Path
    context: Path | None
    well: bool
    ended: bool = False


@dataclass(frozen=True)
class Word:
    """What was said of a run."""

    run: Run
    verdict: str
    found: tuple[str, ...]
    not_seen: tuple[str, ...]
    unjudged: tuple[str, ...]


def labelled(folder: Path) -> Iterator[Run]:
    """The labelled cases of a folder; of the pool the first half alone."""
    for case in cases_of(folder):
        label = json.loads((case / "label.json").read_text(encoding="utf-8"))
        log = case / "logs" if (case / "logs").is_dir() else case / "log.txt"
        if not log.exists():
            continue
        context = case / "context.txt"
        kind = label.get("kind", "")
        run = Run(case.name, log, context if context.is_file() else None, kind == "healthy")
        yield run
        if kind in ("silent", "healthy") and log.is_file():
            yield Run(f"{run.name}, ended", log, run.context, run.well, ended=True)


def recorded() -> Iterator[Run]:
    """Runs of the real TRL, spoilt and well, and the logs of healthy runs."""
    for log in sorted(RUNS.glob("*.log.gz")):
        yield Run(log.name, log, None, log.name.startswith("healthy-"), ended=True)


def logs_in(folder: Path) -> Iterator[Run]:
    """Logs of runs that are well."""
    for log in sorted(folder.glob("*.log*")):
        yield Run(log.name, log, None, well=True)


def word_on(run: Run) -> Word:
    """Ask the post-mortem about one run."""
    from doctor.diagnosis.report import as_dict
    from doctor.logs.postmortem import examine

    context = [run.context] if run.context else []
    with tempfile.TemporaryDirectory() as folder:
        log = run.log
        if run.ended:
            data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
            log = Path(folder) / "train.log"
            log.write_bytes(data if b"train_runtime" in data else data.rstrip(b"\n") + b"\n" + END)
        report = as_dict(examine([str(log)], context=context, prepared=_prepared()).diagnosis)
    found = tuple(each["id"] for each in report["findings"] if each["severity"] != "info")
    judged = report.get("judged") or {"not_seen": (), "unjudged": ()}
    return Word(run, report["verdict"], found, tuple(judged["not_seen"]), tuple(judged["unjudged"]))


def accused(word: Word) -> bool:
    """Whether a problem is named; that a log breaks off or does not show an end is no accusation."""
    return any(not each.startswith("UNK") for each in word.found)


def main() -> int:
    """Print both lists and the shares; 1 where more than --at-most of the broken runs are called healthy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--more", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--healthy", type=Path, nargs="*", default=[], metavar="FOLDER")
    parser.add_argument("--at-most", type=float, default=2.0, metavar="PERCENT")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose path holds this")
    parser.add_argument("--all", action="store_true", help="print what is said of every run")
    chosen = parser.parse_args()
    runs = [run for folder in (*LABELLED, *chosen.more) for run in labelled(folder)]
    runs += [*recorded(), *(run for folder in (WELL, *chosen.healthy) for run in logs_in(folder))]
    runs = [run for run in runs if chosen.only in str(run.log)]
    with ProcessPoolExecutor(2) as pool:
        words = list(pool.map(word_on, runs))
    return _print(words, chosen.at_most, everything=chosen.all)


def _print(words: list[Word], most: float, *, everything: bool) -> int:
    broken, well = [each for each in words if not each.run.well], [each for each in words if each.run.well]
    called = [each for each in broken if each.verdict == "healthy"]
    for each in words if everything else []:
        state = "well" if each.run.well else "broken"
        print(f"{each.verdict:8} {' '.join(each.found) or '-':24} {state:7} {each.run.name}")
    for each in called:
        print(f'called "Healthy": {each.run.name}; not seen: {", ".join(each.not_seen) or "-"}')
    for each in well:
        if accused(each):
            print(f"accused: {each.run.name}: {' '.join(each.found)}")
    share = 100 * len(called) / max(1, len(broken))
    print(f'{len(called)} of {len(broken)} broken runs are called "Healthy": {share:.1f} %')
    print(f"  wanted: {most:g} % at most")
    ended = [each for each in broken if each.run.ended]
    print(f"  of them {sum(each.run.ended for each in called)} of {len(ended)} silent ones that came to their end")
    named = sum(accused(each) for each in ended)
    print(f"  of these {named} are accused of something, {len(ended) - named} of nothing")
    print(f"{sum(map(accused, well))} of {len(well)} healthy runs are accused")
    return int(share > most)


if __name__ == "__main__":
    sys.exit(main())
