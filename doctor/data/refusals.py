"""Under which settings the releases of libraries refuse to start: conditions that their own validators state.

Made by ``tools/build_refusals.py`` from the sources of the releases; a file a library, ``refused/<name>.json.gz``. A
condition is data: ``["n", name]`` is a setting, the other forms are in ``doctor/catalogue/shared/conditions.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from doctor.base.ranges import comparable
from doctor.base.record import record

SCHEMA = "doctor-refusals/1"
_HERE = Path(__file__).parent / "refused"
#: of settings without a default that can be told
NO_DEFAULT = object()


@record
class Refusal:
    """A condition under which a release raises.

    Args:
        condition: as data.
        place: file and line of the newest release that has it, ``trl/trainer/grpo_config.py#L537``; `link` its address,
            "" where the source is no public repository.

    """

    condition: Any
    place: str
    link: str = ""


@cache
def libraries() -> tuple[str, ...]:
    """Names of the libraries that the data know."""
    return tuple(sorted(each.name.removesuffix(".json.gz") for each in _HERE.glob("*.json.gz")))


@cache
def _load(library: str) -> Mapping[str, Any]:
    import gzip

    path = _HERE / f"{library}.json.gz"
    if not path.exists():
        return {"versions": (), "scopes": {}, "every": "release"}
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} has schema {content.get('schema')!r}, expected {SCHEMA!r}")
    return content


def scopes(library: str) -> tuple[str, ...]:
    """Classes, programs or frameworks whose conditions a library has."""
    return tuple(_load(library)["scopes"])


def refusals(library: str, scope: str, version: str) -> Iterator[Refusal]:
    """Conditions that hold for an installed release: of one that was not read, those of both of its neighbours."""
    content = _load(library)
    near = _neighbours(content, version)
    for spans, place, condition in content["scopes"].get(scope, {}).get("rules", ()) if near else ():
        if all(_within(spans, each) for each in near):
            yield Refusal(condition, place, _link(content, spans, place))


def default(library: str, scope: str, version: str, name: str) -> Any:
    """Default of a setting in an installed release; `NO_DEFAULT` where it is none that can be told."""
    content = _load(library)
    near = _neighbours(content, version)
    listed = content["scopes"].get(scope, {}).get("defaults", {}).get(name, ())
    values = [value for spans, value in listed if near and all(_within(spans, each) for each in near)]
    return values[0] if len(values) == 1 else NO_DEFAULT


def _neighbours(content: Mapping[str, Any], version: str) -> tuple[int, ...]:
    """Places of a release among those read: its own, or those before and after it; none for one outside of them.

    Where only the last patch of each minor was read, it stands for all of that minor.
    """
    try:
        asked, listed = comparable(version, content["versions"])
    except ValueError:
        return ()
    if asked in listed:
        return (listed.index(asked),)
    before = sum(each < asked for each in listed) - 1
    if not -1 <= before < len(listed) - 1:
        return ()
    after = listed[before + 1]
    early = not isinstance(asked, tuple) and asked.is_prerelease
    if content["every"] != "release" and _minor(after) == _minor(asked) and not early:
        return (before + 1,)
    return (before, before + 1) if before >= 0 else ()


def _minor(release: Any) -> tuple[int, ...]:
    told = release if isinstance(release, tuple) else release.release
    return (*told, 0, 0)[:2]


def _within(spans: str, position: int) -> bool:
    for each in spans.split(","):
        first, _, last = each.partition("-")
        if int(first) <= position and (not last or position <= int(last)):
            return True
    return False


def _link(content: Mapping[str, Any], spans: str, place: str) -> str:
    """Address of the line in the newest release that has it."""
    tags, source = content.get("tags"), content.get("source", "")
    if not tags or not source:
        return ""
    last = spans.rpartition("-")[2]
    return f"{source}{tags[int(last) if last else len(tags) - 1]}/{place}"
