"""A Makefile read for one target, never run: its recipe as text for the shell.

The rules are those of https://www.gnu.org/software/make/manual/make.html, as far as recipes that start a run use them:
variables, prerequisites of the same file, `@` and `-` in front of a line, continued lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from doctor.base.patterns import later

NAMES = ("GNUmakefile", "makefile", "Makefile")
#: options of make that take a word
VALUES = frozenset({"-f", "--file", "--makefile", "-C", "--directory", "-j", "-l", "-I", "-o", "-W"})
_ASSIGNMENT = later(r"(?:export\s+|override\s+)*([\w.\-]+)\s*(:=|::=|\?=|\+=|=)\s*(.*)")
_RULE = later(r"([^\s:=#][^:=#]*?)\s*::?(?!=)\s*([^;#]*?)\s*(?:;\s*(.*?))?\s*(?:#.*)?")
_VARIABLE = later(r"\$\$|\$\(([\w.\-]+)\)|\$\{([\w.\-]+)\}|\$([A-Za-z@<^])")
_DEEPEST = 12


class Makefile:
    """Variables and rules of one file.

    Args:
        text: its content.
        given: assignments of the command line, which win over the file's.
        inherited: environment, which the file's win over.

    """

    def __init__(self, text: str, given: Mapping[str, str], inherited: Mapping[str, str]) -> None:
        self.given = given
        self.inherited = inherited
        self.variables: dict[str, str] = {}
        self.rules: dict[str, tuple[list[str], list[tuple[int, str]]]] = {}
        self.first: str | None = None
        self._read(text)

    def _read(self, text: str) -> None:
        target: list[str] = []
        for number, line in _lines(text):
            if line.startswith("\t"):
                for each in target:
                    self.rules[each][1].append((number, line[1:]))
                continue
            if (match := _ASSIGNMENT.fullmatch(line.strip())) and not line.startswith("\t"):
                self._assign(match[1], match[2], match[3])
            elif match := _RULE.fullmatch(line):
                target = self.expanded(match[1]).split()
                for each in target:
                    needs, recipe = self.rules.setdefault(each, ([], []))
                    needs += self.expanded(match[2] or "").split()
                    if match[3]:
                        recipe.append((number, match[3]))
                    if self.first is None and not each.startswith("."):
                        self.first = each

    def _assign(self, name: str, operator: str, value: str) -> None:
        value = re.sub(r"\s+#.*", "", value).strip()
        if operator == "?=" and (name in self.variables or name in self.inherited):
            return
        if operator == "+=":
            value = f"{self.variables.get(name, '')} {value}".strip()
        self.variables[name] = self.expanded(value) if operator in {":=", "::="} else value

    def expanded(self, text: str, depth: int = 0) -> str:
        """`$(NAME)` replaced; a function of make and what a rule fills in stay as they are."""

        def of(match: re.Match[str]) -> str:
            if match[0] == "$$":
                return "$" if depth == 0 else "$$"
            name = match[1] or match[2] or match[3]
            for known in (self.given, self.variables, self.inherited):
                if name in known:
                    return self.expanded(known[name], depth + 1) if depth < _DEEPEST else match[0]
            return "" if match[1] or match[2] else match[0]

        return _VARIABLE.sub(of, text)

    def recipe(self, target: str, seen: frozenset[str] = frozenset()) -> list[tuple[int, str]] | None:
        """(line, command) of a target and, before it, of what it needs; None where the file has no such target."""
        if target not in self.rules or target in seen:
            return None
        needs, lines = self.rules[target]
        before = [each for need in needs for each in self.recipe(need, seen | {target}) or ()]
        return [*before, *((number, self.expanded(line.lstrip().lstrip("@-+"))) for number, line in lines)]


def _lines(text: str) -> list[tuple[int, str]]:
    """(number, logical line): a backslash at the end continues it."""
    found: list[tuple[int, str]] = []
    pending: tuple[int, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        first, before = pending or (number, "")
        joined = f"{before} {line.strip()}" if pending else line
        if joined.endswith("\\"):
            pending = (first, joined[:-1].rstrip() if not joined.startswith("\t") else "\t" + joined[1:-1].rstrip())
            continue
        pending = None
        if joined.strip() and not joined.lstrip(" ").startswith("#"):
            found.append((first, joined))
    return found
