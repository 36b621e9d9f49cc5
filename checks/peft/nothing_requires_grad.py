"""Judges loss-without-gradient (PFT005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Call, Script
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_LIKELY = TOML["log_likely"]
BLOCK = TOML["block"]
MESSAGE = TOML["main"]

#: TRL's trainers see to the inputs themselves
_PLAIN = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "transformers.trainer.Trainer"})
#: any of these may give the inputs of the layers a gradient
_GIVES_GRADIENT = (
    "enable_input_require_grads", "register_forward_hook", "requires_grad_", "prepare_model_for_kbit_training",
    "prepare_model_for_int8_training",
)  # fmt: skip


@check(PROBLEM)
def reentrant_under_adapter(training: Training, script: Script, packages: Packages) -> Judgement:
    """A model that was wrapped before the Trainer switches checkpointing on, reentrant by default up to 4.57.

    PEFT asks the inputs for gradients only where checkpointing is on when it wraps the model (`PeftModel.__init__`).
    """
    if training.trainer_origin not in _PLAIN or not packages.matches("transformers", "<5"):
        return
    adapters = script.calls_of("get_peft_model")
    if training.value("gradient_checkpointing") is not True or len(adapters) != 1 or adapters[0].conditional:
        return
    if _not_reentrant(training) or _embeds(training) or script.calls_of(*_GIVES_GRADIENT):
        return
    if any(not _follows(each, adapters[0]) for each in script.calls_of("gradient_checkpointing_enable")):
        return
    setting = training.get("gradient_checkpointing")
    yield found(
        PROBLEM, MESSAGE, where=place_of(setting), evidence=quoted(setting), confidence=LIKELY,
        commands=('gradient_checkpointing_kwargs={"use_reentrant": False}',),
    )  # fmt: skip


def _not_reentrant(training: Training) -> bool:
    """Whether the arguments say so, or what they say is not known."""
    told = training.nested.get("gradient_checkpointing_kwargs.use_reentrant")
    if told is not None:
        return not told.known or told.value is not True
    return training.get("gradient_checkpointing_kwargs") is not None


def _embeds(training: Training) -> bool:
    """Whether the adapter may train the embeddings."""
    wanted = [(training.lora or {}).get(name) for name in ("target_modules", "modules_to_save")]
    return any(each is not None and (not each.known or "emb" in str(each.value)) for each in wanted)


def _follows(call: Call, other: Call) -> bool:
    """Whether a call surely runs after another: below it, in the same file."""
    lines = (call.place.line or 0, other.place.line or 0)
    return call.place.file == other.place.file and lines[0] > lines[1]


def explain(hits: Hits) -> Finding | None:
    """The warning of torch's checkpointing proves which of the causes it was."""
    if hits.of(2):
        return found(PROBLEM, BLOCK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    proven = bool(hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if proven else LOG_MESSAGE_LIKELY,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("model.enable_input_require_grads()",),
        confidence=CONFIRMED if proven else LIKELY,
    )
