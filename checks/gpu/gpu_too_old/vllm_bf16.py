"""Judges GPU7876/vllm_bf16, a row of gpu-too-old; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import capability, release_of, served_gpus
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]
UNSEEN = TOML["unseen"]

#: the first generation of cards that computes in bf16
AMPERE = (8, 0)
#: what names say of weights that are stored in another type than bf16
_STORED_OTHERWISE = later(
    r"awq|gptq|bnb|gguf|fp16|float16|int[48]\b|4bit|8bit|-half\b|opt-|gpt2|llama-2|vicuna", re.IGNORECASE
)


@check(PROBLEM)
def bf16_refused(
    serving: Serving, packages: Packages, gpus: Gpus, environment: Environment, model: Model | None
) -> Judgement:
    """A dtype said outright counts for every release; the model's own only where `auto` does not fall back."""
    setting = serving.arguments.get("dtype")
    if serving.dtype in (None, "auto"):
        release = release_of(packages)
        if (setting is not None and not setting.known) or release is None or release.auto_dtype_falls_back is not False:
            return
        if model is None:
            yield from _unseen(serving, gpus, environment)
            return
        if model.torch_dtype != "bfloat16":
            return
        said: tuple[Observed, ...] = (Observed.quoted(model.stated_in, "torch_dtype: bfloat16"),)
    elif serving.dtype == "bfloat16":
        said = proofs(setting)
    else:
        return
    for gpu in served_gpus(serving, gpus, environment):
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability < AMPERE:
            yield found(
                PROBLEM,
                MESSAGE,
                gpu=gpu.label,
                capability=capability(gpu),
                where=place_of(setting) or Where(gpu=gpu.index),
                commands=("--dtype half",),
                evidence=(*said, Observed.quoted("NVML", f"{gpu.label}: compute capability {capability(gpu)}")),
            )
            return


def _unseen(serving: Serving, gpus: Gpus, environment: Environment) -> Judgement:
    """A model that is not on this machine: since 2023 nearly all are stored in bf16, quantized ones are not."""
    name = serving.model or ""
    if not name or serving.quantization or _STORED_OTHERWISE.search(name):
        return
    old = [each for each in served_gpus(serving, gpus, environment) if (each.compute_capability or AMPERE) < AMPERE]
    if old:
        yield found(
            PROBLEM,
            UNSEEN,
            gpu=old[0].label,
            capability=capability(old[0]),
            model=name,
            where=Where(gpu=old[0].index),
            severity=WARNING,
            confidence=LIKELY,
            commands=("--dtype half",),
            evidence=(Observed.quoted("NVML", f"{old[0].label}: compute capability {capability(old[0])}"),),
        )


def explain(hits: Hits) -> Finding | None:
    """Name the card; a platform that has no capability tells none."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("--dtype half",),
        gpu=hits.get("gpu"),
        capability=hits.get("capability") or "below 8.0",
    )
