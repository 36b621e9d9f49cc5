"""Switches of the run that name the code which failed: what is on, and shares its words with the failing line.

Programs call a branch as they call the option that opens it: `--log-correct-samples` and `correct_response_lengths` in
`log_rollout_data`. One common word is chance; two of one option in one place are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from doctor.base.patterns import later
from doctor.logs.failures.frames import Frame

_WORD = later(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")
_TOGETHER, _INNERMOST, _MOST = 2, 2, 2
#: words that stand in names of most options and functions
_EVERYDAY = frozenset({
    "use", "enable", "with", "train", "trainer", "model", "data", "size", "name", "path", "type", "mode", "args",
    "config", "get", "set", "is", "max", "min", "num", "per", "the", "of", "to", "for", "self", "step", "batch",
})  # fmt: skip


def that_name(frames: Sequence[Frame], code: str, settings: Mapping[str, object]) -> tuple[str, ...]:
    """Switches that are on, as `name=value`, of whose name two words stand in the failing line and its functions.

    Args:
        frames: of the exception, innermost last.
        code: the line that raised.
        settings: name -> value, as logs and context tell them.

    """
    ran = [each for each in frames if not each.starts][-_INNERMOST:]
    told = set(_words(" ".join([code, *(each.function for each in ran)])))
    found = []
    for name, value in settings.items():
        last = name.rpartition(".")[2]
        whole = "." in name or not any(other.endswith(f".{name}") for other in settings)
        if whole and _is_on(value) and len(set(_words(last)) & told) >= _TOGETHER:
            found.append(f"{name}={value}")
    return tuple(found[:_MOST])


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if word not in _EVERYDAY:
            yield word.removesuffix("s")


def _is_on(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")
