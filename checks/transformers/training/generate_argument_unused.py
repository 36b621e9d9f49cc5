"""Judges generate-argument-unused (TRF034), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: arguments with words of their own
_KNOWN = ("token_type_ids", "skip_special_tokens", "num_logits_to_keep")
#: what Transformers' own `generate` makes and hands on: a model whose `forward` does not take it is of another time
_INTERNAL = frozenset(
    {"encoder_outputs", "past_key_values", "cache_position", "use_cache", "decoder_input_ids", "logits_to_keep",
     "attention_mask", "position_ids", "encoder_hidden_states"}
)  # fmt: skip
_IMAGES = frozenset(
    {"pixel_values", "image_grid_thw", "images", "image_sizes", "pixel_values_videos", "video_grid_thw"}
)


def explain(hits: Hits) -> Finding:
    """Arguments with a known story get it; of several the first known one."""
    names = (hits.get("names") or "").replace("'", "").split(", ")
    of_images = any(name in _IMAGES for name in names)
    internal = any(name in _INTERNAL for name in names)
    fallback = "of_images" if of_images else "of_another_release" if internal else "of_others"
    known = next((name for name in names if name in _KNOWN), None)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if known or of_images else LIKELY,
        names=", ".join(f"`{name}`" for name in names),
        why=TOML.phrase(f"why.{known or fallback}"), what=TOML.phrase(f"what.{known or fallback}"),
    )  # fmt: skip
