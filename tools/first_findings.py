#!/usr/bin/env python3
"""Write down what the doctor says of every sample and case, and compare two such records.

Before the catalogue is rearranged, and after it:

    python tools/first_findings.py write before.json [FOLDER OF LOGS ...]
    python tools/first_findings.py write after.json [FOLDER OF LOGS ...]
    python tools/first_findings.py compare before.json after.json

A sample is known by its content, so that it may be moved. Two records are equal where every first finding says the same
words with the same commands, severity, confidence, role and versions, under the same id or the successor that
`doctor/catalogue/retired_ids.py` names; so are all findings of a case of `tests/checks`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
TESTS = ROOT / "tests"


@cache
def _prepared() -> Any:
    from doctor.logs.postmortem import prepare

    return prepare()


def _told(finding: Any) -> dict[str, Any]:
    words = {language: list(vars(finding.words(language)).values()) for language in ("en", "zh")}
    return {
        "id": finding.problem.id, "words": words, "commands": list(finding.commands), "links": list(finding.links),
        "severity": finding.severity.value, "confidence": finding.confidence.value, "role": finding.role.value,
        "affects": dict(finding.problem.affects), "ends_run": finding.problem.ends_run,
    }  # fmt: skip


def _of_log(job: tuple[str, str, list[str], dict[str, str]]) -> tuple[str, dict[str, Any]]:
    """What the post-mortem says first of a log, and the ids of all that it says."""
    from doctor.logs.postmortem import examine

    name, path, context, versions = job
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(each) for each in context]
        if versions:
            listing = Path(folder, "versions.txt")
            rows = "".join(f"{name} {version}\n" for name, version in versions.items())
            listing.write_text(f"Package Version\n------- -------\n{rows}")
            paths.append(listing)
        result = examine([path], context=paths, prepared=_prepared())
    findings = result.diagnosis.outcome.findings
    key = hashlib.sha1(b"\0".join(each.read_bytes() for each in (Path(path), *map(Path, context)))).hexdigest()  # noqa: S324
    return f"log {key} {sorted(versions.items())}", {
        "name": name, "verdict": result.diagnosis.verdict, "first": _told(findings[0]) if findings else None,
        "all": sorted({each.problem.id for each in findings}),
    }  # fmt: skip


def _logs(folders: list[Path]) -> Iterator[tuple[str, str, list[str], dict[str, str]]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    for sources in sorted((TESTS / "signatures").rglob("sources.toml")):
        told = tomllib.loads(sources.read_text(encoding="utf-8"))
        for path in sorted(sources.parent.glob("*.log")):
            context = [str(each) for each in [path.with_suffix(".context.txt")] if each.is_file()]
            versions = told.get(path.stem, {}).get("versions", {})
            yield str(path.relative_to(TESTS / "signatures")), str(path), context, versions
    for folder in [TESTS / "postmortem", *folders]:
        for path in sorted(each for each in folder.rglob("*") if each.suffix in (".log", ".txt") and each.is_file()):
            if path.name != "context.txt":
                context = [str(each) for each in [path.parent / "context.txt"] if each.is_file()]
                yield f"{folder.name}/{path.relative_to(folder)}", str(path), context, {}


def _of_case(job: tuple[str, str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """What the check of a problem says of a case."""
    from tests.checks.cases import run_case
    from tests.checks.test_cases import ENTRIES

    stem, name, case = job
    key = hashlib.sha1(json.dumps(case, sort_keys=True, default=str).encode()).hexdigest()  # noqa: S324
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_case(ENTRIES[stem], json.loads(json.dumps(case, default=str)), Path(folder))
        said = json.loads(json.dumps([_told(each) for each in outcome.findings]).replace(folder, "/folder"))
        reasons = sorted({each.reason.replace(folder, "/folder") for each in outcome.skipped})
    return f"case {name} {key}", {"name": f"{stem} {name}", "found": said, "skipped": reasons}


def _cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    from tests.case_files import read_cases

    for path in sorted((TESTS / "checks").rglob("*.yaml")):
        problem_id = path.relative_to(TESTS / "checks").with_suffix("").as_posix()
        for name, case in read_cases(path).items():
            yield problem_id, name, case


def write(out: Path, folders: list[Path]) -> None:
    """Ask the doctor about every sample and case, and write its answers to a file of JSON."""
    with ProcessPoolExecutor() as pool:
        answers = dict(pool.map(_of_case, _cases(), chunksize=20))
        answers |= dict(pool.map(_of_log, _logs(folders), chunksize=20))
    out.write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True), encoding="utf-8")


def compare(before: Path, after: Path) -> int:
    """Print each difference that the map of retired ids does not account for; 1 when there is one."""
    old, new = (json.loads(each.read_text(encoding="utf-8")) for each in (before, after))
    differences = 0
    for key, was in sorted(old.items(), key=lambda each: each[1]["name"]):
        now = new.get(key)
        if now is None:
            print(f"{was['name']}: is not there any more")
        elif (one := _without_retired(was, was)) != (other := _without_retired(now, was)):
            print(f"{was['name']} -> {now['name']}: {_first_difference(one, other)}")
        else:
            continue
        differences += 1
    print(f"{len(old)} samples and cases, {differences} differences, {len(new.keys() - old.keys())} new")
    return int(differences > 0)


def _without_retired(answer: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """An answer with the successors of retired ids, without the name of its sample.

    A problem that became a table keeps its id; its rows count as what it was `before`.
    """
    from doctor.catalogue.retired_ids import RETIRED

    kept = {each["id"] for each in (before.get("first"), *before.get("found", ())) if each} - RETIRED.keys()

    def follow(told: dict[str, Any] | None) -> dict[str, Any] | None:
        if told is None:
            return None
        table = told["id"].partition("/")[0]
        return {**told, "id": table if table in kept else RETIRED.get(told["id"], told["id"])}

    out = {key: value for key, value in answer.items() if key not in ("name", "all")}
    if "first" in out:
        out["first"] = follow(out["first"])
    if "found" in out:
        out["found"] = [follow(each) for each in out["found"]]
    return out


def _first_difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    for key, value in one.items():
        theirs = other.get(key)
        if value == theirs:
            continue
        if isinstance(value, dict) and isinstance(theirs, dict):
            return f"{key}.{_first_difference(value, theirs)}"
        return f"{key}: {json.dumps(value, ensure_ascii=False)[:300]} -> {json.dumps(theirs, ensure_ascii=False)[:300]}"
    return "there is more"


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("out", type=Path)
    writing.add_argument("folders", type=Path, nargs="*")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "compare":
        return compare(chosen.before, chosen.after)
    write(chosen.out, chosen.folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
