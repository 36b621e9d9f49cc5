"""What the context that a user gave beside the logs tells: commands, configurations, single settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor import data
from doctor.base.patterns import later
from doctor.logs.lines.life import versions_in
from doctor.logs.read.context import Given
from doctor.logs.told.blocks import of_block
from doctor.logs.told.lines import of_line, of_version
from doctor.logs.told.said import Said, value_of

_MOST_LINES = 5_000
#: https://pypi.org names of those whose releases checks ask for
_VERSION = later(
    r"`?(?P<name>trl|transformers|peft|accelerate|deepspeed|vllm|torch|verl|datasets|bitsandbytes|ms-swift|unsloth"
    r"|liger-kernel|flash-attn)`?(?: version)?:?[ =]{1,3}v?(?P<version>\d{1,4}\.\d{1,3}(?:\.\d{1,3})?[\w.+]{0,20})\Z",
    re.IGNORECASE,
)
_CLASSES = ("GRPOConfig", "SFTConfig", "DPOConfig", "RLOOConfig", "KTOConfig", "RewardConfig")


def said_in(given: Given) -> Iterator[Said]:
    """All that the context says; none of it is a program's own word."""
    if not given.text:
        return
    file = given.names[0] if len(given.names) == 1 else ""
    lines = list(enumerate(_joined(given.text), 1))[:_MOST_LINES]
    for place, (number, text) in enumerate(lines):
        found = {**listed_versions(text), **versions_in(text[:1000])}
        stated = (of_version(name, version, number, text) for name, version in found.items())
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


def listed_versions(text: str) -> dict[str, str]:
    """Versions of a line that lists them as a person does: `trl 0.19.0, transformers 4.53.0`; none of a sentence."""
    parts = [_VERSION.match(part.strip()) for part in text[:500].strip(" -*.").split(",")]
    if not parts or parts[0] is None:
        return {}
    return {match["name"].lower(): match["version"] for match in parts if match is not None}


def is_argument(name: str) -> bool:
    """Whether a name is an argument of a training with TRL or Transformers, in some release."""
    return data.training_argument(name) is not None or any(data.trl_argument(each, name) for each in _CLASSES)
