"""The layer between uvicorn and the server's application: health, bounds, and errors that say why.

Server errors are held back and told as JSON: with the cause that the doctor found in the engine's own output where the
engine died, for vLLM's answer is empty or says "see stack trace (above)".
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import sys
import traceback
from typing import Any, Awaitable, Callable, Mapping, Optional

from doctor.base.redact import redact_text
from doctor.fixes.vllm_server import processes, record, state
from doctor.fixes.vllm_server.death import DEATH, EngineDeadError, known
from doctor.fixes.vllm_server.health import HEALTH
from doctor.fixes.vllm_server.requests import (
    DEMO,
    GENERATING,
    Receive,
    RequestRefused,
    check_key,
    checked,
    header,
    path_of,
)
from doctor.fixes.vllm_server.settings import SETTINGS

Scope = dict[str, Any]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_DATA = b"data: "
#: the last event of a stream that failed (vLLM's `create_streaming_error_response`)
_BREAKS_OFF = _DATA + b'{"error":'

#: files of vLLM that take a prompt apart
_READS_PROMPTS = re.compile(r"[\\/]vllm[\\/](?:inputs[\\/]|v1[\\/]engine[\\/](?:input_)?processor\.py|renderers[\\/])")

#: errors after which the engine does not answer any more
_DEAD = frozenset({"EngineDeadError", "AsyncEngineDeadError", "MQEngineDeadError"})


def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    """Put the guard around the application that uvicorn has loaded."""

    @functools.wraps(original)
    def load_guarded(self: Any) -> Any:
        result = original(self)
        if getattr(self, "interface", "asgi3") == "asgi3":
            self.loaded_app = RequestGuard(self.loaded_app)
        return result

    return load_guarded


class RequestGuard:
    """An ASGI application around another."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse or pass on."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        path = path_of(scope)
        try:
            check_key(scope, SETTINGS)
            if scope["method"] in {"GET", "HEAD"} and path in {"/health", "/ready"}:
                await answer(send, *(await (HEALTH.health() if path == "/health" else HEALTH.ready())))
                return
            if scope["method"] == "POST":
                if HEALTH.draining and path in GENERATING:
                    raise RequestRefused(503, "shutting_down", "the server is shutting down")  # noqa: TRY301
                receive = await checked(scope, receive, SETTINGS)
        except RequestRefused as exc:
            await answer(send, exc.status, told(exc.kind, exc.message))
            return
        await self._pass_on(scope, receive, send, generates=scope["method"] == "POST" and path in GENERATING)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, *, generates: bool) -> None:
        exchange = Exchange(send)
        demo = SETTINGS.demo and path_of(scope) == DEMO
        scope[state.ERRORS] = exchange.errors
        HEALTH.in_flight += generates
        try:
            await self._answered(scope, exchange.listening(receive), exchange.send, generates=generates)
        except Exception as exc:
            exchange.errors.append(exc)
            await exchange.finish(demo=demo)
            if not 400 <= (exchange.status or 500) < 500:
                raise  # for uvicorn's log
        else:
            await exchange.finish(demo=demo)
        finally:
            HEALTH.in_flight -= generates
            if generates and exchange.good:
                HEALTH.succeeded()
            elif generates and exchange.failed:
                HEALTH.failures += 1

    async def _answered(self, scope: Scope, receive: Receive, send: Send, *, generates: bool) -> None:
        """Let the application answer; one that waits for a dead engine is taken from it.

        Raises:
            EngineDeadError: in the place of the answer.

        """
        task = asyncio.current_task()
        if generates:
            if DEATH.reason is not None:
                raise EngineDeadError(DEATH.reason)
            DEATH.waiting.add(task)
        try:
            await self._application(scope, receive, send)
        except asyncio.CancelledError:
            if not DEATH.was_cut(task):
                raise
            raise EngineDeadError(DEATH.reason) from None
        finally:
            DEATH.waiting.discard(task)


