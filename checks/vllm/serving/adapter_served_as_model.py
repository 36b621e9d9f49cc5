"""Judges adapter-served-as-model (VLL029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


@check(PROBLEM)
def adapter_served_as_model(serving: Serving, model: Model) -> Judgement:
    """A folder that holds a merged model beside the adapter is a model."""
    if not model.here:
        yield Skip(f"model `{model.name}` is not on this machine")
        return
    if not model.is_adapter or model.model_type is not None or model.architectures or model.broken is not None:
        return
    if serving.model != model.name:
        return
    base = model.base_model or "BASE_MODEL"
    yield found(
        PROBLEM,
        MESSAGE,
        model=model.name,
        where=place_of(serving.arguments.get("model")),
        commands=(f"vllm serve {base} --enable-lora --lora-modules adapter={model.name}",),
        evidence=(
            Observed.quoted(f"{model.folder}/adapter_config.json", f"base_model_name_or_path: {model.base_model}"),
        ),
    )
