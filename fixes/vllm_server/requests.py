"""What a request must be for the server to see it: of bounded size, JSON where that is expected, few enough prompts."""

from __future__ import annotations

import hmac
import json
import os
from typing import Any, Awaitable, Callable, Mapping, Optional

from doctor.fixes.vllm_server.settings import ServerBounds

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

#: the demo server's route
DEMO = "/generate"
#: routes that generate, of the demo server, vLLM's own and TRL's; a trailing slash is TRL's
GENERATING = frozenset(
    {DEMO, "/chat", "/v1/completions", "/v1/chat/completions", "/v1/responses", "/inference/v1/generate"}
)
#: the keys under which those routes take their prompts
_PROMPTS = ("prompt", "prompts", "messages", "input")


class RequestRefused(Exception):  # noqa: N818 - an answer to the client
    """The request is not let through: HTTP status, a short kind and one sentence."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message


def path_of(scope: Mapping[str, Any]) -> str:
    """Path of a request without its trailing slash and the prefix of a proxy."""
    path = str(scope.get("path", ""))
    root = str(scope.get("root_path") or "")
    if root and path.startswith(f"{root}/"):
        path = path[len(root) :]
    return path.rstrip("/") or "/"


def header(scope: Mapping[str, Any], name: bytes) -> str:
    """A header's value in lower-case ASCII, empty where it is not sent."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def check_key(scope: Mapping[str, Any], settings: ServerBounds) -> None:
    """The demo server asks for no key; where VLLM_API_KEY is set, one is asked for all the same.

    Raises:
        RequestRefused: no or a wrong key.

    """
    key = os.environ.get("VLLM_API_KEY")
    if not settings.demo or not key or path_of(scope) in {"/health", "/ready"}:
        return
    scheme, _, given = header(scope, b"authorization").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), key.encode()):
        raise RequestRefused(401, "unauthorized", "this server requires `Authorization: Bearer KEY`")


async def checked(scope: Mapping[str, Any], receive: Receive, settings: ServerBounds) -> Receive:
    """The same request, read and found good; what is no JSON by its header is only measured.

    Raises:
        RequestRefused: it is too large, malformed or holds too many prompts.

    """
    stated = header(scope, b"content-length")
    if stated.isdecimal() and int(stated) > settings.request_bytes:
        raise _too_large(settings)
    generates = path_of(scope) in GENERATING
    kind = header(scope, b"content-type").lower()
    if not generates and "json" not in kind:
        return _measured(receive, settings)
    body = await _read(receive, settings)
    if body is None:
        return _again(None, receive)
    if body or generates:
        _judge(body, settings, demo=settings.demo and path_of(scope) == DEMO)
    return _again(body, receive)


def _too_large(settings: ServerBounds) -> RequestRefused:
    return RequestRefused(413, "request_too_large", f"the request is larger than {settings.request_bytes} bytes")


def _measured(original: Receive, settings: ServerBounds) -> Receive:
    """Count what passes; a body without a stated length ends where it grows too large."""
    seen = 0

    async def counting() -> Mapping[str, Any]:
        nonlocal seen
        message = await original()
        seen += len(message.get("body", b""))
        if seen > settings.request_bytes:
            raise _too_large(settings)
        return message

    return counting


async def _read(receive: Receive, settings: ServerBounds) -> Optional[bytes]:
    """The whole body; None where the client went away before its end."""
    parts: list[bytes] = []
    seen = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        parts.append(part)
        seen += len(part)
        if seen > settings.request_bytes:
            raise _too_large(settings)
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: Optional[bytes], original: Receive) -> Receive:
    """Give the body once more, then whatever the client does next."""
    first: list[Mapping[str, Any]] = [
        {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body, "more_body": False}
    ]

    async def replay() -> Mapping[str, Any]:
        return first.pop() if first else await original()

    return replay


def _judge(body: bytes, settings: ServerBounds, *, demo: bool) -> None:
    try:
        value = json.loads(body)
    except json.JSONDecodeError as exc:
        raise RequestRefused(400, "invalid_json", f"the body is not JSON: {exc}") from None
    except (UnicodeDecodeError, RecursionError) as exc:
        raise RequestRefused(400, "invalid_json", f"the body is not JSON: {type(exc).__name__}") from None
    if demo and (not isinstance(value, dict) or "prompt" not in value):
        raise RequestRefused(400, "prompt_missing", "the body must be a JSON object with the field `prompt`")
    if demo and (refused := _no_prompt(value["prompt"])) is not None:
        raise RequestRefused(400, "prompt_invalid", refused)
    count = prompts_in(value)
    if count > settings.prompts:
        text = f"the request holds {count} prompts, and at most {settings.prompts} are taken at once"
        raise RequestRefused(400, "too_many_prompts", text)


def _no_prompt(value: Any) -> Optional[str]:
    """Why the demo server, which takes one prompt a request, cannot take this one; None where it can."""
    if isinstance(value, list) and value and all(type(each) is int for each in value):
        return None  # token ids
    if isinstance(value, list):
        return "`prompt` is a list, and this server takes one prompt per request: send one request for each"
    if isinstance(value, (str, dict)):
        return None
    return f"`prompt` must be text, not {type(value).__name__}"


def prompts_in(value: Any) -> int:
    """Number of prompts of a request's body; a list of token ids and one conversation are one prompt."""
    if not isinstance(value, dict):
        return 0
    given = next((value[name] for name in _PROMPTS if value.get(name)), None)
    if not isinstance(given, list):
        return 0 if given is None else 1
    if not given or isinstance(given[0], (int, dict)):
        return 1
    return len(given)
