"""One pass over the logs: signature hits, and the passages that are read line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from doctor.logs.layouts import Source, elastic_error_lines
from doctor.logs.matcher import Compiled, Matcher, Probe, RawHit, RawHits, Scan
from doctor.logs.parallel import scan_all
from doctor.logs.passages import ANCHOR, ANCHORS, Kept, joined
from doctor.logs.prefixes import has_slurm_labels, strip
from doctor.logs.streams import STDIN

_PEEK_BYTES = 16_384


@dataclass(frozen=True)
class Scanned:
    """What a pass over one log gave: kept lines, hits in order, how many there were of each signature.

    `whole`: every line was kept. `error`: why it could not be read, `cut_off`: why not to its end; "" otherwise.
    """

    lines: list[tuple[int, str]]
    hits: list[RawHit]
    counts: dict[int, int] = field(default_factory=dict)
    total_lines: int = 0
    whole: bool = True
    cut_off: str = ""
    error: str = ""


class Scanner:
    """All signatures, ready for any number of logs; making the engine costs more than reading a small log."""

    def __init__(self, signatures: Sequence[Compiled]) -> None:
        """Take the signatures; an engine is made when it is needed."""
        self._signatures = signatures
        self._matchers: dict[bool, Matcher] = {}

    def scan(self, found: Sequence[Source]) -> list[Scanned]:
        """Read every log once, in the order given; large ones on several cores."""
        results: dict[str, Scanned] = {}
        labelled = {each.path for each in found if _labelled(each.path)}
        for labels in (False, True):
            paths = [each.path for each in found if (each.path in labelled) is labels]
            errors = {path: lines for path in paths if (lines := _error_file(path)) is not None}
            for path, lines in errors.items():
                results[path] = self._scan_lines(path, lines)
            plain = [path for path in paths if path not in errors]
            if plain:
                hits = scan_all(plain, self._matcher(labels=labels), watcher=Kept)
                results.update(zip(plain, map(_scanned, hits), strict=True))
        return [results[each.path] for each in found]

    def _matcher(self, *, labels: bool) -> Matcher:
        if labels not in self._matchers:
            probes = (Probe(ANCHOR, ANCHORS, first=0, last=0),)
            cut = strip_labelled if labels else strip_text
            self._matchers[labels] = Matcher(self._signatures, probes, strip=cut)
        return self._matchers[labels]

    def _scan_lines(self, path: str, lines: list[str]) -> Scanned:
        one_pass = Scan(self._matcher(labels=False), path, 0, Kept())
        one_pass.feed("\n".join(lines).encode())
        return _scanned(one_pass.close())


def strip_text(text: str) -> str:
    """What a pattern is searched in."""
    return strip(text).text


def strip_labelled(text: str) -> str:
    """The same for a file that ``srun --label`` wrote."""
    return strip(text, slurm_labels=True).text


def _scanned(hits: RawHits) -> Scanned:
    counts = {signature: each.count for signature, each in hits.hits.items()}
    reading = joined(hits.watched)
    return Scanned(
        reading.lines, list(hits), counts, hits.lines, reading.whole and not hits.cut_off, hits.cut_off, hits.error
    )


def _labelled(path: str) -> bool:
    """Whether srun labelled the lines; told by the first of them, and only where they can be read twice."""
    if path == STDIN or not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            lines = file.read(_PEEK_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    return has_slurm_labels(islice(lines[:-1] or lines, 200))


def _error_file(path: str) -> list[str] | None:
    """Lines of an error file of torch's elastic launcher; None for every other file."""
    if not path.endswith(".json") or not Path(path).is_file() or Path(path).stat().st_size > 1 << 20:
        return None
    return elastic_error_lines(Path(path).read_text("utf-8", "replace"))
