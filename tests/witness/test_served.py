"""Which engine serves behind an address is told by what only its server answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from doctor.monitors.witness.asked import CannotAsk
from doctor.monitors.witness.served import SglangServer, TrlServer, VllmServer, engine_at

MODELS = {"data": [{"id": "policy", "max_model_len": 64}]}
#: what each answers; vLLM's framework redirects a path with a slash to the one without
VLLM = {"/v1/models": MODELS}
IN_DEVELOPMENT = {**VLLM, "/server_info": {"vllm_config": {}}, "/get_world_size": {"world_size": 1}}
SGLANG = {"/v1/models": MODELS, "/server_info": {"tp_size": 1, "context_length": 64, "dtype": "bfloat16"}}
TRL = {"/get_world_size/": {"world_size": 1}, "/health/": {"status": "ok"}}


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path not in answers and path.rstrip("/") in answers:
                self.send_response(307)
                self.send_header("Location", path.rstrip("/"))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = json.dumps(answers.get(path)).encode()
            self.send_response(200 if path in answers else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("answers", "kind"),
    [(VLLM, VllmServer), (IN_DEVELOPMENT, VllmServer), (SGLANG, SglangServer), (TRL, TrlServer)],
    ids=["vllm", "vllm-in-development", "sglang", "trl"],
)
def test_each_server_is_known(answers: dict[str, Any], kind: type) -> None:
    with serving(answers) as url:
        assert type(engine_at(url)) is kind


def test_who_answers_nothing_that_is_known_is_no_engine() -> None:
    with serving({}) as url, pytest.raises(CannotAsk, match="/v1/models answers 404"):
        engine_at(url)
