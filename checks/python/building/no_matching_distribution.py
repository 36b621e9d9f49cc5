"""Judges no-matching-distribution (PYT028), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
UNREACHED = TOML["unreached"]
UV = TOML["uv"]


_NAME = re.compile(r"[\-_.]+")


_ONLINE = (
    (
        "The name is misspelt or has another form there, the mirror lacks it (mirrors lag behind, and some leave out "
        "pre-releases and large wheels), or it stands on an index that was not named or wants a login. "
    ),
    "名称有误或在该处写法不同,镜像没有它(镜像会滞后,有的不含预发布版本和大型 wheel),或它在未指定或需要登录的索引上。",
)
_OFFLINE = (
    "The network is switched off for uv (`--offline`, `UV_OFFLINE`), and its cache does not hold the package. ",
    "uv 处于离线模式(`--offline`、`UV_OFFLINE`),而其缓存中没有该包。",
)


def _of_uv(hits: Hits, absent: str) -> Finding:
    why, why_zh = _OFFLINE if hits.get("offline") else _ONLINE
    return found(
        PROBLEM, UV, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=absent,
        name=re.split(r"[\[=<>~!]", absent)[0], why=why, why_zh=why_zh,
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """With the newest versions that pip saw, or that it saw none."""
    if absent := hits.get("absent"):
        return _of_uv(hits, absent)
    seen = [each.strip() for each in (hits.get("seen") or "").split(",") if each.strip()]
    none = seen == ["none"]
    wanted = hits.get("wanted") or "?"
    name = wanted.partition("[")[0]
    for mark in ("=", "<", ">", "~", "!"):
        name = name.partition(mark)[0]
    if none and _NAME.sub("-", hits.get("index") or "").lower() == _NAME.sub("-", name).lower():
        return found(
            PROBLEM, UNREACHED, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, wanted=wanted,
            name=name, broken=hits.get("broken"),
        )  # fmt: skip
    newest = ", ".join(seen[-3:])
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        wanted=wanted, name=name,
        seen="" if not seen else ": none for this Python and platform" if none else f": it saw {newest}",
        seen_zh="" if not seen else ":没有适合此 Python 和平台的文件" if none else f":它看到的是 {newest}",
    )  # fmt: skip
