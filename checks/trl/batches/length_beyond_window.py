"""Judges grpo-length-beyond-window (TRL022), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.settings import place_of, whole
from doctor.catalogue.shared.trainers import config_place, installed, is_grpo, quoted, vllm_mode, whole_argument
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
REFUSED = TOML["refused"]
CUT = TOML["cut"]
BEYOND = TOML["beyond"]
LOADED = TOML["loaded"]


def _engine_length(training: Training, packages: Packages, mode: str, completion: int) -> int | None:
    """Return the `max_model_len` that TRL hands to a colocated vLLM, None where it leaves it to vLLM."""
    if mode != "colocate":
        return None
    version = installed(packages, "trl")
    if packages.matches("trl", ">=0.26"):
        return whole_argument(training, "vllm_max_model_length", version)
    prompt = whole_argument(training, "max_prompt_length", version)
    return None if prompt is None else prompt + completion


@check(PROBLEM)
def length_beyond_window(training: Training, packages: Packages, model: Model | None) -> Judgement:
    """Compare the engine's window and the completion with the model's window."""
    version = installed(packages, "trl")
    if not is_grpo(training):
        return
    completion, mode = whole_argument(training, "max_completion_length", version), vllm_mode(training, version)
    if completion is None or mode is None:
        yield Skip("`max_completion_length` or the mode of vLLM could not be read without running the script")
        return
    window = model.max_position_embeddings if model else None
    length = _engine_length(training, packages, mode, completion)
    settings = [training.get(name) for name in ("vllm_max_model_length", "max_completion_length", "max_prompt_length")]
    message, severity = None, WARNING
    if length is not None and window is not None and length > window:
        message, severity = REFUSED, ERROR
    elif length is not None and completion >= length:
        message, window = CUT, length
    elif window is not None and completion >= window:
        message = BEYOND
    if message is not None:
        yield found(
            PROBLEM,
            message,
            where=place_of(*settings, otherwise=config_place(training)),
            evidence=quoted(*settings),
            severity=severity,
            confidence=LIKELY,
            length=length,
            window=window,
            completion=completion,
            room=0,
        )


@check(PROBLEM)
def loaded_for_less(training: Training, script: Script | None) -> Judgement:
    """Unsloth makes its engine for `max_seq_length` of `from_pretrained`, whatever the training's arguments say."""
    loaded = training.model_arguments.get("max_seq_length")
    length = whole(loaded.value) if loaded is not None and loaded.known else None
    imports = script.imports if script is not None else ()
    if length is None or not is_grpo(training) or not any(each.partition(".")[0] == "unsloth" for each in imports):
        return
    prompt, completion = (training.get(name) for name in ("max_prompt_length", "max_completion_length"))
    sizes = [whole(each.value) if each is not None and each.known else None for each in (prompt, completion)]
    if None in sizes or sum(each or 0 for each in sizes) <= length:
        return
    yield found(
        PROBLEM, LOADED, length=length, prompt=sizes[0], completion=sizes[1], confidence=LIKELY,
        severity=ERROR if (sizes[0] or 0) >= length else WARNING, where=place_of(loaded, prompt, completion),
        evidence=quoted(loaded, prompt, completion), commands=(f"max_seq_length={sum(each or 0 for each in sizes)}",),
    )  # fmt: skip
