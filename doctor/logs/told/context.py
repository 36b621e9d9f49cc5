"""What the context that a user gave beside the logs tells: commands, configurations, single settings."""

from __future__ import annotations

from collections.abc import Iterator

from doctor import data
from doctor.logs.lines.life import versions_in
from doctor.logs.read.context import Given
from doctor.logs.told.blocks import of_block
from doctor.logs.told.lines import of_line, of_version
from doctor.logs.told.said import Said, value_of

_MOST_LINES = 5_000
_CLASSES = ("GRPOConfig", "SFTConfig", "DPOConfig", "RLOOConfig", "KTOConfig", "RewardConfig")


def said_in(given: Given) -> Iterator[Said]:
    """All that the context says; none of it is a program's own word."""
    if not given.text:
        return
    file = given.names[0] if len(given.names) == 1 else ""
    lines = list(enumerate(_joined(given.text), 1))[:_MOST_LINES]
    for place, (number, text) in enumerate(lines):
        stated = (of_version(name, version, number, text) for name, version in versions_in(text[:1000]).items())
        for each in (*stated, *of_line(text, number), *of_block(lines, place)):
            yield each._replace(exact=False, file=file)
    for name, value in given.config.items():
        if is_argument(name):
            number, text = next((each for each in lines if name in each[1].replace("-", "_")), (1, ""))
            yield Said("training", name, value_of(value), number, text, exact=False, file=file)


def _joined(text: str) -> list[str]:
    """Lines; those that a backslash continues stand whole where they begin."""
    found: list[str] = []
    open_at: int | None = None
    for line in text.splitlines():
        ends = line.rstrip().endswith("\\")
        part = line.rstrip().rstrip("\\") if ends else line
        if open_at is not None:
            found[open_at] += f" {part.strip()}"
            found.append("")
        else:
            found.append(part)
        open_at = (open_at if open_at is not None else len(found) - 1) if ends else None
    return found


def is_argument(name: str) -> bool:
    """Whether a name is an argument of a training with TRL or Transformers, in some release."""
    return data.training_argument(name) is not None or any(data.trl_argument(each, name) for each in _CLASSES)
