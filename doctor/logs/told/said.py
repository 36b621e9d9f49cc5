"""One thing that a line says of the patient, and the forms in which programs print values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from doctor.base.evidence import UNKNOWN
from doctor.base.patterns import later

#: longer ones are no settings
_LONGEST = 20_000
_MOST = 600
_NAME = later(r"[A-Za-z_][\w.\-/]{0,80}")
_OPEN, _CLOSE = "([{<", ")]}>"
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
#: how libraries print what is a word of theirs: `torch.bfloat16`, `<SaveStrategy.STEPS: 'steps'>`
_TORCH = later(r"torch\.(?P<word>[a-z]+\d*)\Z")
_MEMBER = later(r"<[\w.]+: (?P<word>'[^']*'|-?\d+)>\Z")
_PATH = later(r"(?:Posix|Windows)Path\((?P<word>'[^']*')\)\Z")
#: what a text may be that stands for itself without quotes
_WORD = later(r"[\w./:@+\-]{1,200}\Z")


class Said(NamedTuple):
    """One thing that a line says.

    Args:
        owner: whose it is: "variable", "package", "python", "gpu", "command", "raised", "fact", or the program or class
            that reads a setting: "vllm", "sglang", "verl", "deepspeed", "accelerate", "GRPOConfig", "training"
            (TRL's or Transformers', which class is not said).
        name: of the variable, package, setting; of the fact that a table tells whole ("fact"); number of the GPU with
            a reading: `0.name`.
        value: UNKNOWN where it is printed in a way that does not tell it.
        line: from 1, and `text`, of the log.
        exact: False where a person wrote it down, not a program.
        file: of the line, where that is known.

    """

    owner: str
    name: str
    value: Any
    line: int
    text: str
    exact: bool = True
    file: str = ""


def value_of(text: str) -> Any:
    """The value that a program printed: a literal, or a word without quotes; UNKNOWN for objects."""
    text = text.strip().rstrip(",").strip()
    for form in (_MEMBER, _PATH):
        if match := form.match(text):
            text = match["word"]
    if match := _TORCH.match(text):
        return match["word"]
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text if _WORD.match(text) and not text.startswith("<") else UNKNOWN


def members(text: str) -> list[tuple[str, str]]:
    """Names and texts of `{'name': value, ...}`, `Name(name=value, ...)`, `name=value, name=value`.

    What is cut off at the end is left out; brackets and quotes inside values are respected.
    """
    text = text[:_LONGEST].strip()
    opening = re.match(r"(?:[\w.]{1,80}\s?)?[({]", text)
    inner = text[opening.end() :] if opening else text
    found = []
    for part in _parts(inner, closed=opening is not None):
        name, value = _divided(part)
        if name:
            found.append((name, value))
        if len(found) >= _MOST:
            break
    return found


def _divided(part: str) -> tuple[str, str]:
    """`'name': value` or `name=value`."""
    match = re.match(
        r"\s*(?:(?P<q>['\"])(?P<quoted>[^'\"\n]{1,80})(?P=q)\s*:|(?P<bare>[A-Za-z_][\w.]{0,80})\s*=(?!=))", part
    )
    return (match["quoted"] or match["bare"], part[match.end() :].strip()) if match else ("", "")


def _parts(text: str, *, closed: bool) -> Iterator[str]:
    """Pieces between commas of the outermost level; with `closed` up to the bracket that ends it."""
    depth, start, quote, place = 0, 0, "", 0
    while place < len(text):
        letter = text[place]
        if quote:
            if letter == "\\":
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"" and (place == 0 or not text[place - 1].isalnum()):
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE and not (letter == ">" and text[place - 1 : place] == "-"):
            if depth == 0 and closed:
                yield text[start:place]
                return
            depth = max(0, depth - 1)
        elif letter == "," and depth == 0:
            yield text[start:place]
            start = place + 1
        place += 1
    if not closed:
        yield text[start:]


def flattened(value: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested dictionaries under dotted names."""
    for name, each in value.items():
        dotted = f"{above}.{name}" if above else str(name)
        if isinstance(each, dict) and each:
            yield from flattened(each, dotted)
        else:
            yield dotted, each
