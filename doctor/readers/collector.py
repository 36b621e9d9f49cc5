"""Collects the facts that are asked for, each once, side by side, each under its own deadline."""

from __future__ import annotations

import _thread
import importlib
import queue
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doctor.base.evidence import Observations, Observed
from doctor.base.fact import Context, run_fact, world_of
from doctor.base.record import record
from doctor.catalogue.check import wanted_facts
from doctor.readers.files import inputs
from doctor.readers.homes import READERS


@record
class Provider:
    """A fact's `collect` with what it needs: parameter -> (fact, needed)."""

    name: str
    function: Callable[..., Any]
    wants: Mapping[str, tuple[str, bool]]
    timeout_s: float
    about: str


def provider(name: str) -> Provider:
    """Import the module of a fact.

    Raises:
        KeyError: there is no such fact (a bug in a check's annotation).

    """
    function = importlib.import_module(READERS[name]).collect
    timeout_s, about = function.__doctor_fact__
    return Provider(name, function, wanted_facts(function.__annotations__), timeout_s, about)


def about_command(name: str) -> bool:
    """Whether a fact is read from the launch command and its files, not from the machine; False for unknown names."""
    try:
        return provider(name).about == "command"
    except KeyError:
        return False


def about_elsewhere(name: str) -> bool:
    """Whether a fact is only ever given, for it is of more than one machine or of a run; False for unknown names."""
    try:
        return provider(name).about == "elsewhere"
    except KeyError:
        return False


class Collector:
    """Facts of one request: `ask` for names, read `states`.

    A fact given at construction (from a saved file) is never collected. With `from_file`, facts about the machine
    that the file lacks are unavailable, for this machine is not the one in question. `supposed` (real path ->
    content) is read in place of the user's files; `read` says which contents the facts rest on.
    """

    def __init__(
        self,
        context: Context,
        given: Mapping[str, Observed] | None = None,
        *,
        from_file: str | None = None,
        supposed: Mapping[str, bytes] | None = None,
    ) -> None:
        """Start with what is given; nothing is collected before `ask`."""
        self.context = context
        self.given: Mapping[str, Observed] = dict(given or {})
        self.states: dict[str, Observed] = dict(self.given)
        self._from_file = from_file
        self._inputs = inputs.Inputs(supposed or {})

    @property
    def from_file(self) -> str | None:
        """What the given facts were read from, None where they are of this machine."""
        return self._from_file

    @property
    def read(self) -> Mapping[str, str]:
        """Real path of a file of the user's -> sha256 of the content that the facts were read from."""
        return self._inputs.read

    @property
    def world(self) -> Observations:
        """What has been collected, as checks are given it."""
        return world_of(self.states)

    def ask(self, names: Iterable[str]) -> None:
        """Collect `names` and what they rest on; returns when each has answered or run out of time."""
        waiting = self._providers(names)
        if self._from_file is not None:
            for name in [name for name, each in waiting.items() if each.about == "machine"]:
                del waiting[name]
                self.states[name] = Observed.unseen(f"not in {self._from_file}")
        running: dict[str, tuple[float, float]] = {}  # fact -> (deadline, time-out)
        answers: queue.SimpleQueue[tuple[str, Observed]] = queue.SimpleQueue()
        while waiting or running:
            self._start_ready(waiting, running, answers)
            if running:
                self._take_answers(running, answers)

    def _providers(self, names: Iterable[str]) -> dict[str, Provider]:
        """Providers of `names` and of everything they rest on, except what is settled already."""
        providers: dict[str, Provider] = {}
        todo = list(names)
        while todo:
            name = todo.pop()
            if name in providers or name in self.states or name == "context":
                continue
            try:
                providers[name] = provider(name)
            except Exception as exc:  # noqa: BLE001 - a bug in one fact's module costs that fact
                self.states[name] = Observed.unseen(f"`{name}` cannot be loaded: {exc}")
                continue
            todo += [need for need, _ in providers[name].wants.values()]
        return providers

    def _start_ready(
        self,
        waiting: dict[str, Provider],
        running: dict[str, tuple[float, float]],
        answers: queue.SimpleQueue[tuple[str, Observed]],
    ) -> None:
        """Start every fact whose needs are settled."""
        for name, each in list(waiting.items()):
            needs = [need for need, _ in each.wants.values() if need != "context"]
            if any(need not in self.states for need in needs):
                continue
            del waiting[name]
            arguments = self._arguments(each)
            if isinstance(arguments, Observed):
                self.states[name] = arguments
                continue
            running[name] = (time.monotonic() + each.timeout_s, each.timeout_s)

            def work(name: str = name, each: Provider = each, arguments: dict[str, Any] = arguments) -> None:
                with inputs.reading(self._inputs):
                    state = run_fact(each.function, arguments)
                answers.put((name, state))

            self._begin(work)

    def _begin(self, work: Callable[[], None]) -> None:
        """Read a fact beside the others."""
        # left behind where it hangs; a `threading.Thread` would be waited for until it runs
        _thread.start_new_thread(work, ())

    def _arguments(self, each: Provider) -> dict[str, Any] | Observed:
        """Values for a fact's parameters, or the state that a missing need gives it."""
        arguments: dict[str, Any] = {}
        for parameter, (need, needed) in each.wants.items():
            if need == "context":
                arguments[parameter] = self.context
                continue
            state = self.states[need]
            if state.status != "ok" and needed:
                return Observed.unseen(state.reason, applies=state.applies)
            arguments[parameter] = state.value if state.status == "ok" else None
        return arguments

    def _take_answers(
        self, running: dict[str, tuple[float, float]], answers: queue.SimpleQueue[tuple[str, Observed]]
    ) -> None:
        """Wait for one answer or for the next deadline, whichever comes first."""
        first = min(deadline for deadline, _ in running.values())
        try:
            name, state = answers.get(timeout=max(0.0, first - time.monotonic()))
        except queue.Empty:
            for name, (deadline, timeout_s) in list(running.items()):
                if deadline <= time.monotonic():
                    del running[name]
                    reason = f"`{name}` did not answer within {timeout_s:g} s"
                    self.states[name] = Observed.unseen(reason, late=True)
            return
        if running.pop(name, None) is not None:
            self.states[name] = state
