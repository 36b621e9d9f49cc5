"""The steps of metric lines: told by the line, by a bar behind it, or counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

from doctor.catalogue.columns import MetricRow, points_of
from doctor.catalogue.series import Point
from doctor.logs.metrics.bars import NOTHING_BEHIND, Bar, Behind, look_behind, parse_bar
from doctor.logs.metrics.blocks import OF_STEP_BEFORE
from doctor.logs.metrics.names import SUMMARY, MetricValues, parse_row


def _moves_on(names: tuple[str, ...]) -> bool:
    """Whether a line with these metrics is one of the Trainer's steps."""
    return names[0] not in {"overflow", "loss_scale", SUMMARY} and not names[0].startswith(("vllm/", "eval_"))


class MetricReader:
    """Turns lines of one run into points, and finds the step of lines that do not tell it.

    A dict line of the Trainer has no step; the progress bar that is drawn again right behind it has. Where there is no
    bar either (`steps_known` is then False) the rows themselves are counted.
    """

    def __init__(self) -> None:
        self._row_step = 0
        self._spacing = 1
        self._bar_step = 0
        self._total: Optional[int] = None
        self._skipped = 0.0
        self._held_back = False
        self._stands_in_block = False
        self.steps_known = True

    def feed(
        self,
        line: bytes,
        *,
        behind: bytes = b"",
        rank: Optional[int] = None,
        t_ns: Optional[int] = None,
        source: str = "",
    ) -> list[Point]:
        """Points of one line.

        Args:
            line: without its end; prefixes may stand before what is metric.
            behind: some hundred bytes that follow the line, for the bar that is drawn behind it.
            rank: told by prefix or file name.
            t_ns: told by a stamp.
            source: file and line, as in Point.

        """
        row = parse_row(line)
        if row is None:
            if b"%|" in line and (bar := parse_bar(line)):
                self.see(bar)
            return []
        return self.place(row, look_behind(behind), rank=rank, t_ns=t_ns, source=source)

    def place(
        self, row: MetricValues, behind: Behind = NOTHING_BEHIND, *, rank: Optional[int] = None,
        t_ns: Optional[int] = None, source: str = "",
    ) -> list[Point]:  # fmt: skip
        """Points of a row that was taken apart already; the arguments are those of `feed`."""
        rows = self.rows(row, behind, rank=rank, t_ns=t_ns, source=source)
        return [point for each in rows for point in points_of(each)]

    def rows(
        self, row: MetricValues, behind: Behind = NOTHING_BEHIND, *, rank: Optional[int] = None,
        t_ns: Optional[int] = None, source: str = "",
    ) -> list[MetricRow]:  # fmt: skip
        """The same as rows, in each of which every metric stands once; mostly one."""
        step, names = self._step(row.step, row.names, behind.bar, followed=behind.followed), row.names
        told = []
        if len(set(names)) == len(names):
            told.append(MetricRow(step, names, row.values, t_ns, rank, source))
        else:
            told += [MetricRow(step, (name,), (value,), t_ns, rank, source) for name, value in row.pairs]
        if "number of skipped iterations" in names:
            self._skipped += row.values[names.index("number of skipped iterations")]
            told.append(MetricRow(step, ("skipped_steps",), (self._skipped,), t_ns, rank, source))
        return told

    def steps(
        self, names: Sequence[tuple[str, ...]], steps: list[Optional[int]], bars: Optional[Sequence[Optional[Bar]]],
        drawn: Optional[Sequence[Optional[Bar]]], followed: Sequence[bool],
    ) -> list[Optional[int]]:  # fmt: skip
        """Steps of many lines, as `rows` finds them one after another.

        Args:
            names: of each line the metrics.
            steps: what each line tells itself.
            bars: of each line the bar before it, to be seen first; None where there is none at all.
            drawn: of each line the bar behind it, likewise.
            followed: of each line whether another row comes before a bar.

        """
        known = [each for each in steps if each is not None]
        if bars is None and drawn is None:
            if len(known) == len(steps) and min(known) >= 0:
                self._row_step = known[-1]
                return steps
            counted = self._held_back or followed[0]
            if counted and not known and all(map(_moves_on, dict.fromkeys(names))):
                return self._counted(followed)
        nothing = [None] * len(steps)
        found = []
        for bar, name, step, behind, more in zip(
            bars or nothing, names, steps, drawn or nothing, followed, strict=True
        ):
            if bar is not None:
                self.see(bar)
            found.append(self._step(step, name, behind, followed=more))
        return found

    def _counted(self, followed: Sequence[bool]) -> list[Optional[int]]:
        """Steps of rows that stand together, without bars."""
        last, spacing = self._row_step, self._spacing
        found = list(range(last + spacing, last + spacing * len(followed) + 1, spacing))
        self._row_step, self._held_back, self._stands_in_block = found[-1], True, followed[-1]
        self.steps_known = False
        return [*found]

    def see(self, bar: Bar) -> None:
        """The first training bar is the Trainer's; bars of another length (evaluation) count something else."""
        if self._total is None or (bar.total != self._total and bar.step == 0 and self._row_step == 0):
            self._total = bar.total
        if bar.total == self._total:
            self._bar_step = bar.step

    def _step(
        self, told: Optional[int], names: tuple[str, ...], bar: Optional[Bar], *, followed: bool
    ) -> Optional[int]:
        """The step of a row.

        Args:
            told: what it tells itself.
            names: its metrics.
            bar: what is drawn behind it.
            followed: whether another row comes before a bar.

        """
        if told == OF_STEP_BEFORE:
            return self._row_step or None
        if told is not None:
            self._row_step = told  # it may go back: a run that goes on from a checkpoint in the same log
            return told
        name = names[0]
        if name in {"overflow", "loss_scale"} or name.startswith("vllm/"):
            return self._bar_step or self._row_step or None
        if name.startswith("eval_") or name == SUMMARY:
            return self._row_step or None
        last, drawn = self._row_step, self._drawn_again(bar)
        if self._stands_in_block:
            drawn = None  # the bar behind the last row of a flushed block tells when it was flushed
        self._stands_in_block = followed
        self._held_back = self._held_back or (drawn is None and followed)
        if drawn is None and not self._held_back:
            drawn = (
                self._bar_step
            )  # the bar before the line, but where rows were held back in a buffer and stand together
        if drawn is not None and drawn > last:
            self._row_step, self._spacing = drawn, drawn - last
        else:
            self._row_step = last + self._spacing
            self.steps_known = False
        return self._row_step

    def _drawn_again(self, bar: Optional[Bar]) -> Optional[int]:
        """The step of the bar behind the line, None where it counts something else."""
        if bar is None:
            return None
        self.see(bar)
        return bar.step if bar.total == self._total else None


def read_lines(lines: Iterable[bytes], source: str = "") -> Iterator[Point]:
    """Points of a whole log, given line by line (cut at line feeds and carriage returns), with their line numbers."""
    reader = MetricReader()
    held: Optional[tuple[bytes, int]] = None
    number = 0
    following: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if held is not None:
            following.append(line)
            if line.strip() == b"" and len(following) < 4:
                continue
            yield from reader.feed(held[0], behind=b"\n".join(following), source=f"{source}:{held[1]}")
            held, following = None, []
        if b"{'" in line:
            held = (line, number)
        else:
            yield from reader.feed(line, source=f"{source}:{number}")
    if held is not None:
        yield from reader.feed(held[0], behind=b"\n".join(following), source=f"{source}:{held[1]}")
