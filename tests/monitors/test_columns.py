"""The guide names every column that the files have, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import doctor
from doctor.monitors.sampler import columns

GUIDE = Path(doctor.__file__).parents[1] / "docs" / "monitor.md"


def test_the_guide_and_the_files_agree() -> None:
    tables = re.findall(r"\| column \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)", GUIDE.read_text())
    said = [
        [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:3]) for row in table.splitlines()]
        for table in tables
    ]
    own = (columns.GPU, columns.HOST, columns.PROCESS, columns.GPU_PROCESS)
    wanted = [[(f"`{name}`", text.replace("|", "\\|")) for name, text in table.items()] for table in own]
    assert said == wanted
