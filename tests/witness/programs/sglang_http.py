"""SGLang's real HTTP server with the scripted engine in place of its scheduler: prints what its client is told.

The application, its routes, its request classes, their validation and its answers are SGLang's; what a request is
answered with comes from the scripted engine, as `tests.witness.scripted` answers it without SGLang.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
import uvicorn
from sglang.srt.entrypoints import http_server

from doctor.monitors.witness.served import SglangServer
from tests.ports import free_port
from tests.witness.scripted import ScriptedEngine, _sglang
from tests.witness.tiny_lm import TinyLM

PROMPTS = [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15, 16]]
WEIGHT = "lm_head.weight"
#: routes that the witness asks, besides those below
ASKED = ("/server_info", "/get_server_info", "/model_info", "/get_model_info")


class Manager:
    """What stands behind the routes."""

    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine, self.seen = engine, []  # type: ScriptedEngine, list[Any]

    async def generate_request(self, obj: Any, _request: Any = None) -> AsyncIterator[Any]:
        """One answer; `obj` is taken apart as SGLang's own manager does."""
        obj.normalize_batch_and_arguments()
        self.seen.append(obj.extra_key)
        first = {name: _one(getattr(obj, name)) for name in ("logprob_start_len", "top_logprobs_num", "extra_key")}
        body = {"input_ids": obj.input_ids, "sampling_params": obj.sampling_params[0], **first}
        yield _sglang(self.engine, "/generate", body)

    def create_abort_task(self, _obj: Any) -> None:
        """Nothing is aborted."""

    async def get_weights_by_name(self, obj: Any, _request: Any = None) -> Any:
        """First rows of a weight."""
        return _sglang(self.engine, "/get_weights_by_name", {"name": obj.name, "truncate_size": obj.truncate_size})


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def main() -> None:
    """Serve, ask, print."""
    torch.manual_seed(0)
    manager = Manager(ScriptedEngine(TinyLM().state_dict()))
    http_server._global_state = SimpleNamespace(tokenizer_manager=manager, template_manager=None, scheduler_info={})
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(http_server.app, host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    with manager.engine.served("sglang") as plain:
        told = [_told(SglangServer(each)) for each in (f"http://127.0.0.1:{port}", plain)]
    paths = {getattr(each, "path", "") for each in http_server.app.routes}
    salts = [each for each in manager.seen if each is not None]
    print(json.dumps({"real": told[0], "scripted": told[1], "lacks": sorted(set(ASKED) - paths), "salts": salts}))
    server.should_exit = True


def _told(client: SglangServer) -> dict[str, Any]:
    return {
        "score": client.score(PROMPTS),
        "plain": [[each.ids, each.logps] for each in client.go_on(PROMPTS, 4)],
        "salted": [[each.ids, each.logps] for each in client.go_on(PROMPTS, 4, salt="a")],
        "values": client.values(WEIGHT, 3),
    }


if __name__ == "__main__":
    main()
