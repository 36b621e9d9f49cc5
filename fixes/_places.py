"""From findings to edits of the files they point at; what stands on the command line is the user's to retype."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from doctor.core.finding import Finding
from doctor.core.plan import EditFile
from doctor.facts.base import Place
from doctor.fixes._edits import Editor


def edited(findings: Iterable[Finding], change: Callable[[Editor, Place, Finding], None]) -> tuple[EditFile, ...]:
    """One step a file: `change` is called for every finding that points into one.

    Raises:
        Refused: a file does not hold any more what was found there.

    """
    by_file: defaultdict[str, list[tuple[Place, Finding]]] = defaultdict(list)
    for finding in findings:
        where = finding.where
        if where.file is not None and where.line is not None and where.column is not None:
            by_file[where.file].append((Place(where.file, where.line, where.column), finding))
    steps = []
    for path, places in by_file.items():
        editor = Editor(path)
        for place, finding in dict(places).items():  # two findings at one place are mended once
            change(editor, place, finding)
        steps.append(editor.step())
    return tuple(steps)
