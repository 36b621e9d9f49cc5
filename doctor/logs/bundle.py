"""A redacted archive to attach to an issue: the report, the relevant parts of the logs, the context.

Of thousands of logs those that matter come first: those that the report cites, then those of the processes that failed,
the earliest first. What finds no room is counted and named in `left-out.txt`.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from doctor.base.json_text import json_text
from doctor.base.key_blocks import hide_in_lines
from doctor.base.redact import redact, redact_lines, redact_text
from doctor.base.whole_file import whole
from doctor.logs.capsules import looks
from doctor.logs.capsules.read import Capsules
from doctor.logs.failures.case import Case
from doctor.logs.read.log import lines_of

_AROUND = 60  # lines before and after each place that matters
_ENDS = 200  # lines kept at the head and at the end of every log
_LONGEST_LINE = 4_000
_MOST_BYTES = 48 << 20  # of log parts before packing: some 5 MB behind it, as much as issue trackers take
_MOST_LOGS = 500
_MOST_CAPSULES, _MOST_LOOKS = 64, 128


def write(case: Case, report: dict[str, Any], path: Path, held: Capsules | None = None,
          runs: Iterable[str] = ()) -> int:  # fmt: skip
    """Write a .tar.gz; nothing in it is a secret that the doctor can recognise.

    Args:
        case: what was read.
        report: of it.
        path: to write.
        held: capsules that were read.
        runs: run folders, whose looks at a run that stood still go with it.

    Returns:
        How many logs were left out.

    Raises:
        OSError: it cannot be written.

    """
    import gzip

    with (
        whole(path) as place,
        place.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        _add(archive, "report.json", json_text(report, indent=1) + "\n")
        if case.given.text:
            _add(archive, "context.txt", redact_text(case.given.text))
        left_out = _add_logs(archive, case, report)
        for capsule in held.capsules[:_MOST_CAPSULES] if held is not None else ():
            _add_json(archive, f"capsules/{Path(capsule.path).name}", Path(capsule.path))
        for name, file in looks.files_of(runs, _MOST_LOOKS):
            _add_json(archive, f"{looks.FOLDER}/{name}", file)
        if left_out:
            _add(archive, "left-out.txt", "".join(f"{each}\n" for each in left_out))
    return len(left_out)


def _add_logs(archive: tarfile.TarFile, case: Case, report: dict[str, Any]) -> list[str]:
    """Add parts of logs while there is room; a line for each log that was left out."""
    left_out: list[str] = []
    names: dict[str, str] = {}  # file -> its name in the archive; links to one file are added once
    width = max(3, len(str(len(case.sources) - 1)))
    size = 0
    for index in _by_importance(case, report):
        path = case.sources[index].path
        real = os.path.realpath(path)
        if real in names:
            left_out.append(redact_text(f"{path}: the same file as {names[real]}"))
        elif size >= _MOST_BYTES or len(names) >= _MOST_LOGS:
            left_out.append(redact_text(path))
        else:
            name = f"logs/{index:0{width}d}-{Path(path).name if path != '-' else 'stdin.log'}"
            names[real] = redact_text(name).removesuffix(".gz").removesuffix(".zst").removesuffix(".xz")
            text = _cut(case, index)
            size += len(text)
            _add(archive, names[real], text)
    return left_out


def _by_importance(case: Case, report: dict[str, Any]) -> list[int]:
    """Positions of the logs: cited by findings, then by the time of their first failure or exit, then the rest."""
    cited: dict[str, int] = {}
    for place in _cited(report):
        cited.setdefault(place, len(cited))
    first: dict[int, tuple[int, int, int]] = {}
    for line in [*(each.first for each in case.failures), *(each.line for each in case.exits)]:
        key = case.key(line.source, line.number)
        first[line.source] = min(key, first.get(line.source, key))

    def importance(index: int) -> tuple[int, bool, tuple[int, int, int], int]:
        number = cited.get(redact_text(case.sources[index].path), len(cited))
        return number, index not in first, first.get(index, (0, 0, 0)), index

    return sorted(range(len(case.sources)), key=importance)


def _cited(report: dict[str, Any]) -> Iterator[str]:
    """Files that findings name, the causes first as they stand in the report."""
    for finding in report["findings"]:
        if file := (finding.get("where") or {}).get("file"):
            yield file


def _add_json(archive: tarfile.TarFile, name: str, path: Path) -> None:
    """A file of ours, redacted once more; what is no JSON is left out."""
    try:
        data = redact(json.loads(path.read_text(encoding="utf-8", errors="replace")))
    except (OSError, ValueError, RecursionError):
        return
    _add(archive, name, json_text(data) + "\n")


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8", "replace")
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), int(time.time()), 0o644
    archive.addfile(info, io.BytesIO(data))


def _cut(case: Case, index: int) -> str:
    """The head, the end, and what surrounds every failure and exit of one log; left-out lines are counted."""
    lines = hide_in_lines(lines_of(case, index))
    wanted = set(range(min(_ENDS, len(lines)))) | set(range(max(0, len(lines) - _ENDS), len(lines)))
    places = [
        number for each in case.failures if each.first.source == index for number in (each.first.number, each.last_line)
    ]
    places += [each.line.number for each in case.exits if each.line.source == index]
    positions = {number: position for position, (number, _) in enumerate(lines)}
    for number in places[:500]:
        here = positions.get(number)
        if here is not None:
            wanted |= set(range(max(0, here - _AROUND), min(len(lines), here + _AROUND)))
    stretches: list[list[str]] = [[]]
    last = 0
    for position in sorted(wanted):
        number, text = lines[position]
        if number > last + 1:
            stretches += [[f"... {number - last - 1} lines left out ..."], []]
        stretches[-1].append(text[: 2 * _LONGEST_LINE].replace("\n", " "))
        last = number
    # together, for a secret may stand below its name
    out = [each[:_LONGEST_LINE] for stretch in stretches if stretch for each in redact_lines(stretch)]
    return "\n".join(out) + "\n"
