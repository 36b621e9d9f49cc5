"""Metric lines of a layout that is known already: one search gives the step and the values that somebody asks for.

A run prints thousands of lines with the same keys in the same order, and of most of them a fifth is judged or drawn.
The first such line goes the careful way (`doctor.logs.metrics.names.parse_row`); from it a pattern is made that holds
for lines with just these keys, with a group for each value that is asked for. What does not match it, or holds
something else than numbers there, goes the careful way again, so that a line says the same on both.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional

from doctor.logs.metrics.names import STEP_BEFORE_DICT, VERL_STEP, VLLM_NAMES, MetricValues, name_of, parse_row, shared
from doctor.logs.read.figures import MetricLine, may_follow, row_at, values_of

Wanted = Callable[[str], bool]

#: layouts known at once, and lines tried for one: each takes milliseconds to make
MOST_TEMPLATES, MOST_TRIED = 32, 200

#: rows of fewer metrics are kept whole: there is nothing to spare, and DeepSpeed's tell one metric twice
FEW_NAMES = 6
#: metrics that nobody judges under their own names, but from which others are made
_NEEDED = frozenset({"number of skipped iterations"})

_STEP_KEYS = frozenset({b"step", b"global_step"})
_STEP_OF_ALL_KEYS = frozenset({b"global_step/max_steps", b"iteration"})


class PackedRow(NamedTuple):
    """A row as `doctor.logs.metrics.names.Row`, whose values lie one after another as the machine's doubles."""

    step: Optional[int]
    names: tuple[str, ...]
    values: bytes

    @property
    def row(self) -> MetricValues:
        """The same row with its values as numbers."""
        return MetricValues(self.step, self.names, tuple(array("d", self.values)))


_row: Any = partial(tuple.__new__, PackedRow)


class Template(NamedTuple):
    """A layout as `doctor.logs.read.figures.row_at` takes it.

    Args:
        words: what stands before each value, and behind the last.
        kinds: what kind of line and of values it is.
        names: of the values that are asked for.
        first: with what the metrics begin, "{'" or "step:".
        placed: nobody asks for the bar behind such a line, as of a server's.

    """

    words: tuple[bytes, ...]
    kinds: bytes
    names: tuple[str, ...]
    first: bytes
    placed: bool

    def read(self, line: bytes) -> Optional[tuple[PackedRow, int]]:
        """What a line tells and where its metrics begin; None where it is of another layout."""
        start = line.find(self.first)
        if start < 0 or (start and not may_follow(line[:start], self.first)):
            return None
        found = values_of(line, start, self.words, self.kinds)
        return None if found is None else (_row((found[0], self.names, found[1])), start)


