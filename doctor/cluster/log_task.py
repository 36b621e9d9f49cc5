"""On a node of a Ray cluster: reads logs where they lie, and gives back what they say.

It is carried to the nodes together with `doctor.logs`, which asks for Python 3.10; this module itself keeps to Python
3.9, so that it can say so.
"""

from __future__ import annotations

import base64
import os
import pickle
import sys
import zlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

#: beside the carried package: the signatures of the catalogue
SIGNATURES = "_signatures.json"
_LEAST = (3, 10)


def read(arguments: dict[str, Any]) -> dict[str, Any]:
    """Read some logs, or ranges of large ones.

    Args:
        arguments: "settings" (year, brief, rows), "every_metric" (they are for a table) and "item": a list of
            {"file": [path, bytes, time of change in ns]} with "names" (fields of each `LogSource`) or "range" ([start,
            end]).

    Returns:
        {"unfit": why nothing can be read by this Python} or {"results": packed list with None for what lies elsewhere,
        "absent": how many paths do not exist here, "other": how many hold something else, "engine": name}.

    """
    if sys.version_info < _LEAST:
        return {"unfit": f"Python {sys.version_info[0]}.{sys.version_info[1]}"}
    reader = _reader(tuple(sorted(arguments["settings"].items())), every_metric=arguments["every_metric"])
    results: list[Any] = []
    absent = other = 0
    for each in arguments["item"]:
        seen = _seen(each["file"][0])
        absent += seen is None
        other += seen is not None and seen != each["file"]
        results.append(_read(reader, each) if seen == each["file"] else None)
    with suppress(OSError):  # what was in it travels in memory, and Ray kills the process that made it
        os.rmdir(reader.scanner.folder)  # noqa: PTH106 - may be no path at all
    return {
        "results": packed(results), "absent": absent, "other": other, "engine": reader.scanner.matcher().engine.name,
    }  # fmt: skip


def _seen(path: str) -> Optional[list[Any]]:
    """What lies here under a path, as the asker describes files; None where nothing does."""
    try:
        status = os.stat(path)  # noqa: PTH116 - one of thousands
    except OSError:
        return None
    return [path, status.st_size, status.st_mtime_ns]


def _read(reader: Any, each: dict[str, Any]) -> Any:
    from doctor.logs.read.layouts import LogSource
    from doctor.logs.read.parallel import FileRange

    if "range" in each:
        hits = reader(FileRange(each["file"][0], *each["range"]))
        hits.collected = {name: [told.inlined() for told in found] for name, found in hits.collected.items()}
        return hits
    readings = reader.log(each["file"][0], tuple(LogSource(*fields) for fields in each["names"]))
    for reading in readings:
        reading.told = tuple(told.inlined() for told in reading.told[0]), reading.told[1]
    return readings


@lru_cache(maxsize=1)
def _reader(settings: tuple[tuple[str, Any], ...], *, every_metric: bool) -> Any:
    """The reader, made once in each process that Ray keeps for these tasks."""
    import doctor
    from doctor.logs.match.signatures import from_json
    from doctor.logs.read.log import Reader, ReadSettings
    from doctor.logs.read.scan import Scanner

    signatures = from_json((Path(doctor.__path__[0]) / SIGNATURES).read_bytes())
    scanner = Scanner(signatures)
    return Reader(scanner.for_a_table() if every_metric else scanner, ReadSettings(**dict(settings)))


def packed(results: list[Any]) -> str:
    """Results as text: our own objects, from our own code on a node of the user's cluster, through Ray's channels."""
    return base64.b85encode(zlib.compress(pickle.dumps(results, protocol=4), 1)).decode()


def unpacked(text: str) -> list[Any]:
    """What `packed` was given."""
    results: list[Any] = pickle.loads(zlib.decompress(base64.b85decode(text)))  # noqa: S301 - see `packed`
    return results
