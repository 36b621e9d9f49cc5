"""What reward functions return: NaN and infinities are seen in whatever holds them, and nothing is changed."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.guard.rewards import Bad, Rewards

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
nan, inf = math.nan, math.inf


def returning(result: Any) -> Any:
    def reward(**_: Any) -> Any:
        return result

    return reward


async def promised(**_: Any) -> list[float]:
    return [0.5, nan]


class Promises:
    async def __call__(self, **_: Any) -> list[float]:
        return [0.5, nan]


def attached(*functions: Any) -> tuple[list[Bad], Any, Rewards]:
    """What is told, the trainer, and what looks on."""
    told: list[Bad] = []
    trainer = SimpleNamespace(reward_funcs=list(functions))
    rewards = Rewards(told.append)
    rewards.attach(trainer)
    return told, trainer, rewards


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ([0.5, nan, None, 1], ("nan", (1,), 4)),
        ((inf, nan, 0.5), ("inf", (0, 1), 3)),
        ([numpy.float32(0.5), numpy.float32(nan)], ("nan", (1,), 2)),
        (numpy.array([0.5, -inf]), ("inf", (1,), 2)),
        (numpy.array([0.5, nan], dtype=numpy.float16), ("nan", (1,), 2)),
        (torch.tensor([0.5, nan]), ("nan", (1,), 2)),
        ([torch.tensor(0.5), torch.tensor(inf)], ("inf", (1,), 2)),
    ],
)
def test_a_number_that_is_none_is_seen_in_lists_arrays_and_tensors(result: Any, told: tuple[Any, ...]) -> None:
    seen, trainer, rewards = attached(returning(result))
    assert trainer.reward_funcs[0](completions=[]) is result
    assert seen == [Bad("reward", *told)]
    rewards.detach()
    assert trainer.reward_funcs[0](completions=[]) is result
    assert len(seen) == 1


@pytest.mark.parametrize(
    "result",
    [
        [None, 0.5, 1], None, nan, "nan", torch.tensor(nan), torch.tensor([[nan]]), [torch.tensor([nan, nan])],
        torch.empty(2, device="meta"), [torch.empty((), device="meta")],
    ],
)  # fmt: skip
def test_what_is_not_one_number_a_completion_or_lies_on_a_device_is_left_to_the_trainer(
    result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    seen, trainer, rewards = attached(returning(result))
    assert trainer.reward_funcs[0](completions=[]) is result
    assert seen == []
    assert rewards.bad == {}
    assert capsys.readouterr().err == "", "no hook has failed"


class OnDevice:
    """A tensor of numbers on a GPU, as far as it is looked at."""

    ndim, device, read = 1, SimpleNamespace(type="cuda"), 0

    def tolist(self) -> list[float]:
        self.read += 1
        return [0.5, nan]


def test_what_lies_on_a_device_is_read_behind_an_alarm_only() -> None:
    result = OnDevice()
    seen, trainer, rewards = attached(returning(result))
    trainer.reward_funcs[0](completions=[])
    assert (seen, result.read) == ([], 0)
    assert rewards.first_bad() == Bad("reward", "nan", (1,), 2)
    assert (seen, result.read) == ([Bad("reward", "nan", (1,), 2)], 1)


def test_what_lies_on_a_device_counts_until_the_function_is_asked_again() -> None:
    results = [OnDevice(), [0.5, 0.5]]
    seen, trainer, rewards = attached(lambda **_: results.pop(0))
    for _ in range(2):
        trainer.reward_funcs[0](completions=[])
    assert rewards.first_bad() is None
    assert seen == []


@pytest.mark.parametrize("function", [promised, functools.partial(promised, weight=1)])
def test_what_a_coroutine_promises_is_seen(function: Any) -> None:
    seen, trainer, _ = attached(function)
    around = trainer.reward_funcs[0]
    assert inspect.iscoroutinefunction(around), "or the trainer would not await it"
    assert asyncio.run(around(completions=[]))[0] == 0.5
    assert [each[1:] for each in seen] == [("nan", (1,), 2)]


@pytest.mark.parametrize("function", [Promises(), functools.partial(Promises())])
def test_an_object_whose_call_is_asynchronous_is_left_as_it_is(function: Any) -> None:
    """TRL tells that from its class, and would take a function around it for a synchronous one."""
    _, trainer, _ = attached(function)
    assert trainer.reward_funcs[0] is function


def test_models_are_left_as_they_are() -> None:
    model = torch.nn.Linear(1, 1)
    _, trainer, _ = attached(model)
    assert trainer.reward_funcs[0] is model
