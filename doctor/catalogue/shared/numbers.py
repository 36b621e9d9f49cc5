"""What the numbers of a message mean: which settings have them.

`512` and `2048` in a shape error tell little; that they are `moe_intermediate_size` and `hidden_size` tells which sides
of which layer met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doctor.base.patterns import later

#: smaller numbers are the value of many settings, and mean none of them
LEAST = 16
#: of a number that more settings have than these it is not known which is meant
_MOST = 2
_NUMBER = later(r"(?<![\w.])(?P<number>\d{2,12})(?![\w.]*\d)")


def numbers_in(message: str) -> tuple[int, ...]:
    """The numbers of a message that may mean something, each once, in its order."""
    found = (int(match["number"]) for match in _NUMBER.finditer(message))
    return tuple(dict.fromkeys(each for each in found if each >= LEAST))


def meanings(numbers: Iterable[int], settings: Mapping[str, object]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """(number, names of the settings with this value) of those numbers that one or two settings have.

    Args:
        numbers: of a message.
        settings: name -> value, as logs and context tell them; of dotted names the last part counts.

    """
    names: dict[int, dict[str, None]] = {}
    for name, value in settings.items():
        number = _whole(value)
        if number is not None:
            names.setdefault(number, {})[name.rpartition(".")[2]] = None
    return tuple((each, tuple(names[each])) for each in dict.fromkeys(numbers) if 0 < len(names.get(each, ())) <= _MOST)


def told(found: Iterable[tuple[int, tuple[str, ...]]]) -> str:
    """As "`moe_intermediate_size` = 512, `hidden_size` = 2048"."""
    return ", ".join(f"`{' / '.join(names)}` = {number}" for number, names in found)


def _whole(value: object) -> int | None:
    """The value of a setting as a whole number, None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text) if text.isdigit() and len(text) <= len("1000000000000") else None
