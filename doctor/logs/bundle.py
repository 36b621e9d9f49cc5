"""A redacted archive to attach to an issue: the report, the relevant parts of the logs, the context."""

from __future__ import annotations

import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any

from doctor.core.redact import redact_text
from doctor.logs.case import Case
from doctor.logs.reading import lines_of

_AROUND = 60  # lines before and after each place that matters
_ENDS = 200  # lines kept at the head and at the end of every log
_LONGEST_LINE = 4_000


def write(case: Case, report: dict[str, Any], path: Path) -> None:
    """Write a .tar.gz; nothing in it is a secret that the doctor can recognise.

    Raises:
        OSError: it cannot be written.

    """
    import gzip

    with (
        path.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        _add(archive, "report.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        if case.given.text:
            _add(archive, "context.txt", redact_text(case.given.text))
        for index, source in enumerate(case.sources):
            name = f"logs/{index:03d}-{Path(source.path).name if source.path != '-' else 'stdin.log'}"
            plain = redact_text(name).removesuffix(".gz").removesuffix(".zst").removesuffix(".xz")
            _add(archive, plain, _cut(case, index))


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode("utf-8", "replace")
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(data), int(time.time()), 0o644
    archive.addfile(info, io.BytesIO(data))


def _cut(case: Case, index: int) -> str:
    """The head, the end, and what surrounds every failure and exit of one log; left-out lines are counted."""
    lines = lines_of(case, index)
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
    out: list[str] = []
    last = 0
    for position in sorted(wanted):
        number, text = lines[position]
        if number > last + 1:
            out.append(f"... {number - last - 1} lines left out ...")
        out.append(redact_text(text[:_LONGEST_LINE]))
        last = number
    return "\n".join(out) + "\n"
