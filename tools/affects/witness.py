"""What of a release's sources tells that a problem is there: `witnesses.toml`, one table for a problem and a library.

A witness says in which files it looks (`files`, a pattern of paths inside the package) and what must stand there
(`has`, all of these patterns, in one file) and what must not (`lacks`, none of them in any of the files). Where only
one end of a range rests on the sources, `bounds` is "lower" or "upper". `because` instead says why no source can tell,
or why a bound is on purpose not the one of the words; it is printed beside what could not be tried.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from affects.words import fragments, joined

TABLE = Path(__file__).parent / "witnesses.toml"
_KEYS = {"files", "has", "lacks", "bounds", "because"}


@dataclass(frozen=True)
class Witness:
    """What shows a problem in the sources of a library.

    Args:
        files: pattern that is searched in a path such as "trl/trainer/grpo_trainer.py".
        has: patterns that one such file must hold, all of them; empty: that such a file is there.
        lacks: patterns of which none may stand in any such file.
        bounds: "both", "lower" or "upper": the ends of the range that this tells of.
        because: why it cannot be tried.

    """

    files: str = r"\.py$"
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    bounds: str = "both"
    because: str = ""

    def stands(self, sources: Mapping[str, str]) -> bool:
        """Whether the sources of a release, text by path, show the problem."""
        looked = [text for path, text in sources.items() if re.search(self.files, path)]
        shown = any(all(re.search(each, text, re.MULTILINE) for each in self.has) for text in looked)
        return shown and not any(re.search(each, text, re.MULTILINE) for each in self.lacks for text in looked)


def witnesses(path: Path = TABLE) -> dict[tuple[str, str], Witness]:
    """Witnesses by problem and distribution; raises ValueError where an entry holds a key that nothing reads."""
    import tomllib

    found: dict[tuple[str, str], Witness] = {}
    for problem, libraries in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for library, entry in libraries.items():
            if set(entry) - _KEYS or entry.get("bounds", "both") not in ("both", "lower", "upper"):
                msg = f"{path.name}: {problem}.{library} has keys or bounds that nothing reads: {entry}"
                raise ValueError(msg)
            found[problem, library] = _witness(entry)
    return found


def _witness(entry: Mapping[str, Any]) -> Witness:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Witness(**values)


@dataclass(frozen=True)
class Sentences:
    """The words of a problem's signatures: each signature that has some, as the runs that must stand in one file."""

    of: Sequence[tuple[str, ...]] = field(default_factory=tuple)

    @classmethod
    def read(cls, patterns: Sequence[str]) -> Sentences:
        """Take what can be looked for out of the patterns of signatures."""
        return cls(tuple(found for found in map(fragments, patterns) if found))

    def standing(self, sources: Mapping[str, str]) -> frozenset[int]:
        """Positions of the signatures whose words one file of a release holds."""
        return frozenset(
            index
            for index, runs in enumerate(self.of)
            if any(all(run in text for run in runs) for text in sources.values())
        )


def read_sources(archive: Path) -> dict[str, str]:
    """The sources of a release by path, with neighbouring string literals joined."""
    with zipfile.ZipFile(archive) as opened:
        return {name: joined(opened.read(name).decode("utf-8", "replace")) for name in opened.namelist()}
