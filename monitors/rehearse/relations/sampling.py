"""Names in the settings of generation that nothing reads: Transformers keeps what it does not know, and says nothing.

https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/generation/configuration_utils.py (`__init__`:
"Additional attributes without default values")
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py (`generation_kwargs`)
"""

from __future__ import annotations

import sys
from typing import Any

from doctor.monitors.rehearse import journal

_SETTINGS = "generation_kwargs"
_LIBRARY = "transformers.generation.configuration_utils"


@journal.shielded
def look(trainer: Any) -> None:
    """Compare a trainer's settings of generation with the names that Transformers has; an engine has others."""
    args = trainer.args
    given = getattr(args, _SETTINGS, None)
    of_engine = getattr(args, "use_vllm", False) or getattr(args, "_doctor_engine", False)
    if not isinstance(given, dict) or not given or of_engine or _LIBRARY not in sys.modules:
        return
    known = vars(sys.modules[_LIBRARY].GenerationConfig())
    unknown = sorted(str(each) for each in given if each not in known)
    if unknown:
        journal.once("unread", "unread", setting=_SETTINGS, names=unknown, known=sorted(known))
