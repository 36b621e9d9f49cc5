"""The engines of veRL's driver, and the moments at which they are awake and have nothing to do.

Each replica serves vLLM's or SGLang's own routes at an address that the driver knows:
https://github.com/verl-project/verl/blob/v0.6.1/verl/workers/rollout/vllm_rollout/vllm_async_server.py
https://github.com/verl-project/verl/blob/v0.6.1/verl/experimental/agent_loop/agent_loop.py (0.6 to 0.7.0: `wake_up`
sends the weights, and samples are drawn next; until 0.5 a replica answers chats only, in mode `sync` it has no address)
https://github.com/verl-project/verl/blob/v0.9.0/verl/checkpoint_engine/base.py (from 0.7.1: `update_weights`,
behind which "rollout should be in wake_up mode")
https://github.com/verl-project/verl/blob/v0.9.0/verl/workers/rollout/llm_server.py (`server_addresses`)

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap
from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.drivers import DriverWatch
from doctor.monitors.witness.served import engine_at

#: attributes of a trainer that know the addresses of its engines, the newest first
_MANAGERS = ("llm_server_manager", "async_rollout_manager")

_NO_ADDRESS = "this release or rollout mode of veRL gives its engine no address"
_ADAPTER = "veRL applies the adapter in its own calls only, so that the engine would answer without it"


def ask(trainer: Any, watch: DriverWatch) -> Callable[[], None]:
    """Ask the first replica behind each push; gives what ends that."""
    watch.asks(lambda: _engine(trainer), getattr(trainer, "tokenizer", None))
    questions = watch.questions
    if questions is None:
        return _nothing
    owner, name = getattr(trainer, "checkpoint_manager", None), "update_weights"
    if owner is None:
        owner, name = getattr(trainer, "async_rollout_manager", None), "wake_up"
    if not callable(getattr(owner, name, None)):
        questions.note_off(_NO_ADDRESS)
        return _nothing

    def around(original: Any) -> Any:
        def push(*args: Any, **kwargs: Any) -> Any:
            questions.pushing()
            result = original(*args, **kwargs)
            if watch.made is None:
                watch.made = _made(trainer, args if name == "update_weights" else ())  # None where it failed
            questions.pushed()
            questions.idle()
            return result

        return push

    return wrap(owner, name, around)


@shielded
def _made(trainer: Any, told: tuple[Any, ...]) -> int:
    """Updates made before the first one of this program; `told` with the weights, else those before the next one."""
    if told and isinstance(told[0], int):
        return told[0]
    return max(int(getattr(trainer, "global_steps", 1)) - 1, 0)


def _engine(trainer: Any) -> Engine:
    model = trainer.config.actor_rollout_ref.get("model") or {}
    lora = model.get("lora") or {}
    if max(model.get("lora_rank") or 0, lora.get("rank") or 0) > 0 and not lora.get("merge"):
        raise CannotAsk(_ADAPTER)
    address = _address(trainer)
    if address is None:
        raise CannotAsk(_NO_ADDRESS)
    engine = engine_at(f"http://{address}", past_proxies=True)
    engine.alone = True
    return engine


def _address(trainer: Any) -> Optional[str]:
    for name in _MANAGERS:
        told = getattr(getattr(trainer, name, None), "server_addresses", None)
        if told and isinstance(told[0], str):
            return told[0]
    return None


def _nothing() -> None:
    """Nothing was put on."""
