"""What follows of waits: where they end, and who cannot go on whatever the others do."""

from __future__ import annotations

import pytest

from doctor.hang.graph import Graph, Wait, graph_of
from doctor.hang.look import Hang, ProcessNode
from doctor.hang.told import sentences


def waits(*pairs: tuple[int, tuple[int, ...]], every: bool = False) -> list[Wait]:
    """Waits of one kind."""
    return [Wait(who, targets, "socket", every=every) for who, targets in pairs]


def test_the_sink_is_that_of_most() -> None:
    graph = graph_of(waits((1, (2,)), (2, (3,)), (4, (3,)), (5, (6,))))
    assert graph.sinks == (3, 6)
    assert graph.waiters == {3: (1, 2, 4), 6: (5,)}
    assert graph.cycles == ()


def test_one_that_may_go_on_is_enough() -> None:
    loader = graph_of(
        waits((1, (2, 3)), (3, (1,)))
    )  # a worker that is idle waits for the main process, which waits for any
    assert loader.cycles == ()
    assert loader.sinks == (2,)


def test_where_all_are_needed_one_that_cannot_is_enough() -> None:
    needed = graph_of([*waits((1, (2, 4)), every=True), *waits((2, (3,)), (3, (2,)))])
    assert [set(each) for each in needed.cycles] == [{2, 3}]
    assert graph_of(waits((1, (2, 4)), (2, (1,)))).cycles == ()


@pytest.mark.parametrize("size", [2, 3, 7])
def test_circles(size: int) -> None:
    graph = graph_of(waits(*((each, ((each + 1) % size,)) for each in range(size)), (99, (0,))))
    assert [set(each) for each in graph.cycles] == [set(range(size))]


def test_nobody_is_stuck_for_whom_something_outside_may_answer() -> None:
    out = Wait(2, (1,), "socket", outside="10.0.0.7:8000")
    assert graph_of([*waits((1, (2,))), out]).cycles == ()


def test_large_graphs_are_quick() -> None:
    everybody = tuple(range(256))
    graph = graph_of([Wait(each, tuple(one for one in everybody if one != each), "collective", every=True)
                      for each in everybody])  # fmt: skip
    assert len(graph.cycles) == 1
    assert len(graph.cycles[0]) == 2


def test_a_stack_that_nobody_read_is_not_said_to_wait_for_nothing() -> None:
    read = ProcessNode(1, "train.py (pid 1)", "train.py", "runs", "train.py:3", by="hook")
    blind = ProcessNode(2, "tail (pid 2)", "tail", "sleeps", "", blind="py-spy is not installed")
    said = sentences(Hang({1: read, 2: blind}, Graph(())))
    assert said == ("No process was seen to wait for another one; 1 of 2 Python stacks are unknown.",)
    assert sentences(Hang({1: read}, Graph(()))) == ("No process waits for another one.",)
