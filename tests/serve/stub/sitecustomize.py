"""Puts a stand-in for the engine into a real vLLM: there is no GPU for more.

What it does is told by the prompt: `slow` takes a second, `dead` kills the engine, `broken` fails the request alone,
`refused` is the client's fault, and `stream-dead` dies after the first step. `forgotten` dies and never answers, as an
engine does for which a request came too late. `long` takes ten minutes in a worker of TRL's own server.
STUB_CORE=1 puts tokens into a process of its own, which can be stopped.
STUB_START=hang never comes up, and STUB_START=fail fails while it loads.
"""

import asyncio
import importlib.util
import os
import subprocess
import sys
import time
from types import SimpleNamespace

NAMES = ("vllm.engine.async_llm_engine", "vllm.v1.engine.async_llm", "vllm.entrypoints.llm")


class EngineDeadError(Exception):
    """Named like vLLM's."""


class Engine:
    def __init__(self):
        self.errored = False
        self.is_running = True
        self.asleep = bool(os.environ.get("STUB_ASLEEP"))
        self.dropped = []

    @property
    def dead_error(self):
        return EngineDeadError("EngineCore encountered an issue. See stack trace (above) for the root cause.")

    async def check_health(self):
        if self.errored:
            raise self.dead_error

    async def is_sleeping(self):
        return self.asleep

    def shutdown(self, timeout=None):
        print("STUB shutdown", flush=True)

    async def generate(self, prompt, sampling_params, request_id):
        if prompt == "refused":
            raise ValueError("the prompt is longer than the model's window")
        if prompt == "broken":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if prompt == "dead":
            self._die()
        if prompt == "forgotten":
            self.errored, self.is_running = True, False
            await asyncio.sleep(600)
        for step in (" big", " big world"):
            if prompt == "slow":
                await asyncio.sleep(1.0)
            yield SimpleNamespace(prompt=prompt, outputs=[SimpleNamespace(text=step)])
            if prompt == "stream-dead":
                self._die()

    def _die(self):
        self.errored, self.is_running = True, False
        print(DEATH, file=sys.stderr, flush=True)
        raise self.dead_error


DEATH = """\
(EngineCore pid=77) ERROR 11-22 04:00:00 [core.py:400] EngineCore encountered a fatal error.
(EngineCore pid=77) ERROR 11-22 04:00:00 [core.py:400] Traceback (most recent call last):
(EngineCore pid=77) ERROR 11-22 04:00:00 [core.py:400]   File "/env/vllm/v1/core.py", line 391, in run_engine_core
(EngineCore pid=77) ERROR 11-22 04:00:00 [core.py:400]     engine_core.run_busy_loop()
(EngineCore pid=77) ERROR 11-22 04:00:00 [core.py:400] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate \
2.50 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free. Process 1 has 22.54 GiB memory in use. \
Of the allocated memory 21.90 GiB is allocated by PyTorch, and 105.22 MiB is reserved by PyTorch but unallocated."""


def made(cls, *args, **kwargs):
    start = os.environ.get("STUB_START")
    if start == "hang":
        time.sleep(600)
    if start == "fail":
        print(DEATH, file=sys.stderr, flush=True)
        raise RuntimeError("Engine core initialization failed. See root cause above.")
    return CoreEngine() if os.environ.get("STUB_CORE") else Engine()


#: a process of its own that makes tokens, one request after the other, as an engine with room for a single one
CORE = """
import sys, time
for line in sys.stdin:
    request, steps = line.split()
    for step in range(int(steps)):
        time.sleep(0.05)
        print(request, flush=True)
    print(request, "end", flush=True)
"""


class Core:
    """As vLLM's client of its engine core: messages come from `get_output_async`."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", CORE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        print(f"STUB core {self.process.pid}", flush=True)

    async def get_output_async(self):
        return await asyncio.get_running_loop().run_in_executor(None, self.process.stdout.readline)


class CoreEngine(Engine):
    """With a core that can be stopped: `busy` makes 60 tokens, which take three seconds."""

    def __init__(self):
        super().__init__()
        self.engine_core, self.queues, self.handler = Core(), {}, None

    async def _hand_out(self):
        while True:
            request, *end = (await self.engine_core.get_output_async()).split()
            self.queues[request].put_nowait(bool(end))

    async def generate(self, prompt, sampling_params, request_id):
        self.handler = self.handler or asyncio.ensure_future(self._hand_out())
        queue = self.queues[request_id] = asyncio.Queue()
        print(request_id, 60 if prompt == "busy" else 1, file=self.engine_core.process.stdin, flush=True)
        while not await queue.get():
            text = prompt if isinstance(prompt, str) else ""
            yield SimpleNamespace(prompt=text, outputs=[SimpleNamespace(text=" big")])


class LLM:
    """In the workers of TRL's own server."""

    def __init__(self, **settings):
        pass

    def generate(self, prompts, sampling_params):
        if prompts[0] == "long":
            time.sleep(600)
        return [SimpleNamespace(outputs=[SimpleNamespace(token_ids=[1, 2])]) for _ in prompts]


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in NAMES:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None:
            return None
        run = spec.loader.exec_module

        def run_and_replace(module):
            run(module)
            if hasattr(module, "LLM"):
                module.LLM = LLM
            for each in ("AsyncLLMEngine", "AsyncLLM"):
                if hasattr(module, each):
                    getattr(module, each).from_engine_args = classmethod(made)

        spec.loader.exec_module = run_and_replace
        return spec


sys.meta_path.insert(0, Finder())
