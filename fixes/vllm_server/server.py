"""`/generate` over the engine of a vLLM that no longer has the demo server (0.25.0 and newer).

The contract is the demo server's: {"prompt", "stream", sampling parameters...} in, {"text": [prompt + output, ...]}
out, a line of it for each step where streamed.
https://github.com/vllm-project/vllm/blob/v0.24.0/vllm/entrypoints/api_server.py
"""

from __future__ import annotations

import asyncio
import json
import ssl
import uuid
from argparse import ArgumentError
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from doctor.fixes.vllm_server.death import DEATH

_KEEP_ALIVE_S = 5


def main() -> None:
    """Read the demo server's arguments and serve."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser(prog="doctor serve --"))
    arguments = complete_arguments(parser).parse_args()
    if arguments.enable_ssl_refresh:
        parser.error("--enable-ssl-refresh needs vLLM's own server: doctor serve --openai")
    asyncio.run(run(arguments))


def complete_arguments(parser: Any) -> Any:
    """Add the demo server's own arguments, but for those that are the engine's by now (`--log-level`)."""
    own: dict[str, dict[str, Any]] = {
        "--host": {},
        "--port": {"type": int, "default": 8000},
        "--ssl-keyfile": {},
        "--ssl-certfile": {},
        "--ssl-ca-certs": {},
        "--enable-ssl-refresh": {"action": "store_true"},
        "--ssl-cert-reqs": {"type": int, "default": int(ssl.CERT_NONE)},
        "--root-path": {},
        "--log-level": {},
    }
    for name, settings in own.items():
        with suppress(ArgumentError):
            parser.add_argument(name, **settings)
    return parser


async def run(arguments: Any) -> None:
    """Make the engine, serve until asked to end or until the engine is dead."""
    import uvicorn
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.engine.async_llm_engine import AsyncLLMEngine
    from vllm.usage.usage_lib import UsageContext

    engine = AsyncLLMEngine.from_engine_args(
        AsyncEngineArgs.from_cli_args(arguments), usage_context=UsageContext.API_SERVER
    )
    given = vars(arguments)
    config = uvicorn.Config(
        application(engine, arguments),
        host=given["host"],
        port=given["port"],
        log_level=_log_level(given.get("log_level")),  # the engine's argument leaves no trace where it is not given
        timeout_keep_alive=_KEEP_ALIVE_S,
        root_path=given["root_path"] or "",
        **{name: given[name] for name in ("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_cert_reqs")},
    )
    try:
        await uvicorn.Server(config).serve()
    finally:
        with suppress(AttributeError):
            engine.shutdown()
    DEATH.exit()


def _log_level(given: Any) -> str:
    """A level as uvicorn calls it; vLLM's `--log-level` has the same names in capitals."""
    text = str(given or "").lower()
    return text if text in {"critical", "error", "warning", "info", "debug", "trace"} else "info"


def application(engine: Any, arguments: Any) -> Any:
    """The application; `/health` is the guard's."""
    from fastapi import FastAPI, Request

    from doctor.fixes.vllm_server.state import complete

    made = FastAPI()

    async def generate(request: Any) -> Any:
        return await _generate(engine, await request.json(), request)

    generate.__annotations__["request"] = Request  # FastAPI looks at the class, which is imported in here
    made.post("/generate", response_model=None)(generate)
    made.state.engine_client = engine
    complete(made, arguments)
    return made


async def _generate(engine: Any, fields: dict[str, Any], request: Any) -> Any:
    from fastapi.responses import JSONResponse, Response, StreamingResponse
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    prompt, stream = fields.pop("prompt"), fields.pop("stream", False)
    sampling = SamplingParams(**fields)
    if not stream:  # else each of several completions comes alone, as soon as it is made
        sampling.output_kind = RequestOutputKind.FINAL_ONLY
    results = engine.generate(prompt, sampling, uuid.uuid4().hex)
    if stream:
        return StreamingResponse(_lines(results))
    work = asyncio.ensure_future(_last(results))
    gone = asyncio.ensure_future(_disconnected(request))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not work.done():
        work.cancel()  # the engine drops the request
        return Response(status_code=499)
    return JSONResponse(_answer(work.result()))


async def _last(results: AsyncIterator[Any]) -> Any:
    final = None
    async for each in results:
        final = each
    if final is None:
        raise RuntimeError("the engine returned no result")
    return final


async def _disconnected(request: Any) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _lines(results: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    async for each in results:
        yield (json.dumps(_answer(each)) + "\n").encode()


def _answer(result: Any) -> dict[str, list[str]]:
    return {"text": [(result.prompt or "") + each.text for each in result.outputs]}


if __name__ == "__main__":
    main()
