"""What `/health` and `/ready` answer: the engine's state, not only the HTTP server's.

The last successful generation is told and never judged: an engine that idles or sleeps is healthy. One that stands
still is not, be it that requests wait for it or that one of our own gets no token.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Optional

from doctor.fixes.vllm_server import processes, state
from doctor.fixes.vllm_server.progress import PROGRESS
from doctor.fixes.vllm_server.settings import SETTINGS

#: what the engine gets to answer its own health check
_PATIENCE_S = 5.0


class Health:
    """Counts of this process's requests, and what the engine says of itself."""

    def __init__(self) -> None:
        self.listening_since: Optional[float] = None
        self.draining = False
        self.in_flight = 0
        self.generations = 0
        self.failures = 0
        self.last_generation: Optional[float] = None

    def succeeded(self) -> None:
        """A generation was answered in full."""
        self.generations += 1
        self.last_generation = time.time()

    async def engine_fault(self) -> Optional[str]:
        """Why the engine cannot answer; None while nothing is known against it."""
        lost = processes.lost()
        if lost is not None:
            return lost
        engine = state.engine()
        try:
            if getattr(engine, "errored", False):
                return "the engine has failed"
            check = getattr(engine, "check_health", None)
            if check is not None:
                await asyncio.wait_for(check(), _PATIENCE_S)
        except asyncio.TimeoutError:
            return f"the engine did not answer its health check within {_PATIENCE_S:g} s"
        except Exception as exc:  # noqa: BLE001 - whatever the engine raises is the answer
            return f"{type(exc).__name__}: {exc}"
        return None

    async def health(self) -> tuple[int, dict[str, Any]]:
        """Status and body of `/health`: 503 only where the engine is known to be dead or to stand still."""
        fault = await self._fault()
        return (503 if fault else 200), {"status": "failed" if fault else "ok", "reason": fault, **self._told()}

    async def ready(self) -> tuple[int, dict[str, Any]]:
        """Status and body of `/ready`: 503 also while requests would be refused or wait for a sleeping engine."""
        fault = await self._fault()
        if fault is None and self.draining:
            fault = "the server is shutting down"
        if fault is None and await self._sleeping():
            fault = "the engine sleeps"
        return (503 if fault else 200), {"status": "not ready" if fault else "ready", "reason": fault, **self._told()}

    async def _fault(self) -> Optional[str]:
        """Why the engine cannot answer, or stands still; asleep, or on its way out, it need not move."""
        fault = await self.engine_fault()
        if fault is not None or self.draining or await self._sleeping():
            return fault
        await PROGRESS.probe()
        return await PROGRESS.fault(SETTINGS.stall_s)

    async def _sleeping(self) -> bool:
        ask = getattr(state.engine(), "is_sleeping", None)
        if ask is None:
            return False
        try:
            return bool(await asyncio.wait_for(ask(), _PATIENCE_S))
        except Exception:  # noqa: BLE001 - an engine that cannot sleep says so by raising
            return False

    def _told(self) -> dict[str, Any]:
        last = self.last_generation
        return {
            "last_generation_age_s": None if last is None else round(time.time() - last, 3),
            "generations": self.generations,
            "failures": self.failures,
            "in_flight": self.in_flight,
            "waited_for_s": round(PROGRESS.still_s(), 3),
            "draining": self.draining,
            "listening_since": self.listening_since,
        }


HEALTH = Health()
