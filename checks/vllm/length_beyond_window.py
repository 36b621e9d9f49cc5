"""Judges max-model-len-beyond-window (VLL014), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import overridden
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.model import Model
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


#: model types whose window is `max_position_embeddings`, as long as no scaling changes it
PLAIN = {"llama", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "mistral"}


@check(PROBLEM)
def length_beyond_window(serving: Serving, model: Model, environment: Environment | None) -> Judgement:
    """YaRN and its like stretch the window and are left alone."""
    length, window = serving.max_model_len, model.max_position_embeddings
    setting = serving.arguments.get("max_model_len")
    if length is None or window is None or length <= window or setting is None or overridden(serving):
        return
    if model.model_type not in PLAIN or model.rope_type not in {None, "default", "llama3"}:
        return
    if environment is None:
        yield Skip("the environment of the command, which may allow this length, is not known")
        return
    if environment.flag("VLLM_ALLOW_LONG_MAX_MODEL_LEN"):
        return
    yield found(
        PROBLEM,
        MESSAGE,
        length=length,
        window=window,
        model=model.name,
        where=place_of(setting),
        commands=(f"--max-model-len {window}",),
        evidence=(proof(setting), Observed.quoted(model.stated_in, f"max_position_embeddings: {window}")),
    )


def explain(hits: Hits) -> Finding | None:
    """Name both lengths, and the window as a whole number."""
    window = (hits.get("window") or "").partition(".")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--max-model-len {window}",),
        asked=hits.get("asked"),
        window=window,
        key=hits.get("key"),
    )
