"""Facts from the nodes of a real Ray cluster, and what becomes of nodes that die or freeze under the question."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from doctor.cluster.ray_child import RayChild, RayRefused, Request, answers
from tests.cluster.rays import Rays, ray_cluster

_PLANTED = {"NCCL_SOCKET_IFNAME": "eth7"}


@pytest.fixture(scope="module")
def rays() -> Iterator[Rays]:
    """Three nodes; the second has another environment."""
    with ray_cluster([{}, {"env": _PLANTED}, {}]) as cluster:
        yield cluster


def _ask(rays: Rays, task: str, **more: Any) -> list[dict[str, Any]]:
    request = Request(rays.address, task, more.pop("arguments", {}), **more)
    return list(answers(request, sys.executable, rays.environ))


def test_a_function_of_a_carried_module_runs_once_on_each_node(rays: Rays) -> None:
    lines = _ask(rays, "doctor.core.redact:inert", arguments={"word": "a\x1b[0m"})
    first, *others = lines
    assert first["kind"] == "nodes"
    assert {each["id"] for each in first["nodes"]} == set(rays.ids)
    assert all(each["alive"] and each["resources"]["CPU"] == 2 for each in first["nodes"])
    assert {line["node"] for line in others} == set(rays.ids)
    for line in others:
        assert (line["state"], line["value"]["word"]) == ("ok", "a[0m")
        assert line["value"]["node"]["id"] == line["node"]
        assert abs(line["clock_offset_s"]) <= line["clock_error_s"] + 0.05  # it is one machine


def test_items_are_shared_among_the_nodes_and_errors_have_their_reason(rays: Rays) -> None:
    lines = _ask(rays, "doctor.core.redact:inert", over="items", items=tuple(range(12)))
    assert sorted(line["item"] for line in lines[1:]) == list(range(12))
    assert all(line["value"]["item"] == line["item"] for line in lines[1:])
    assert len({line["node"] for line in lines[1:]}) == 3
    lines = _ask(rays, "doctor.core.redact:is_secret_name")
    assert [line["state"] for line in lines[1:]] == ["failed"] * 3
    assert "TypeError" in lines[1]["reason"]


def test_a_wrong_address_is_refused_at_once(rays: Rays) -> None:
    for address, word in (("127.0.0.1:1", "nothing accepts"), ("local", "local"), ("here", "no address")):
        began = time.monotonic()
        with pytest.raises(RayRefused, match=word):
            list(answers(Request(address, "doctor.core.redact:inert", {}), sys.executable, rays.environ))
        assert time.monotonic() - began < 30


def test_closing_ends_the_driver(rays: Rays) -> None:
    request = Request(rays.address, "doctor.core.redact:inert", {})
    with RayChild(request, sys.executable, rays.environ) as child:
        pid = child.pid
        assert next(child.lines())["kind"] == "nodes"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
