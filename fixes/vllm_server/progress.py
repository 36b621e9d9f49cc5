"""Whether the engine moves: what it has sent last, who waits for it, and a request of our own where nobody does.

An engine that is stopped, or hangs in a kernel or a collective, neither fails nor ends, so its own health check is
content. It stands still where somebody has waited for its next output for long and nothing at all has come from it in
that time. One that is saturated sends tokens of others all the while, and is healthy however long its queue is.

vLLM 0.8 to 0.33 hands every message of its core to `engine_core.get_output_async`; of an engine without one only what
`generate` yields is seen, and nothing tells of a request that wants its last output alone (FINAL_ONLY, which the OpenAI
server asks for where the client does not stream): while there is one, nothing is said of such an engine.
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/v1/engine/async_llm.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/v1/engine/async_llm.py
https://github.com/vllm-project/vllm/blob/v0.8.4/vllm/outputs.py (RequestOutput.from_seq_group)
"""

from __future__ import annotations

import asyncio
import functools
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Callable, Optional

#: what the first output of all gets: kernels are compiled when they are first needed
_FIRST_TIMES = 10.0
#: seconds between two requests of our own, and what `/health` waits for one
PROBE_EVERY_S, PROBE_WAIT_S = 10.0, 1.0
#: whoever was stopped himself finds old stamps, and the messages behind them still to be read
_AGAIN_S = 0.2


class Progress:
    """What is known of one engine; none is, until `follow` is called."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._moved_s = time.monotonic()
        self._outputs = 0
        #: when each of those who wait for an output began to
        self._waiting: dict[object, float] = {}
        #: those in flight that tell nothing before their end, of an engine whose core cannot be looked at
        self._silent = 0
        self._sees_core = False
        self._probe: Optional[asyncio.Task[None]] = None
        self._probed_s = -PROBE_EVERY_S
        self._may_probe = True

    def follow(self, engine: Any) -> None:
        """Look on from now on; an engine that cannot be looked at is left alone."""
        if engine is None or engine is self._engine:
            return
        with suppress(Exception):
            self._put(engine, "generate", self._around_generate)
            self._engine = engine
        core = getattr(engine, "engine_core", None)
        if core is not None:
            with suppress(Exception):
                self._put(core, "get_output_async", self._around_output)
                self._sees_core = True
        self._may_probe = _generates(engine)

    @staticmethod
    def _put(owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(around(original)))

    def _around_output(self, original: Any) -> Any:
        async def get_output(*args: Any, **kwargs: Any) -> Any:
            message = await original(*args, **kwargs)
            self._moved()
            return message

        return get_output

    def _around_generate(self, original: Any) -> Any:
        def generate(*args: Any, **kwargs: Any) -> Any:
            results = original(*args, **kwargs)
            if not self._sees_core and _tells_its_end_alone(*args, **kwargs):
                return self._unseen(results)
            return self._counted(results)

        return generate

    async def _counted(self, results: Any) -> AsyncIterator[Any]:
        """The same results; a reader who takes his time between two of them waits for nobody."""
        mark, iterator = object(), results.__aiter__()
        try:
            while True:
                self._waiting[mark] = time.monotonic()
                try:
                    each = await iterator.__anext__()
                except StopAsyncIteration:
                    self._moved()
                    return
                finally:
                    self._waiting.pop(mark, None)
                self._outputs += 1
                self._moved()
                yield each
        finally:
            if hasattr(iterator, "aclose"):
                await iterator.aclose()

    async def _unseen(self, results: Any) -> AsyncIterator[Any]:
        """The same results, where it cannot be told whether the engine works on them."""
        self._silent += 1
        try:
            async for each in results:
                yield each
        finally:
            self._silent -= 1
            self._moved()
            if hasattr(results, "aclose"):
                await results.aclose()

    def _moved(self) -> None:
        self._moved_s = time.monotonic()

    def still_s(self) -> float:
        """Seconds for which somebody has waited while nothing came; 0 where nobody waits."""
        if not self._waiting:
            return 0.0
        return time.monotonic() - max(min(self._waiting.values()), self._moved_s)

    async def fault(self, limit_s: float) -> Optional[str]:
        """Why the engine cannot be working; None where it moves, or where nothing tells.

        Args:
            limit_s: seconds without any output after which it stands still; ten times as long before the first one.

        """
        if self._engine is None or self._silent:
            return None
        limit_s *= 1.0 if self._outputs else _FIRST_TIMES
        if self.still_s() >= limit_s:
            await asyncio.sleep(_AGAIN_S)
        still_s = self.still_s()
        if still_s < limit_s:
            return None
        return f"the engine has produced nothing for {still_s:.0f} s while {len(self._waiting)} requests wait for it"

    async def probe(self) -> None:
        """Ask an engine for one token for which nobody waits, and wait a moment for it.

        What does not come stays asked for: whether the engine stands still is for `fault` to say.
        """
        idle = self._engine is not None and not self._waiting and not self._silent
        now = time.monotonic()
        if (
            idle
            and self._may_probe
            and self._probe is None
            and now - max(self._probed_s, self._moved_s) > PROBE_EVERY_S
        ):
            self._probed_s = now
            self._probe = asyncio.ensure_future(self._ask())
        if self._probe is not None:
            await asyncio.wait({self._probe}, timeout=PROBE_WAIT_S)

    async def _ask(self) -> None:
        """One token; an engine that takes no such request (it embeds, it ranks) is not asked again."""
        try:
            sampling = _one_token()
            async for _ in self._engine.generate({"prompt_token_ids": [1]}, sampling, f"doctor-{uuid.uuid4().hex}"):
                pass
        except Exception:  # noqa: BLE001 - whatever it is: a dead engine tells it elsewhere
            self._may_probe = False
        finally:
            self._probe = None


def _generates(engine: Any) -> bool:
    """Whether the model generates, as far as it says so: a core that embeds or ranks may die of a request for a token.

    https://github.com/vllm-project/vllm/blob/v0.9.2/vllm/v1/worker/gpu_model_runner.py (`_pool`, `compute_logits`)
    """
    told = getattr(getattr(engine, "model_config", None), "runner_type", "generate")
    return not isinstance(told, str) or told == "generate"


def _tells_its_end_alone(_prompt: Any = None, sampling_params: Any = None, *_args: Any, **_kwargs: Any) -> bool:
    return getattr(getattr(sampling_params, "output_kind", None), "name", "") == "FINAL_ONLY"


def _one_token() -> Any:
    from vllm.sampling_params import SamplingParams

    return SamplingParams(max_tokens=1, temperature=0.0)


PROGRESS = Progress()
