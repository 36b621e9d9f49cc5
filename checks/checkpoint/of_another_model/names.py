"""Judges CKP7555/names, a row of of-another-model; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
ADAPTER_ONLY, EXTRA_STATE = TOML["adapter_only"], TOML["extra_state"]


#: a weight of the frozen model below PEFT's wrapper
_BASE_KEY = later(r"^base_model\.model\.(?!.*(?:lora_|modules_to_save|prompt_))")


#: what a layer saves besides its weights:
#: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html (get_extra_state)
_EXTRA = later(r"\._extra_state\d*$")


def explain(hits: Hits) -> Finding:
    """With the class that was to be filled; a PEFT model that lacks base weights got a checkpoint of its adapter."""
    model = hits.get("model") or ""
    lacking = [each.groups["key"] for each in hits.of(1) if each.text.lstrip().startswith("Missing")]
    unexpected = [each for each in hits.of(1) if each.text.lstrip().startswith("Unexpected")]
    if lacking and all(_EXTRA.search(key) for key in lacking) and not unexpected:
        return found(
            PROBLEM, EXTRA_STATE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, model=model,
            key=lacking[0],
        )  # fmt: skip
    adapter = "Peft" in model and not unexpected and any(_BASE_KEY.search(key) for key in lacking)
    return found(
        PROBLEM, ADAPTER_ONLY if adapter else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, model=model,
    )  # fmt: skip
