"""Judges quantization-refused (VLL061), whose words stand in the TOML beside it."""

from __future__ import annotations

from difflib import get_close_matches

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_MATCH = TOML["log_match"]
LOG_MESSAGE_DTYPE = TOML["log_dtype"]
LOG_MESSAGE_MODELOPT = TOML["log_modelopt"]
LOG_MESSAGE_FILE = TOML["log_file"]
ARGUMENT = TOML["argument"]


@check(PROBLEM)
def quantization_refused(serving: Serving, packages: Packages, choices: Choices | None) -> Judgement:
    """Judge an explicit method by the list of the installed release; a plugin may add methods."""
    setting = serving.arguments.get("quantization")
    if setting is None or not setting.known or setting.value in {None, "", "None"} or "$" in str(setting.value):
        return
    known = choices.of("vllm.QuantizationMethods", "vllm.QUANTIZATION_METHODS") if choices is not None else ()
    if not known or any(name.startswith("vllm-") for name in packages.distributions):
        yield Skip("the quantization methods that the installed vLLM takes are not known")
    elif str(setting.value).lower() not in known:
        near = get_close_matches(str(setting.value), known, 3, 0.4) or known[:8]
        yield found(
            PROBLEM, ARGUMENT, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
            value=setting.value, version=packages.version("vllm") or "", known=", ".join(f"`{each}`" for each in near),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Unknown, contradicted, of another data type, read as FP8, or without the method's file."""
    return found(
        PROBLEM,
        hits.choice(
            {
                "given": LOG_MESSAGE_MATCH,
                "dtype": LOG_MESSAGE_DTYPE,
                "fileless": LOG_MESSAGE_FILE,
                "static": LOG_MESSAGE_MODELOPT,
            },
            LOG_MESSAGE,
        ),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        method=hits.get("method"),
        given=hits.get("given"),
        dtype=hits.get("dtype"),
        fileless=hits.get("fileless"),
    )