class Exchange:
    """One answer on its way to the client: passed on as it comes, unless it says that the server failed.

    `errors` collects what was raised, also by those whom the application's own handlers answered for.
    """

    def __init__(self, send: Send) -> None:
        self.errors: list[BaseException] = []
        self.status: Optional[int] = None
        self._send = send
        self._held: list[Mapping[str, Any]] = []
        self._headers: Scope = {"headers": []}
        self._ended = False
        self._gone = False
        self._broken = False

    @property
    def good(self) -> bool:
        """Whether the client got a whole answer."""
        answered = self.status is not None and self.status < 300 and self._ended
        return answered and not self._gone and not self.errors and not self._broken

    @property
    def failed(self) -> bool:
        """Whether the server is to blame that it did not."""
        broken = bool(self.errors) or self._broken
        return self.status is not None and (self.status >= 500 or (self.status < 300 and broken))

    def listening(self, original: Receive) -> Receive:
        """Note a client that goes before its answer, which some releases then count as one of 200."""

        async def listen() -> Mapping[str, Any]:
            message = await original()
            if message["type"] == "http.disconnect" and not self._ended:
                self._gone = True
            return message

        return listen

    async def send(self, message: Mapping[str, Any]) -> None:
        """Pass on or hold back."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._headers = {"headers": message.get("headers", [])}
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        if self.status is not None and self.status >= 500:
            self._held.append(message)
        elif message.get("body", b"").startswith(_BREAKS_OFF):
            self._broken = True
            await self._send({**message, "body": await explained_event(message["body"])})
        else:
            await self._send(message)

    async def finish(self, *, demo: bool) -> None:
        """Tell what was held back, or that the answer breaks off."""
        error = self.errors[0] if self.errors else None
        if isinstance(error, RequestRefused):
            self.status = error.status
            await answer(self._send, error.status, told(error.kind, error.message))
        elif error is not None and demo and (self._held or self.status is None) and of_client(error):
            self.status = 400
            await answer(self._send, 400, told("invalid_request", describe(error)))
        elif self._held and error is None and "json" in header(self._headers, b"content-type"):
            await self._pass_on_held()
        elif self._held or (error is not None and self.status is None):
            self.status = self.status or 500
            await answer(self._send, self.status, await failure(error))
        elif error is not None and not self._ended:
            await self._break_off(error)

    async def _pass_on_held(self) -> None:
        """The server has said why, in its own words; of a dead engine these say too little."""
        if await dead() is None:
            for message in self._held:
                await self._send(message)
            return
        body = b"".join(each.get("body", b"") for each in self._held)
        await answer(self._send, self.status or 500, await explained(body))

    async def _break_off(self, error: BaseException) -> None:
        """Close a stream with a last event of its kind that says why; an answer of stated length just ends."""
        if header(self._headers, b"content-length"):
            return
        text = json.dumps(await failure(error))
        lines = f"data: {text}\n\n" if "event-stream" in header(self._headers, b"content-type") else f"{text}\n"
        await self._send({"type": "http.response.body", "body": lines.encode(), "more_body": False})


def of_client(error: BaseException) -> bool:
    """Whether the demo server's client asked for what cannot be: vLLM's other servers answer such errors with 400.

    A TypeError counts where the sampling parameters were made (an unknown one, or one of another type), and where vLLM
    takes a prompt apart.
    https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/exceptions.py
    """
    if isinstance(error, TypeError):
        frames = traceback.extract_tb(error.__traceback__)
        made = bool(frames) and (frames[-1].name == "_generate" or frames[-1].filename.endswith("sampling_params.py"))
        return made or any(_READS_PROMPTS.search(each.filename) for each in frames)
    return isinstance(error, ValueError) or any(each.__name__ == "VLLMClientError" for each in type(error).__mro__)


def describe(error: BaseException) -> str:
    """The innermost error that says something: vLLM wraps the engine's into empty ones."""
    inner: Optional[BaseException] = error
    while inner is not None and not str(inner):
        inner = inner.__cause__ or inner.__context__
    return str(inner) if inner is not None else type(error).__name__


async def failure(error: Optional[BaseException]) -> dict[str, Any]:
    """What a client is told of an error of the server, with the doctor's diagnosis where the engine is dead."""
    kind = type(error).__name__ if error is not None else "internal_error"
    message = describe(error) if error is not None else "the server failed without a message"
    fault = await dead(kind)
    if fault is None:
        return told(kind, message)
    DEATH.tell(kind, message)
    message = processes.lost() or (message if error is not None else fault)
    return told(kind, message, await record.cause())


async def dead(kind: str = "") -> Optional[str]:
    """What is known against the engine, by itself or by the kind of an error; None while nothing is."""
    await known(failed=kind in _DEAD)
    fault = DEATH.look() or await HEALTH.engine_fault() or (kind if kind in _DEAD else None)
    if fault is None:
        return None
    await known(failed=True)
    return DEATH.look() or fault


async def explained(body: bytes) -> dict[str, Any]:
    """The answer that vLLM has for those who wait for a dead engine, with the cause where its clients look for it."""
    fault = await dead() or "the engine has failed"
    try:
        theirs = json.loads(body)
    except ValueError:
        theirs = None
    if not isinstance(theirs, dict):
        return await failure(EngineDeadError(fault))
    error = theirs["error"] if isinstance(theirs.get("error"), dict) else theirs  # up to 0.9 it has no frame
    DEATH.tell("EngineDeadError", str(error.get("message")))
    error.update(message=processes.lost() or error.get("message", fault), cause=await record.cause())
    return theirs


async def explained_event(event: bytes) -> bytes:
    """The same for the event by which vLLM breaks off a stream; unchanged while the engine lives."""
    if await dead() is None:
        return event
    first, mark, rest = event[len(_DATA) :].partition(b"\n\n")
    return _DATA + json.dumps(await explained(first)).encode() + mark + rest


def told(kind: str, message: str, cause: Optional[Mapping[str, Any]] = None) -> dict[str, Any]:
    """The body of every error; shaped as OpenAI's clients expect, with the diagnosis beside it."""
    return {"error": {"type": kind, "message": redact_text(message, homes=False), "cause": cause}}


async def answer(send: Send, status: int, body: Mapping[str, Any]) -> None:
    """Send JSON."""
    text = (json.dumps(body) + "\n").encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    try:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text, "more_body": False})
    except OSError:  # the client has gone
        sys.stderr.write("doctor: a client disconnected before its answer\n")
