"""vLLM or SGLang inside of a training process: its model is the tiny one, and its cache is bounded.

https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/engine/arg_utils.py
https://github.com/sgl-project/sglang/blob/v0.4.6/python/sglang/srt/server_args.py
"""

from __future__ import annotations

import functools
from typing import Any

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.kernels import has_gpu
from doctor.monitors.rehearse.names import redirected
from doctor.monitors.rehearse.settings import settings

#: share of a card that the engine of a tiny model takes
_SHARE = 0.2


def attach(module: Any) -> None:
    """Have engines made of tiny folders."""
    original = module.EngineArgs.create_engine_config

    @functools.wraps(original)
    def create_engine_config(self: Any, *args: Any, **kwargs: Any) -> Any:
        _smaller(self)
        with journal.phase("engine"):
            return original(self, *args, **kwargs)

    module.EngineArgs.create_engine_config = create_engine_config


@journal.shielded
def _smaller(engine: Any) -> None:
    if not settings().tiny:
        return
    engine.model = redirected(engine.model, revision=getattr(engine, "revision", None))
    share = getattr(engine, "gpu_memory_utilization", None)
    if isinstance(share, float) and share > _SHARE:
        engine.gpu_memory_utilization = _SHARE
    if getattr(engine, "enforce_eager", None) is False and not has_gpu():
        engine.enforce_eager = True  # compiling for a CPU takes minutes, and says nothing of a card's kernels
        journal.left_out("compile", "compile")


@journal.shielded
def _smaller_server(server: Any) -> None:
    if not settings().tiny:
        return
    server.model_path = redirected(server.model_path, revision=getattr(server, "revision", None))
    share = getattr(server, "mem_fraction_static", None)
    if share is None or share > _SHARE:
        server.mem_fraction_static = _SHARE


def servers(module: Any) -> None:
    """Have SGLang's engines, which are made of these arguments, made of tiny folders."""
    original = module.ServerArgs.__post_init__

    @functools.wraps(original)
    def post_init(self: Any, *args: Any, **kwargs: Any) -> Any:
        _smaller_server(self)
        with journal.phase("engine"):
            return original(self, *args, **kwargs)

    module.ServerArgs.__post_init__ = post_init
