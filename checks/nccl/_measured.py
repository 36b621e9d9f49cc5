"""Words that the problems of `--deep` over many nodes share."""

from __future__ import annotations

from doctor.catalogue.finding import Phrase
from doctor.catalogue.nodes.measured import Measured
from doctor.catalogue.words import words_of

TOML = words_of(__name__)


def who(measured: Measured, node: int, local: int | None) -> Phrase | str:
    """A node, or the GPU of one of its processes."""
    host = f"`{measured.name(node)}`"
    process = measured.process(node, local) if local is not None else None
    if process is None or process.gpu is None:
        return host
    return TOML.phrase("gpu", gpu=process.gpu, host=host)


def bandwidth(seconds_a_gigabyte: float) -> str:
    """Cost of 1e9 bytes -> "11.8 GB/s", "2.41 MB/s"."""
    value = 1 / seconds_a_gigabyte
    if value < 0.1:
        return f"{1000 * value:.3g} MB/s"
    return f"{value:.3g} GB/s" if value < 100 else f"{value:.0f} GB/s"


def latency(microseconds: float) -> str:
    """Cost of a message -> "5,120 µs"."""
    return f"{microseconds:,.0f} µs" if microseconds >= 10 else f"{microseconds:.1f} µs"
