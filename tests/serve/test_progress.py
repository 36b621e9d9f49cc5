"""Whether an engine moves, as `/health` tells it: of one that is saturated, stopped, idle, asleep, or unlike any."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.fixes.vllm_server import health, processes, progress, state
from doctor.fixes.vllm_server.settings import ServerBounds

LIMIT_S = 0.4


class Engine:
    """Gives outputs as `let` allows; `busy` requests of others move its core all the while."""

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.let.set()
        self.asked: list[Any] = []
        self.closed = 0
        self.asleep = False
        self.engine_core = SimpleNamespace(get_output_async=self._message)

    async def _message(self) -> str:
        await asyncio.sleep(0.02)
        return "a token of somebody"

    async def generate(self, prompt: Any, sampling_params: Any, _request: str) -> AsyncIterator[str]:
        self.asked.append(prompt)
        try:
            for each in ("one", "two"):
                await self.let.wait()
                yield each
        finally:
            self.closed += 1

    async def is_sleeping(self) -> bool:
        return self.asleep


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    made = progress.Progress()
    monkeypatch.setattr(progress, "PROGRESS", made)
    for module in (health, state):
        monkeypatch.setattr(module, "PROGRESS", made)
    monkeypatch.setattr(health, "SETTINGS", ServerBounds(stall_s=LIMIT_S))
    monkeypatch.setattr(progress, "PROBE_EVERY_S", 0.1)
    monkeypatch.setattr(progress, "PROBE_WAIT_S", 0.05)
    monkeypatch.setattr(progress, "_AGAIN_S", 0.05)
    monkeypatch.setattr(progress, "_FIRST_TIMES", 3.0)
    monkeypatch.setattr(progress, "_one_token", lambda: "one token")
    monkeypatch.setattr(processes, "_needed", [])


async def _all(results: Any) -> list[str]:
    return [each async for each in results]


async def _warm(engine: Any) -> Any:
    application = SimpleNamespace(
        state=SimpleNamespace(engine_client=engine), routes=[], exception_handlers={}, build_middleware_stack=None
    )
    state.complete(application)
    if hasattr(engine, "generate"):
        await _all(engine.generate("warm", None, "0"))
    return health.Health()


async def _status(told: Any) -> int:
    return int((await told.health())[0])


def _run(scene: Any) -> None:
    asyncio.run(asyncio.wait_for(scene(), 30))


def test_requests_that_wait_for_an_engine_which_puts_out_nothing() -> None:
    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        engine.let.clear()
        waiting = asyncio.ensure_future(_all(engine.generate("x", None, "1")))
        await asyncio.sleep(0)
        assert await _status(told) == 200
        await asyncio.sleep(LIMIT_S + 0.1)
        code, body = await told.health()
        assert (code, body["status"], body["waited_for_s"] > LIMIT_S) == (503, "failed", True)
        assert (await told.ready())[0] == 503
        engine.asleep = True
        assert await _status(told) == 200, "one that sleeps is not to move"
        engine.asleep = False
        engine.let.set()
        assert await waiting == ["one", "two"]
        assert await _status(told) == 200

    _run(scene)


def test_a_saturated_engine_is_healthy() -> None:
    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        engine.let.clear()
        waiting = [asyncio.ensure_future(_all(engine.generate("x", None, str(at)))) for at in range(5)]
        for _ in range(40):  # others get their tokens
            await engine.engine_core.get_output_async()
            assert await _status(told) == 200
        engine.let.set()
        await asyncio.gather(*waiting)

    _run(scene)


def test_a_reader_who_takes_his_time_waits_for_nobody() -> None:
    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        results = engine.generate("x", None, "1")
        assert await results.__anext__() == "one"
        await asyncio.sleep(LIMIT_S + 0.2)
        assert progress.PROGRESS.still_s() == 0
        assert await _status(told) == 200
        await results.aclose()
        assert engine.closed == len(engine.asked), "its own generator is told that nobody reads on"

    _run(scene)


@pytest.mark.parametrize("end", ["cancelled", "raised"])
def test_who_went_away_waits_no_more(end: str) -> None:
    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        engine.let.clear()
        if end == "raised":
            engine.let.wait = _raises  # type: ignore[method-assign,assignment]
        waiting = asyncio.ensure_future(_all(engine.generate("x", None, "1")))
        await asyncio.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert progress.PROGRESS.still_s() == 0
        assert engine.closed == 2
        assert told.in_flight == 0

    _run(scene)


async def _raises() -> None:
    raise RuntimeError("no")


def test_an_idle_engine_is_asked_for_a_token() -> None:
    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        await asyncio.sleep(0.15)
        assert await _status(told) == 200
        assert engine.asked[-1] == {"prompt_token_ids": [1]}
        count = len(engine.asked)
        assert await _status(told) == 200
        assert len(engine.asked) == count, "not at each call"
        engine.let.clear()
        await asyncio.sleep(0.15)
        assert await _status(told) == 200, "not at once: it may load weights"
        await asyncio.sleep(LIMIT_S + 0.1)
        assert await _status(told) == 503
        assert len(engine.asked) == count + 1, "one that stands still is asked once"
        engine.let.set()
        await asyncio.sleep(0.05)
        assert await _status(told) == 200

    _run(scene)


def test_before_the_first_output_it_takes_longer() -> None:
    async def scene() -> None:
        engine = Engine()
        engine.let.clear()
        progress.PROGRESS.follow(engine)
        waiting = asyncio.ensure_future(_all(engine.generate("x", None, "1")))
        await asyncio.sleep(LIMIT_S + 0.2)
        assert await progress.PROGRESS.fault(LIMIT_S) is None
        await asyncio.sleep(2 * LIMIT_S)
        assert await progress.PROGRESS.fault(LIMIT_S) is not None
        engine.let.set()
        await waiting

    _run(scene)


class Embeds(Engine):
    async def generate(self, prompt: Any, _sampling: Any, _request: str) -> AsyncIterator[str]:
        self.asked.append(prompt)
        raise ValueError("this model generates nothing")
        yield ""


class Slotted:
    __slots__ = ()


@pytest.mark.parametrize("made", [Slotted, object, lambda: None, lambda: SimpleNamespace(generate=None)])
def test_an_engine_that_cannot_be_looked_at_is_left_alone(made: Any) -> None:
    async def scene() -> None:
        progress.PROGRESS.follow(made())
        assert await health.Health()._fault() is None

    _run(scene)


def test_an_engine_that_refuses_our_request_is_not_asked_again() -> None:
    async def scene() -> None:
        engine = Embeds()
        progress.PROGRESS.follow(engine)
        await asyncio.sleep(0.15)
        told = health.Health()
        for _ in range(3):
            assert await told._fault() is None
            await asyncio.sleep(0.12)
        assert len(engine.asked) == 1

    _run(scene)


def test_an_engine_that_embeds_is_asked_for_no_token() -> None:
    """The core of vLLM 0.9.2 dies of it; one that says nothing of its model, or generates, is asked."""

    async def asked(engine: Any) -> int:
        made = progress.Progress()
        made.follow(engine)
        made._moved_s -= 1.0
        await made.probe()
        return len(engine.asked)

    async def scene() -> None:
        for told, count in (("pooling", 0), ("draft", 0), ("generate", 1), (None, 1)):
            engine = Engine()
            engine.model_config = SimpleNamespace(runner_type=told)  # type: ignore[attr-defined]
            assert await asked(engine) == count, told

    _run(scene)


@pytest.mark.parametrize("seen", [True, False])
def test_a_request_that_tells_nothing_before_its_end(seen: bool) -> None:
    """Of an engine without a core that can be looked at, it may be working on it all the while."""

    async def scene() -> None:
        engine = Engine()
        if not seen:
            del engine.engine_core
        told = await _warm(engine)
        engine.let.clear()
        wants = SimpleNamespace(output_kind=SimpleNamespace(name="FINAL_ONLY"))
        waiting = asyncio.ensure_future(_all(engine.generate("x", sampling_params=wants, _request="1")))
        streamed = asyncio.ensure_future(_all(engine.generate("y", None, "2")))
        asked = len(engine.asked)
        await asyncio.sleep(LIMIT_S + 0.2)
        assert await _status(told) == (503 if seen else 200)
        assert len(engine.asked) == asked + 2, "nor is it asked for a token of our own, which would wait behind it"
        engine.let.set()
        assert await waiting == await streamed == ["one", "two"]
        assert await _status(told) == 200
        engine.let.clear()
        streamed = asyncio.ensure_future(_all(engine.generate("y", None, "3")))
        await asyncio.sleep(LIMIT_S + 0.1)
        assert await _status(told) == 503, "what is seen is judged again"
        engine.let.set()
        await streamed

    _run(scene)


def test_a_server_that_was_stopped_itself_does_not_blame_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the pause all stamps are old, and the messages of the engine are still to be read."""

    async def scene() -> None:
        engine = Engine()
        told = await _warm(engine)
        engine.let.clear()
        waiting = asyncio.ensure_future(_all(engine.generate("x", None, "1")))
        await asyncio.sleep(0)
        began = progress.time.monotonic
        monkeypatch.setattr(progress.time, "monotonic", lambda: began() + 100.0)
        asyncio.get_running_loop().call_soon(engine.let.set)
        assert await _status(told) == 200
        await waiting

    _run(scene)
