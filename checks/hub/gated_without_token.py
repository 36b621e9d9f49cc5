"""Judges gated-without-token (HUB003), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.named_models import named_model, on_machine, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


GATED = later(r"meta-llama/(Llama|Meta-Llama|CodeLlama)-.+|google/gemma-(1\.1-)?\d.*", re.IGNORECASE)
OPEN = later(r"google/gemma-([4-9]|\d{2,})(-|n).*", re.IGNORECASE)  # Gemma 4 and newer: not known to be gated
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@check(PROBLEM)
def gated_without_token(
    hub: Hub,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    script: Script | None,
) -> Judgement:
    """Judge downloads from the hub itself or a mirror of it."""
    named = named_model(training, serving, verl_config, trinity_config)
    if on_machine(model) or named is None or hub.has_token or hub.offline or hub.use_modelscope:
        return
    name = str(named.value)
    gated = (model is not None and model.gated) or (GATED.fullmatch(name) and not OPEN.fullmatch(name))
    if not gated or name in hub.cached_models:
        return
    if training is not None and (any(each in training.environment_set for each in TOKENS) or _given(training)):
        return
    if script is not None and any(each.startswith("huggingface_hub") for each in script.imports):
        yield Skip("the script imports huggingface_hub and may log in by itself")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        model=name,
        confidence=LIKELY,
        where=place_of(named),
        commands=("hf auth login", "export HF_TOKEN=..."),
        evidence=(quoted(named),),
    )


def _given(training: Training) -> bool:
    """Whether the script hands a token to the loader."""
    names = {*training.model_arguments, *training.arguments}
    return any(name in names for name in ("token", "use_auth_token", "hub_token"))


def explain(hits: Hits) -> Finding | None:
    """Name the repository where a line does; nothing where PEFT only looked for a file and went on."""
    if hits.of(IGNORED) and not (hits.of(1) or hits.of(2) or hits.of(3)):
        return None
    repo = hits.get("repo") or next((name for hit in hits for name in _URL.findall(hit.text)), "of this run")
    commands = ("hf auth login",)
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands, repo=repo)


IGNORED = 4  # the signature of PEFT's warning
_URL = later(r"huggingface\.co/(?:api/)?(?:models/|datasets/)?([\w.\-]{1,96}/[\w.\-]{1,96}?)/(?:resolve|raw|tree)")
