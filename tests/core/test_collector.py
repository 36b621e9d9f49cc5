"""Facts are collected once, side by side, under deadlines, and one that fails costs only itself."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context, Unavailable, fact
from doctor.readers.collector import Collector
from doctor.readers.homes import READERS
from tests.collected import InTurn


@dataclass(frozen=True)
class Planted:
    value: int


@pytest.fixture
def plant() -> Iterator[Callable[..., None]]:
    """Plants `doctor.facts.<name>` modules and takes them away again."""
    names: list[str] = []

    def add(name: str, collect: Callable[..., Any], annotations: dict[str, str], **options: Any) -> None:
        module = types.ModuleType(f"doctor.facts.{name}")
        collect.__annotations__ = {**annotations, "return": "Planted"}
        module.collect = fact(**options)(collect)
        sys.modules[f"doctor.facts.{name}"] = module
        READERS[name] = f"doctor.facts.{name}"
        names.append(name)

    yield add
    for name in names:
        del sys.modules[f"doctor.facts.{name}"], READERS[name]


def test_facts_rest_on_facts_and_each_is_collected_once(plant: Callable[..., None]) -> None:
    calls: list[str] = []

    def base(context: Context) -> Planted:
        calls.append(str(context.cwd))
        return Planted(1)

    plant("planted_base", base, {"context": "Context"})
    plant("planted_a", lambda below: Planted(below.value + 1), {"below": "PlantedBase"})
    plant("planted_b", lambda a, below: Planted(a.value + below.value), {"a": "PlantedA", "below": "PlantedBase"})
    collector = Collector(Context())
    collector.ask(["planted_b", "planted_a"])
    collector.ask(["planted_base"])
    assert collector.states["planted_b"].value == Planted(3)
    assert len(calls) == 1


def test_cases_read_their_facts_in_the_thread_that_asks(plant: Callable[..., None]) -> None:
    """Ten thousand cases would start a thread for each of their facts."""
    plant("planted_thread", lambda: Planted(threading.get_ident()), {})
    for kind, here in ((InTurn, True), (Collector, False)):
        collector = kind(Context())
        collector.ask(["planted_thread"])
        assert (collector.states["planted_thread"].value == Planted(threading.get_ident())) is here


def test_hanging_fact_costs_its_own_time_only(plant: Callable[..., None]) -> None:
    release = threading.Event()
    plant("planted_hang", lambda: release.wait(30), {}, timeout_s=0.3)
    plant("planted_quick", lambda: Planted(1), {})
    plant("planted_after", lambda hang: Planted(2), {"hang": "PlantedHang"})
    plant("planted_without", lambda hang: Planted(3), {"hang": "PlantedHang | None"})
    collector = Collector(Context())
    started = time.monotonic()
    collector.ask(["planted_after", "planted_without", "planted_quick"])
    assert time.monotonic() - started < 5
    release.set()
    assert collector.states["planted_quick"].value == Planted(1)
    assert collector.states["planted_hang"].status == "timeout"
    assert collector.states["planted_hang"].reason == "`planted_hang` did not answer within 0.3 s"
    assert collector.states["planted_after"].reason == collector.states["planted_hang"].reason
    assert collector.states["planted_without"].value == Planted(3)


def test_reasons_and_bugs_become_reasons(plant: Callable[..., None]) -> None:
    def refuses() -> Planted:
        raise Unavailable("no driver")

    def breaks() -> Planted:
        raise ZeroDivisionError("ours")

    plant("planted_refuses", refuses, {})
    plant("planted_breaks", breaks, {})
    collector = Collector(Context())
    collector.ask(["planted_refuses", "planted_breaks", "planted_that_does_not_exist"])
    assert collector.states["planted_refuses"] == Observed.unseen("no driver")
    assert collector.states["planted_breaks"].reason == "could not be read: ZeroDivisionError: ours"
    assert "cannot be loaded" in collector.states["planted_that_does_not_exist"].reason


def test_a_file_stands_for_the_machine_but_not_for_the_command(plant: Callable[..., None]) -> None:
    plant("planted_machine", lambda: Planted(1), {})
    plant("planted_command", lambda given: Planted(given.value), {"given": "PlantedGiven"}, about="command")
    given = {"planted_given": Observed.seen(Planted(7))}
    collector = Collector(Context(), given, from_file="`facts.json`")
    collector.ask(["planted_machine", "planted_command"])
    assert collector.states["planted_machine"].reason == "not in `facts.json`"
    assert collector.states["planted_command"].value == Planted(7)
