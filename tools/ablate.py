#!/usr/bin/env python3
"""Switch off one mechanism of the post-mortem after the other, and count the labelled cases that it decides.

A case is decided by a mechanism if its first finding is right with it and not right without it. `worse without` counts
those, `better without` the other way round: cases that the mechanism spoils.

    python tools/ablate.py tests/pool tests/logs/drawn tests/witness/threads [--only WORD] [--answers answers.json]
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from score_corpus import cases_of
from score_pool import answer


class Mechanism(NamedTuple):
    """A part that can be taken out.

    Args:
        name: as the table prints it.
        place: "module:attribute" through which it is called.
        without: what is called in its place.

    """

    name: str
    place: str
    without: Callable[..., Any]


def _of_signatures(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda case, _hits, _counts, catalogue, beyond: original(case, [], {}, catalogue, beyond)


def _same(first: Any, *_: Any, **__: Any) -> tuple[Any, tuple[()]]:
    return first, ()


MECHANISMS = (
    Mechanism("signatures", "doctor.logs.postmortem:judge", _of_signatures),
    Mechanism("checks over what the log tells", "doctor.logs.verdict:joined", _same),
    Mechanism("exceptions that Python words about values", "doctor.logs.failures.wordings:shown_by", lambda *_: None),
    Mechanism("the parallel layout against exceptions", "doctor.logs.failures.beside.layouts:told", _same),
    Mechanism("sides of two sizes", "doctor.logs.failures.beside.sides:told", lambda findings, *_: tuple(findings)),
    Mechanism("switches that name the code", "doctor.logs.failures.beside.switches:that_name", lambda *_: ()),
    Mechanism("ways that part before one collective", "doctor.logs.stacks.judged:_parted", lambda *_: []),
    Mechanism("shapes and sizes in messages", "doctor.logs.failures.mismatches:told", _same),
    Mechanism("what the program itself says", "doctor.logs.failures.spoken:told", _same),
    Mechanism("laws over whole courses and excerpts", "doctor.logs.metrics.courses:judged", lambda *_, **__: ((), ())),
    Mechanism("last lines before ranks part", "doctor.logs.failures.waiting.parted:_last_words", lambda *_: ""),
    Mechanism("loops that change nothing, means of means", "doctor.readers.script.idioms:in_loops", lambda *_: ()),
    Mechanism("metrics in plain words", "doctor.logs.metrics.plain:read", lambda *_: []),
    Mechanism("rules over metrics", "doctor.logs.metrics.live:rules", list),
    Mechanism("idioms of pasted code", "doctor.readers.script.script_reader:idioms_in", lambda *_, **__: {}),
    Mechanism("source where the line was raised", "doctor.logs.source.told:told", lambda findings, *_: findings),
    Mechanism("what a process recorded as the first", "doctor.logs.verdict:recorded", lambda *_, **__: None),
    Mechanism("messages broken over lines", "doctor.logs.failures.wrapped:hits_in", lambda *_, **__: []),
    Mechanism("messages without their type", "doctor.logs.failures.typeless:hits_in", lambda *_, **__: []),
    Mechanism("errors reported again and again", "doctor.logs.verdict:repeated", lambda *_, **__: None),
)


def right_in(folders: list[Path], mechanism: Mechanism | None) -> dict[str, str]:
    """Result of every case, without a mechanism if one is given."""
    with ProcessPoolExecutor(
        mp_context=multiprocessing.get_context("fork"), initializer=_take_out, initargs=(mechanism,)
    ) as pool:
        return {str(folder): each.result for folder, each in zip(folders, pool.map(answer, folders), strict=True)}


def _take_out(mechanism: Mechanism | None) -> None:
    if mechanism is None:
        return
    module, _, attribute = mechanism.place.partition(":")
    place = importlib.import_module(module)
    without = mechanism.without
    setattr(place, attribute, without(getattr(place, attribute)) if without is _of_signatures else without)


def main() -> int:
    """Print the table; 2 when there is no case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="mechanisms whose name holds this")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write the cases of each mechanism to this file")
    chosen = parser.parse_args()
    folders = [each for folder in chosen.folders for each in cases_of(folder)]
    if not folders:
        print("no labelled case", file=sys.stderr)
        return 2
    whole = right_in(folders, None)
    print(f"{len(folders)} cases, {sum(each == 'right' for each in whole.values())} right with everything\n")
    print(f"{'mechanism':40}{'worse without':>15}{'better without':>16}")
    decided: dict[str, list[str]] = {}
    for each in MECHANISMS:
        if chosen.only not in each.name:
            continue
        found = right_in(folders, each)
        worse = [case for case in whole if whole[case] == "right" != found[case]]
        better = [case for case in whole if whole[case] != "right" == found[case]]
        decided[each.name] = worse
        print(f"{each.name:40}{len(worse):>15}{len(better):>16}", flush=True)
    if chosen.answers:
        chosen.answers.write_text(json.dumps(decided, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
