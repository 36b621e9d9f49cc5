"""Runs that stand still, each with what the first sentence of `doctor hang` must hold; labels came before the runs.

A program touches `ready` where it begins to stand still. `must`: patterns, all of which stand in the first sentence.
"""

from __future__ import annotations

from tests.blackbox.mistakes import Mistake

_HEAD = """
import pathlib
def ready():
    pathlib.Path("ready").touch()
"""
_TINY = _HEAD + "from tiny import *\n"


def _made(stack: str, program: str, *must: str) -> Mistake:
    head = _TINY if stack == "real" else _HEAD
    return Mistake(stack, head + program.strip() + "\n", must)


HANGS: dict[str, Mistake] = {
    "hang-rank-outside": _made(
        "ranks",
        """
import time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
def writes_checkpoint():
    ready()
    time.sleep(600)
if dist.get_rank() == 1:
    writes_checkpoint()
dist.all_reduce(torch.ones(3))
""",
        r"[Rr]ank 0 waits",
        r"rank 1",
        r"writes_checkpoint",
    ),
    "hang-reward-server": _made(
        "real",
        """
import socket, subprocess, sys, time, urllib.request
SERVER = '''
import sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        self.verify()
    def verify(self):
        time.sleep(600)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Judge).serve_forever()
'''
open("judge_server.py", "w").write(SERVER)
with socket.socket() as one:
    one.bind(("127.0.0.1", 0))
    port = one.getsockname()[1]
subprocess.Popen([sys.executable, "judge_server.py", str(port)])
time.sleep(2)
def asked(completions, **_):
    ready()
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/score", data=b"x").read()
grpo(asked)
""",
        r"judge_server\.py",
        r"verify",
        r":\d{4,5}",
    ),
    "hang-two-locks": _made(
        "real",
        """
import threading, time
weights_lock, buffer_lock = threading.Lock(), threading.Lock()
def push():
    with weights_lock:
        time.sleep(0.5)
        with buffer_lock:
            pass
def collect():
    with buffer_lock:
        time.sleep(0.5)
        with weights_lock:
            pass
threads = [threading.Thread(target=each, name=each.__name__) for each in (push, collect)]
for each in threads:
    each.start()
ready()
for each in threads:
    each.join()
""",
        r"weights_lock",
        r"buffer_lock",
        r"push",
        r"collect",
    ),
    "hang-loader-worker": _made(
        "real",
        """
import time, torch
from transformers import Trainer, TrainingArguments
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        self.download(index)
        return {"input_ids": [1] * 4, "labels": [1] * 4}
    def download(self, index):
        ready()
        time.sleep(600)
Trainer(model=model(), args=TrainingArguments(**{**COMMON, "dataloader_num_workers": 1}),
        train_dataset=Rows()).train()
""",
        r"worker",
        r"download",
    ),
    "hang-actors-in-a-circle": _made(
        "ray",
        """
import ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
@ray.remote
class Trainer:
    def meet(self, engine):
        self.engine = engine
    def weights(self):
        return 1
    def step(self):
        return ray.get(self.engine.generate.remote())
@ray.remote
class Engine:
    def meet(self, trainer):
        self.trainer = trainer
    def generate(self):
        return ray.get(self.trainer.weights.remote())
trainer, engine = Trainer.remote(), Engine.remote()
ray.get([trainer.meet.remote(engine), engine.meet.remote(trainer)])
asked = trainer.step.remote()
ready()
ray.get(asked)
""",
        r"[Dd]eadlock|none of them can go on",
        r"Engine\.generate",
        r"Trainer\.(step|weights)",
    ),
    "hang-pipe-nobody-reads": _made(
        "real",
        """
import subprocess, sys
WORDS = "import sys\\ndef tells():\\n    sys.stdout.write('x' * (1 << 20))\\ntells()\\n"
open("verifier.py", "w").write(WORDS)
def waits_for_the_end():
    child = subprocess.Popen([sys.executable, "verifier.py"], stdout=subprocess.PIPE)
    ready()
    child.wait()
waits_for_the_end()
""",
        r"verifier\.py",
        r"read",
        r"[Dd]eadlock|none of them can go on",
    ),
}
