"""Judges reward-function-fails-on-answers (DAT9584), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.numerals import whole_of
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
RAISES = TOML["raises"]
LONG = TOML["long"]
SHAPE = TOML["shape"]

KINDS = TOML.phrases("kind")
#: the most telling first: what a model writes soonest
_ORDER = (
    "empty", "right", "worked", "wrong", "ends", "begins", "refusal", "prompt", "repeated", "format", "tags", "long",
)  # fmt: skip


def of_rehearsal(function: Mapping[str, Any]) -> Iterator[Finding]:
    """What one function did with completions of every kind: the first failure of each sort.

    Args:
        function: `function`, `place`, `usual` (seconds of an ordinary call), `limit` (seconds of a try), and `tries`:
            kind -> `values`, `error`, `frame`, `seconds`.

    """
    seen: set[str] = set()
    for kind in sorted(function["tries"], key=lambda each: _ORDER.index(each.partition(":")[0])):
        tried = function["tries"][kind]
        error = tried["error"]
        message = LONG if error == "too long" else SHAPE if error == "no list" else RAISES
        if not error or error == "not tried" or message.en.headline in seen:
            continue
        seen.add(message.en.headline)
        name = KINDS.get(kind) or KINDS["right" if kind.startswith(("right", "worked")) else "wrong"]
        file, _, line = (tried["frame"] or function["place"]).rpartition(":")
        yield found(
            PROBLEM, message, where=Where(file=file or None, line=whole_of(line)),
            evidence=(Observed.quoted(function["place"] or function["function"], f"{kind}: {error}"),),
            function=function["function"], kind=name, error=error.partition(":")[0],
            seconds=f"{function['limit']:.0f}", usual=f"{function['usual']:.2g}",
        )  # fmt: skip
