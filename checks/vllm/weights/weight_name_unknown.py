"""Judges vllm-weight-name-unknown (VLL036), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_PEFT = TOML["log_peft"]
LOG_MESSAGE_KEY = TOML["log_key"]


#: what a wrapper puts in front of names: https://docs.pytorch.org/docs/stable/generated/torch.compile.html,
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/fsdp/_common_utils.py (FSDP_WRAPPED_MODULE)
_WRAPPERS = (
    ("_orig_mod", "compile"), ("_fsdp_wrapped_module", "fsdp"), ("_checkpoint_wrapped_module", "checkpoint"),
    ("module", "ddp"),
)  # fmt: skip
#: https://github.com/vllm-project/vllm/pull/19054
_VISION = ("visual.", "model.visual.", "language_model.", "model.language_model.")
_TRANSFER = later(r":(?:_?update_weights?\w{0,40}|update_named_param|update_params|_load_weights_from_\w{1,30})$")


def _of_key(hits: Hits) -> Finding:
    """A name of the original format has one cause, one of a transfer another, any other has several."""
    key = hits.get("key") or ""
    sent = any(_TRANSFER.search(frame) for hit in hits for frame in hit.frames)
    original = any(part in key for part in ("attention.w", "feed_forward.w", "tok_embeddings", "attention_norm"))
    cause = (
        "original" if original
        else "renamed" if key.startswith(_VISION) and key.endswith((".weight", ".bias"))
        else "sent" if sent or hits.first.signature == len(SIGNATURES) - 1
        else "tied" if key.endswith("lm_head.weight")
        else "ordinary"
    )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE_KEY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        key=key, why=TOML.phrase(f"why.{cause}"), what=TOML.phrase(f"what.{cause}"),
    )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """A PEFT wrapper shows by its prefix."""
    if not hits.of(0):
        return _of_key(hits)
    name = hits.get("name") or ""
    wrapper = next((phrase for prefix, phrase in _WRAPPERS if prefix in name.split(".")), None)
    if wrapper is not None:
        return found(
            PROBLEM, TOML["log_wrapped"], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name,
            model=hits.get("model"), wrapper=TOML.phrase(f"wrapper.{wrapper}"),
        )  # fmt: skip
    peft = name.startswith("base_model") or "lora_" in name
    return found(
        PROBLEM,
        LOG_MESSAGE_PEFT if peft else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if peft else LIKELY,
        name=name,
        model=hits.get("model"),
    )