class Templates:
    """The layouts of one log, learned from its lines.

    Args:
        wanted: whether anybody asks for a metric, by its canonical name.

    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._known: list[Template] = []
        self._tried = 0
        self._kept: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._left_out: dict[str, None] = {}

    def read(self, line: bytes) -> Optional[tuple[PackedRow, int]]:
        """What a line of a known layout tells; the layout that held last is asked first."""
        known = self._known
        for number, each in enumerate(known):
            found = each.read(line)
            if found is not None:
                if number:
                    known.insert(0, known.pop(number))
                return found
        return None

    def read_at(self, number: int, data: bytes, start: int, end: int, around: tuple[int, int]) -> Optional[MetricLine]:
        """What a line of a known layout tells where it stands, as `doctor.logs.read.figures.row_at`.

        Args:
            number: of the line.
            data: the text.
            start: where the line begins in it.
            end: where it ends.
            around: how many bytes before and behind it may hold its bars.

        """
        known = self._known
        found: Optional[MetricLine] = row_at(number, data, start, end, known, *around)
        if found is not None and found[2] is not known[0].names:  # the layout that held last is asked first
            known.insert(0, known.pop(next(at for at, each in enumerate(known) if each.names is found[2])))
        return found

    def learn(self, line: bytes) -> None:
        """Take the layout of a line down, where its pattern gives what the careful way does."""
        if len(self._known) >= MOST_TEMPLATES or self._tried >= MOST_TRIED:
            return
        made = self._dict_template(line) or self._verl_template(line)
        if made is None:
            return
        self._tried += 1
        careful, quick = parse_row(line), made.read(line)
        if careful is not None and quick is not None and repr(self.kept(careful)) == repr(quick[0].row):
            self._known.insert(0, made)

    def kept(self, row: MetricValues) -> MetricValues:
        """The row without the metrics that nobody asks for; the first name stays, it tells what kind of line it is."""
        if len(row.names) < FEW_NAMES:
            return row
        places = self._kept.get(row.names)
        if places is None:
            places = tuple(at for at, name in enumerate(row.names) if not at or self._asked(name))
            if len(self._kept) < MOST_TRIED:
                self._kept[row.names] = places
                self._left_out.update((name, None) for at, name in enumerate(row.names) if at not in set(places))
        if len(places) == len(row.names):
            return row
        names = shared(tuple(row.names[at] for at in places))
        return MetricValues(row.step, names, tuple(row.values[at] for at in places))

    def left_out(self) -> tuple[str, ...]:
        """Metrics that nobody asks for, of kinds of rows that are new since this was asked last."""
        names, self._left_out = tuple(self._left_out), {}
        return names

    def _asked(self, name: str) -> bool:
        return name in _NEEDED or self._wanted(name)

    def _dict_template(self, line: bytes) -> Optional[Template]:
        start, end = line.find(b"{'"), line.rfind(b"}")
        if start < 0 or end < start or STEP_BEFORE_DICT.search(line, max(0, start - 32), start):
            return None
        pairs = [part.partition(b": ") for part in line[start + 1 : end].split(b", ")]
        if any(key[:1] != b"'" or key[-1:] != b"'" or not value for key, _, value in pairs):
            return None
        return self._made(b"{'", [(b"'%b': " % key[1:-1], key[1:-1], value.strip(b"'")) for key, _, value in pairs])

    def _verl_template(self, line: bytes) -> Optional[Template]:
        match = VERL_STEP.search(line)
        if match is None:
            return None
        pairs = [part.rpartition(b":") for part in line[match.end() :].rstrip().split(b" - ")]
        if any(not key or not value for key, _, value in pairs):
            return None
        return self._made(b"step:", [(b"", b"step", match[1]), *((key + b":", key, value) for key, _, value in pairs)])

    def _made(self, first: bytes, values: Sequence[tuple[bytes, bytes, bytes]]) -> Optional[Template]:
        """The template of a line with these words, keys and values; None where it could tell two steps."""
        is_dict = first == b"{'"
        names: list[str] = []
        kinds = b"d" if is_dict else b"v"
        for number, (_, key, value) in enumerate(values):
            kind = _step_kind(key, value) if is_dict or not number else b""
            name = name_of(key)
            if not kind and name not in names and (not names or self._asked(name)):
                names.append(name)
                kind = b"r" if not is_dict and key.endswith(b"/lr") else b"v"
            kinds += kind or b"-"
        if kinds.count(b"s") + kinds.count(b"o") > 1 or len(names) < 2:
            return None
        between, ends = (b", ", b"}") if is_dict else (b" - ", b"")
        words = [word if not number else between + word for number, (word, _, _) in enumerate(values)]
        words[0] = (b"{" if is_dict else b"step:") + words[0]
        return Template((*words, ends), kinds, shared(tuple(names)), first, names[0] == VLLM_NAMES[0])


def _step_kind(key: bytes, value: bytes) -> bytes:
    """The kind of a value that tells the step, alone or with the count of all steps; nothing of others."""
    if key in _STEP_KEYS and value.isdigit():
        return b"s"
    own, slash, _ = value.partition(b"/")
    return b"o" if slash and key in _STEP_OF_ALL_KEYS and own.isdigit() else b""


def rows_by(templates: Templates, lines: Sequence[bytes]) -> list[tuple[Optional[PackedRow], int]]:
    """What each of the lines tells, None where it tells nothing, and where it begins, -1 where that is not known."""
    from doctor.logs.metrics.batches import parse_rows

    found = [templates.read(line) for line in lines]
    others = [number for number, each in enumerate(found) if each is None]
    if others:
        rows = parse_rows([lines[number] for number in others])
        told = dict(zip(others, rows, strict=True))
        _learn(templates, lines, told)
        return [each or (_packed(templates, told[number]), -1) for number, each in enumerate(found)]
    return [each for each in found if each]


def _packed(templates: Templates, row: Optional[MetricValues]) -> Optional[PackedRow]:
    """What is kept of a row that was read the careful way."""
    if row is None:
        return None
    step, names, values = templates.kept(row)
    return PackedRow(step, names, array("d", values).tobytes())


def _learn(templates: Templates, lines: Sequence[bytes], told: dict[int, Optional[MetricValues]]) -> None:
    """Learn from the first line of each kind."""
    seen: set[tuple[str, ...]] = set()
    for number, row in told.items():
        if row is not None and len(row.names) >= FEW_NAMES and row.names not in seen:
            seen.add(row.names)
            templates.learn(lines[number])
