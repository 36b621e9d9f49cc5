"""The witness of a loop that no trainer drives: the engine is handed over, and each push is told.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

from typing import Any, Optional

from doctor.monitors.guard.guard import Guard
from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.inside import LocalLlm
from doctor.monitors.witness.policy import TrainedModel
from doctor.monitors.witness.served import engine_at
from doctor.monitors.witness.together import ranks_compute_together
from doctor.monitors.witness.witness import Witness


def witness_of_loop(guard: Guard, model: Any, engine: Any, tokenizer: Any = None) -> Optional[Witness]:
    """The witness of a loop, which has looked at the engine once; None where no engine was handed over.

    Args:
        guard: of the loop.
        model: that is trained; None: nothing can be compared, which is said.
        engine: an address, an `Engine`, or vLLM's `LLM`.
        tokenizer: of the model, or None.

    """
    if engine is None or guard.rank or not guard.options.witness:
        return None
    witness = Witness(
        guard, TrainedModel(model, together=ranks_compute_together()), lambda: _engine(engine, model),
        lambda: guard.step or 0, tokenizer,
        every=guard.options.witness_every,
    )  # fmt: skip
    witness.begin()
    return witness


def _engine(given: Any, model: Any) -> Engine:
    if model is None:
        raise CannotAsk("no model was passed to compare the engine with")
    if isinstance(given, Engine):
        return given
    if isinstance(given, str):
        return engine_at(given)
    if callable(getattr(given, "generate", None)):
        return LocalLlm(given)
    raise CannotAsk(f"`{type(given).__name__}` is not an address, engine or `LLM`")
