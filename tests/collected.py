"""Facts of a case, read one after another: the cases are of checks, and ten thousand of them need no threads.

That facts are read side by side, each under its own deadline, is the matter of tests/core/test_collector.py, and every
command that a test runs reads them so. A thread a fact costs a switch of the core each, and a busy machine its turn.
"""

from __future__ import annotations

from collections.abc import Callable

from doctor.readers.collector import Collector


class InTurn(Collector):
    """A collector that reads each fact in the thread that asks."""

    def _begin(self, name: str, work: Callable[[], None]) -> None:  # noqa: ARG002 - as the other has it
        work()
