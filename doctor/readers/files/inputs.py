"""The user's files as one collection of facts sees them: what was read is remembered, and a content may be supposed.

A plan is made for the content that the facts were read from: `read` says which one that was. A change can be judged
before it is made: with a content in `supposed`, the readers get that one and the file is not touched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from doctor.base.record import distinct

#: in place of a digest: the file was read more than once and had not the same content every time
UNSTEADY = "read twice, with different contents"


@distinct
class Inputs:
    """What one collection reads.

    Args:
        supposed: real path -> content that the readers get instead of the file's.
        read: real path -> sha256 (hex) of the content that the readers got, or UNSTEADY.

    """

    supposed: Mapping[str, bytes] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)


_current: ContextVar[Inputs | None] = ContextVar("inputs", default=None)


@contextmanager
def reading(inputs: Inputs) -> Iterator[None]:
    """Readers of this context (and of threads that run in a copy of it) read through `inputs`."""
    token = _current.set(inputs)
    try:
        yield
    finally:
        _current.reset(token)


def supposed(path: str) -> bytes | None:
    """The content that is supposed for a file, None where the file itself is to be read."""
    inputs = _current.get()
    if inputs is None or not inputs.supposed:
        return None
    content = inputs.supposed.get(os.path.realpath(path))
    if content is not None:
        note(path, content)
    return content


def note(path: str, content: bytes) -> None:
    """Remember what was read."""
    inputs = _current.get()
    if inputs is None:
        return
    real, digest = os.path.realpath(path), hashlib.sha256(content).hexdigest()
    if inputs.read.setdefault(real, digest) != digest:
        inputs.read[real] = UNSTEADY
