"""Judges PYT5808/attribute_read_only, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import asker_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: class -> the library it belongs to, where its name alone tells
_LIBRARIES = {
    "SamplingParams": "vLLM", "LoRARequest": "vLLM", "VllmConfig": "vLLM", "ModelConfig": "vLLM",
    "GenerationConfig": "Transformers", "TrainingArguments": "Transformers", "DynamicCache": "Transformers",
    "AcceleratorState": "Accelerate", "Accelerator": "Accelerate", "DeepSpeedEngine": "DeepSpeed",
}  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Who sets it, and of which class it is where the interpreter tells."""
    asker = asker_of(hits.first.frames)
    owner = hits.get("owner")
    library = _LIBRARIES.get(owner or "", "")
    shown = f"{library}'s `{owner}`" if library else f"`{owner}`"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
        asker=asker, owner=owner, shown=shown, library=library,
    )  # fmt: skip
