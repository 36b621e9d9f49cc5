"""Facts of a case, read one after another: the cases are of checks, and ten thousand of them need no threads.

That facts are read side by side, each under its own deadline, is the matter of tests/core/test_collector.py, and every
command that a test runs reads them so. A thread a fact costs a switch of the core each, and a busy machine its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.readers.collector import Collector

#: facts of the machine that no word of a launch command changes
_OF_THE_MACHINE = ("commands", "cuda", "gpus", "host", "hub", "nvidia", "ray_cluster")


class InTurn(Collector):
    """A collector that reads each fact in the thread that asks."""

    def _begin(self, work: Callable[[], None]) -> None:
        work()


def of_one_machine() -> type[Collector]:
    """A collector for many commands on this machine: what no command changes is read for the first of them alone."""
    kept: dict[str, Observed] = {}

    class OfOneMachine(InTurn):
        def __init__(self, context: Context, given: Mapping[str, Observed] | None = None, **more: object) -> None:
            super().__init__(context, {**kept, **(given or {})}, **more)  # type: ignore[arg-type]

        def ask(self, names: Iterable[str]) -> None:
            super().ask(names)
            kept.update((name, self.states[name]) for name in _OF_THE_MACHINE if name in self.states)

    return OfOneMachine
