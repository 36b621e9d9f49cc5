"""A real torchrun whose ranks print nothing to the console: the verdict is what the failed rank recorded itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed here"),
]
TRAIN = """
import json, os, urllib.request
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
def reward(step):
    url = f"http://127.0.0.1:{os.environ['REWARD_PORT']}/score?rank={rank}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return float(json.load(answer)["score"])
for step in range(1, 6):
    value = torch.tensor([reward(step)])
    dist.all_reduce(value)
    if rank == 0:
        print({"loss": 0.5 / step, "reward": value.item(), "epoch": step}, flush=True)
"""
LINE = 1 + TRAIN.split("\n").index("    with urllib.request.urlopen(url, timeout=10) as answer:")


@pytest.fixture
def port() -> Iterator[int]:
    """A reward server that answers rank 1 with 502 from its third request on."""
    asked: Counter[str] = Counter()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[self.path] += 1
            broken = "rank=1" in self.path and asked[self.path] > 2
            self.send_response(502 if broken else 200)
            self.end_headers()
            self.wfile.write(b"bad gateway" if broken else b'{"score": 0.5}')

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_the_verdict_is_what_rank_1_recorded(tmp_path: Path, port: int) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2")
    ended = subprocess.run(
        [sys.executable, "-m", "doctor", "run", "--", *torchrun, "--redirects", "3", "--log-dir", "tl", "train.py"],
        cwd=tmp_path, env={**os.environ, "REWARD_PORT": str(port), "OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True, timeout=180, check=False,
    )  # fmt: skip
    told = ended.stdout + ended.stderr
    assert ended.returncode == 1, told
    report = json.loads((tmp_path / "doctor-runs/last/report.json").read_text())
    first = report["findings"][0]
    assert (first["where"]["rank"], first["role"]) == (1, "cause"), told
    assert "`HTTPError`" in first["headline"]
    assert f"train.py:{LINE} (reward)" in first["headline"]
    assert "code = 502" in json.dumps(first["evidence"])
    (where,) = [line for line in told.splitlines() if line.startswith("  where ")]
    assert f"train.py:{LINE} (reward)" in where
    assert "torchrun" not in where.partition(" · ")[0]
