"""What comes back from a Ray cluster: late, lost, silent, in pieces. Ray itself is played, so that time is, too."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.cluster import ray_child, ray_stream, ray_work
from doctor.cluster.ray_child import RayChild, RayRefused, Request


class PlayedRay:
    """Answers of tasks that are ready at their time of a clock that only this class moves.

    Args:
        takes_s: seconds that a node needs for a task, None for ever.
        fetch_s: seconds that fetching an answer takes.

    """

    def __init__(self, takes_s: dict[str, float | None], fetch_s: float = 0.0) -> None:
        self.now, self.takes_s, self.fetch_s = 0.0, takes_s, fetch_s
        self.ready: dict[int, float | None] = {}
        self.exceptions = SimpleNamespace(GetTimeoutError=TimeoutError, RayTaskError=ArithmeticError)

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def remote(self, **_: Any) -> Callable[[Any], Any]:
        return lambda function: function

    def start(self, node: str) -> int:
        reference, takes = len(self.ready), self.takes_s[node]
        self.ready[reference] = None if takes is None else self.now + takes
        return reference

    def wait(self, references: Sequence[int], num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        def there() -> list[int]:
            return [each for each in references if (at := self.ready[each]) is not None and at <= self.now]

        if not there():
            self.now += timeout
        ready = there()[:num_returns]
        return ready, [each for each in references if each not in ready]

    def get(self, reference: int, timeout: float) -> float:
        assert self.ready[reference] is not None
        assert self.fetch_s <= timeout
        self.now += self.fetch_s
        return self.now

    def cancel(self, reference: int, *, force: bool) -> None:
        assert force
        self.ready[reference] = None


def _played(monkeypatch: pytest.MonkeyPatch, ray: PlayedRay) -> None:
    def pinned(_crew: Any, _function: Any, node: dict[str, Any]) -> Any:
        return SimpleNamespace(remote=lambda *_: ray.start(node["id"]))

    monkeypatch.setattr(ray_work, "time", ray)
    monkeypatch.setattr(ray_work._Crew, "_pinned", pinned)


def _node(name: str, cpus: int = 1) -> dict[str, Any]:
    return {"id": name, "name": name, "address": name, "alive": True, "resources": {"CPU": cpus}, "reason": ""}


def _request(**more: Any) -> dict[str, Any]:
    return {"task": "x:y", "arguments": {}, "timeout_s": 60.0, "deadline_s": 1000.0, **more}


def test_an_answer_that_comes_while_others_are_fetched_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = PlayedRay({"a": 0.0, "b": 1.0, "never": None}, fetch_s=14.0)
    _played(monkeypatch, ray)
    lines: list[dict[str, Any]] = []
    many = [_node("a") for _ in range(8)]
    ray_work.ask_nodes(ray, _request(), [*many, _node("b"), _node("never")], lines.append)
    states = {line["node"]: line["state"] for line in lines}
    assert states == {"a": "ok", "b": "ok", "never": "silent"}
    assert len(lines) == 10
    assert ray.now > 60


def test_a_node_that_never_answers_gets_two_items_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = PlayedRay({"good": 30.0, "frozen": None})
    _played(monkeypatch, ray)
    lines: list[dict[str, Any]] = []
    items = list(range(12))
    ray_work.share_items(ray, _request(items=items), [_node("good"), _node("frozen")], lines.append)
    assert sorted(line["item"] for line in lines) == items
    assert [line["node"] for line in lines if line["state"] == "silent"] == ["frozen"] * 2


def test_a_node_that_is_lost_while_the_stream_ends_takes_nobody_with_it() -> None:
    ray = PlayedRay({"x": 0.0})
    ray.get = lambda *_, **__: (_ for _ in ()).throw(ConnectionError("gone"))  # type: ignore[method-assign]
    lines: list[dict[str, Any]] = []
    flow = ray_stream.NodeStream(ray, {"task": "doctor.base.redact:inert", "timeout_s": 30.0}, lines.append)
    source = flow._sources["x"] = ray_stream.NodeActor(_node("x"), "x")
    source.actor, source.doing = object(), "read"
    flow._calls[ray.start("x")] = source
    flow.close(5.0)
    assert [(line["kind"], line["node"]) for line in lines] == [("lost", "x")]


_NODES = '{"kind": "nodes", "nodes": []}'


def _interpreter(folder: Path, *commands: str) -> str:
    """A program that plays the driver."""
    program = folder / "python"
    program.write_text("\n".join(["#!/bin/sh", "read request", *commands]) + "\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def _asked(over: Any) -> Request:
    return Request("here:1", "doctor.base.redact:inert", {}, over=over, deadline_s=0.3)


@pytest.mark.process
def test_what_an_interpreter_prints_at_its_start_is_no_answer(tmp_path: Path) -> None:
    say = [f"echo '{line}'" for line in ("Welcome to the cluster!", "", _NODES, '{"kind": "end"}')]
    with RayChild(_asked("nodes"), _interpreter(tmp_path, *say)) as child:
        assert [line["kind"] for line in child.lines()] == ["nodes"]


@pytest.mark.process
@pytest.mark.parametrize("stopped", [False, True])
def test_a_stream_that_falls_silent_is_told_unless_it_was_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(ray_child, "_GRACE_S", 0.2)
    with RayChild(_asked("stream"), _interpreter(tmp_path, f"echo '{_NODES}'", "exec sleep 60")) as child:
        lines = child.lines()
        assert next(lines)["kind"] == "nodes"
        if stopped:
            child.stop()
            assert list(lines) == []
        else:
            with pytest.raises(RayRefused, match="said nothing for"):
                next(lines)
