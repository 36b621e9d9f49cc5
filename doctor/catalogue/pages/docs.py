"""The documentation of the catalogue: one page a problem, and a list of all; made for the wheel and the site."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from doctor.catalogue.index import Entry, load, problems
from doctor.catalogue.manual import Manual, manual
from doctor.catalogue.problem import AREAS


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    entries = problems()
    out = {"README.md": _index(entries)}
    for entry in entries:
        out[f"{entry.id}.md"] = page(entry)
    return out


def page(entry: Entry) -> str:
    """One problem's page; on that of a table each row has a part."""
    lines = _head(entry, f"# {entry.id} {entry.name}")
    lines += _sections(manual(entry), "##")
    whole = manual(entry).sections
    for row in (each for each in load() if each.id in entry.rows):
        lines += ["", *_head(row, f"## {row.id}")]
        told = manual(row)
        own = {name: text for name, text in told.sections.items() if text != whole.get(name)}
        lines += _sections(Manual(told.title, own), "###")
    return "\n".join(lines).rstrip() + "\n"


def _head(entry: Entry, heading: str) -> list[str]:
    affects = ", ".join(f"{name} `{spec}`" for name, spec in entry.affects.items())
    lines = [
        heading,
        "",
        f"**{entry.title}.**",
        "",
        f"Severity: {entry.severity.value}. Since {entry.since}.{'' if entry.ends_run else ' No run ends of it.'}",
    ]
    return lines + ([f"Affects: {affects}."] if affects else [])


def _sections(text: Manual, level: str) -> list[str]:
    lines: list[str] = []
    for heading, section in text.sections.items():
        told = section
        if heading == "References":
            told = "\n".join(f"- <{line}>" if line.startswith("http") else line for line in section.splitlines())
        lines += ["", f"{level} {heading}", "", told]
    return lines


def _index(entries: tuple[Entry, ...]) -> str:
    lines = [
        "# Problems",
        "",
        f"The {len(entries)} problems that the doctor knows. `doctor explain ID` prints the same pages.",
        "",
    ]
    for area in AREAS:
        of_area = [entry for entry in entries if entry.area == area]
        if not of_area:
            continue
        lines += [f"## {area}", "", "| id | severity | problem |", "|---|---|---|"]
        lines += [f"| [{each.id}]({each.id}.md) | {each.severity.value} | {each.title} |" for each in of_area]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def stale(folder: Path, wanted: Mapping[str, str]) -> list[Path]:
    """Pages in `folder` that are missing, changed or left over."""
    there = {path.name for path in folder.glob("*.md")}
    old = [folder / name for name in sorted(there - wanted.keys())]
    return old + [
        folder / name
        for name, text in wanted.items()
        if name not in there or (folder / name).read_text(encoding="utf-8") != text
    ]


def write(folder: Path, wanted: Mapping[str, str]) -> None:
    """Write the pages and remove those of problems that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale(folder, wanted):
        path.unlink(missing_ok=True)
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
