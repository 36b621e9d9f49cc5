"""Draws a saved report as the terminal shows it, for the READMEs.

    doctor check --format json -o report.json -- accelerate launch ...
    python tools/draw_terminal.py report.json out.svg

The report is a real one (`--only` keeps the picture short by leaving findings out, and the counts with them).
"""

from __future__ import annotations

import argparse
import html
import io
import json
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from doctor.diagnosis.report import shortened
from doctor.render.console import draw

_NORMAL = [
    (72, 79, 88), (255, 123, 114), (63, 185, 80), (224, 175, 64), (88, 166, 255), (188, 140, 255), (57, 197, 207),
    (177, 186, 196),
]  # fmt: skip
_BRIGHT = [
    (110, 118, 129), (255, 161, 152), (86, 211, 100), (240, 195, 92), (121, 192, 255), (210, 168, 255), (86, 212, 221),
    (240, 246, 252),
]  # fmt: skip
THEME = TerminalTheme((22, 27, 34), (201, 209, 217), _NORMAL, _BRIGHT)

#: a line that ends with how long it took on the machine that drew the picture, which says nothing to its readers
_TIMED = re.compile(r'textLength="([\d.]+)"([^>]*>)([^<]*?)&#160;in&#160;[\d.]+&#160;s(?=</text>)')


def untimed(line: re.Match[str]) -> str:
    """The line without its time, its letters as wide as before."""
    length, between, words = line.groups()
    whole = len(html.unescape(line[0].partition(">")[2]))
    return f'textLength="{float(length) * len(html.unescape(words)) / whole:g}"{between}{words}'


def picture(report: dict, command: str, width: int) -> str:
    """The SVG, without the web font that rich would have a reader's browser fetch."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    prompt = Text("$ ", style="bold green")
    prompt.append(command, style="bold")
    console.print(prompt, soft_wrap=True)
    draw(report, console)
    svg = console.export_svg(title="doctor", theme=THEME)
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
    svg = _TIMED.sub(untimed, svg)
    return svg.replace("Fira Code", "ui-monospace, DejaVu Sans Mono, Menlo, Consolas")


def main() -> None:
    """Read the report, keep the findings asked for, write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="folder the check ran in")
    parser.add_argument("--only", default="", help="ids to keep, separated by commas")
    parser.add_argument("--width", type=int, default=100)
    chosen = parser.parse_args()
    report = shortened(json.loads(chosen.report.read_text()), chosen.folder)
    if chosen.only:
        keep = chosen.only.split(",")
        report["findings"] = [each for each in report["findings"] if each["id"] in keep]
        levels = [each["severity"] for each in report["findings"]]
        report["summary"] |= {"errors": levels.count("error"), "warnings": levels.count("warning")}
        report["skipped"] = []
    target = report["target"]
    words = target["files"] if report["command"] == "postmortem" else ["--", *target["argv"]]
    command = " ".join(["doctor", report["command"], *words])
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(picture(report, command, chosen.width))


if __name__ == "__main__":
    main()
