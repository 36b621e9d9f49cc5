"""vLLM's demo server with a stand-in for the engine only: api_server.py MODEL PORT as-shipped|mended.

Mended, it answers one request and is then stopped with SIGINT, as a person stops it.
"""

import asyncio
import json
import os
import signal
import ssl
import sys
import threading
import time
import urllib.request
from types import SimpleNamespace

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints import api_server
from vllm.utils import FlexibleArgumentParser

MODEL, PORT, STATE = sys.argv[1:4]


class Engine:
    """Says the same to everybody; there is no GPU to say more."""

    errored = False
    is_running = True

    async def generate(self, prompt, sampling_params, request_id):
        yield SimpleNamespace(prompt=prompt, outputs=[SimpleNamespace(text=" world")])


def arguments():
    """The server's own arguments, as its `__main__` declares them, and the engine's."""
    parser = FlexibleArgumentParser()
    parser.add_argument("--host", type=str, default=None)
    parser.add_argument("--port", type=int, default=8000)
    for name in ("--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs", "--root-path"):
        parser.add_argument(name, type=str, default=None)
    parser.add_argument("--enable-ssl-refresh", action="store_true", default=False)
    parser.add_argument("--ssl-cert-reqs", type=int, default=int(ssl.CERT_NONE))
    parser.add_argument("--log-level", type=str, default="debug")
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser.parse_args(["--host", "127.0.0.1", "--port", PORT, "--model", MODEL])


def use_and_stop():
    """One generation as soon as the server is up, then SIGINT."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/generate",
        json.dumps({"prompt": "hello"}).encode(),
        {"content-type": "application/json"},
    )
    for _ in range(300):
        time.sleep(0.1)
        try:
            print(urllib.request.urlopen(request, timeout=5).read().decode())
            break
        except urllib.error.URLError:
            continue
    os.kill(os.getpid(), signal.SIGINT)


if STATE == "mended":
    original = api_server.init_app

    async def init_app(args, llm_engine=None):
        app = await original(args, llm_engine)
        app.state.engine_client = llm_engine
        return app

    api_server.init_app = init_app
    threading.Thread(target=use_and_stop, daemon=True).start()
asyncio.run(api_server.run_server(arguments(), llm_engine=Engine()))
