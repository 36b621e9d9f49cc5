"""Who is behind, told by the frames of all ranks."""

from __future__ import annotations

import json

import pytest

from doctor.catalogue.standing import Standing, judge, standing_of
from doctor.checks.launch.run_stood_still import of_standstill

Frames = tuple[tuple[str, int, str], ...]

SITE = "/opt/venv/lib/python3.11/site-packages"
GATHER = (
    (f"{SITE}/torch/distributed/distributed_c10d.py", 4287, "all_gather"),
    (f"{SITE}/torch/distributed/c10d_logger.py", 83, "wrapper"),
    (f"{SITE}/transformers/trainer_pt_utils.py", 207, "distributed_concat"),
    ("/home/me/train.py", 26, "<module>"),
)
BACKWARD = (
    (f"{SITE}/torch/autograd/graph.py", 800, "_engine_run_backward"),
    (f"{SITE}/torch/autograd/__init__.py", 347, "backward"),
)
REWARD = (
    ("/opt/python/lib/python3.11/socket.py", 706, "readinto"),
    ("/home/me/rewards.py", 31, "judge"),
    (f"{SITE}/trl/trainer/grpo_trainer.py", 1300, "_calculate_rewards"),
)


def _standing(rank: int, frames: tuple[tuple[str, int, str], ...], step: int | None = 5, world: int = 2) -> Standing:
    return Standing(rank, world, step, 130.0, 1.5, frames, "node1", 100 + rank, f"stacks/rank{rank}.txt")


def test_the_collective_is_the_innermost_that_the_program_waits_in() -> None:
    assert _standing(0, GATHER).collective == "all_gather"
    assert _standing(0, BACKWARD).collective == "backward"
    assert _standing(0, REWARD).collective is None


def test_the_place_is_the_innermost_outside_of_the_standard_library() -> None:
    assert _standing(0, REWARD).at == "judge (rewards.py:31)"
    assert _standing(0, GATHER).at == "all_gather (torch/distributed/distributed_c10d.py:4287)"
    assert _standing(0, REWARD[:1]).at == "readinto (socket.py:706)"
    assert _standing(0, ()).at == ""


def test_the_rank_outside_of_the_collective_is_behind() -> None:
    standstill = judge([_standing(0, GATHER), _standing(1, REWARD)])
    assert standstill is not None
    assert (standstill.behind, standstill.waiting, standstill.silent) == ((1,), "all_gather", ())
    finding = of_standstill(standstill)
    assert finding.where.rank == 1
    assert finding.words("en").headline == "No step for 2 min after step 5: rank 1 is in `judge (rewards.py:31)`"
    assert "wait in `all_gather`, and rank 1 is not among them" in finding.words("en").explanation
    assert "rank 1" in finding.words("zh").headline
    assert len(finding.evidence) == 2


def test_an_older_step_is_behind() -> None:
    standstill = judge([_standing(0, GATHER, 5), _standing(1, GATHER, 4), _standing(2, GATHER, 5)])
    assert standstill is not None
    assert (standstill.behind, standstill.waiting) == ((1,), "all_gather")


@pytest.mark.parametrize("late", [REWARD, BACKWARD, GATHER])
def test_where_a_rank_behind_stands_is_not_said_of_the_others(late: Frames) -> None:
    standstill = judge([_standing(0, late, 4, 3), _standing(1, GATHER, 5, 3), _standing(2, GATHER, 5, 3)])
    assert standstill is not None
    assert [(each.collective, tuple(each.ranks)) for each in standstill.waits] == [("all_gather", (1, 2))]
    assert (standstill.behind, standstill.waiting) == ((0,), "all_gather")


def test_nobody_is_accused_where_the_stacks_tell_nothing() -> None:
    for ranks in ([_standing(0, REWARD), _standing(1, REWARD)], [_standing(0, GATHER), _standing(1, GATHER)]):
        standstill = judge(ranks)
        assert standstill is not None
        assert standstill.behind == ()
        assert of_standstill(standstill).where.rank is None


def test_a_silent_rank_may_be_the_one_so_nobody_else_is_accused() -> None:
    standstill = judge([_standing(0, GATHER, world=3), _standing(1, REWARD, world=3)])
    assert standstill is not None
    assert (standstill.behind, standstill.silent) == ((), (2,))
    assert "No answer came from rank 2" in of_standstill(standstill).words("en").explanation


def test_a_majority_outside_accuses_nobody() -> None:
    standstill = judge([_standing(0, GATHER, world=3), _standing(1, REWARD, world=3), _standing(2, REWARD, world=3)])
    assert standstill is not None
    assert standstill.behind == ()


REDUCE = (
    (f"{SITE}/torch/distributed/distributed_c10d.py", 2900, "all_reduce"),
    (f"{SITE}/torch/distributed/c10d_logger.py", 83, "wrapper"),
    ("/home/me/metrics.py", 12, "mean_over_ranks"),
    ("/home/me/train.py", 40, "<module>"),
)


@pytest.mark.parametrize("one", [GATHER, BACKWARD, REDUCE])
@pytest.mark.parametrize("other", [GATHER, BACKWARD, REDUCE])
@pytest.mark.parametrize("count", [2, 3, 8])
def test_all_are_said_to_wait_in_one_collective_only_where_they_do(one: Frames, other: Frames, count: int) -> None:
    """Whatever the words say of a collective, each rank that they count in stands there in the evidence."""
    ranks = [_standing(0, other, world=count), *(_standing(each, one, world=count) for each in range(1, count))]
    standstill = judge(ranks)
    assert standstill is not None
    finding = of_standstill(standstill)
    told = finding.words("en").explanation
    assert ("All ranks that answered wait in" in told) == (one is other)
    assert ("different collectives" in finding.words("en").headline) == (one is not other)
    for each in ranks if one is not other else ():
        assert each.collective is not None
        assert f"`{each.collective}`" in told
        assert all(frame in told and frame in finding.words("zh").explanation for frame in each.led_by)
    assert standstill.behind == ()


def test_the_frames_that_led_there_are_the_callers_and_the_users_own() -> None:
    assert _standing(0, GATHER).led_by == (
        "distributed_concat (transformers/trainer_pt_utils.py:207)", "<module> (train.py:26)",
    )  # fmt: skip
    assert _standing(0, REDUCE).led_by == ("mean_over_ranks (metrics.py:12)",)
    assert _standing(0, BACKWARD).led_by == ()


def test_a_rank_in_an_earlier_step_is_not_said_to_be_outside() -> None:
    standstill = judge([_standing(0, GATHER, 5), _standing(1, GATHER, 4)])
    assert standstill is not None
    told = of_standstill(standstill).words("en").explanation
    assert "The last step of rank 1 is older" in told
    assert "is not among them" not in told


def test_no_words_no_standstill() -> None:
    assert judge([]) is None


def test_the_last_words_of_a_rank_count_and_pass_through_an_event() -> None:
    said = [_standing(1, GATHER), _standing(1, REWARD), _standing(0, GATHER)]
    events = [
        json.loads(
            json.dumps(
                {"rank": each.rank, "step": each.step, "host": each.host, "pid": each.pid, "data": each.as_data()}
            )
        )
        for each in said
    ]
    back = [standing_of(each) for each in events]
    assert back == said
    standstill = judge(back)
    assert standstill is not None
    assert standstill.behind == (1,)
