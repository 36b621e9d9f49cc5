"""Invariants of RL post-training, to be called from anybody's loop or CI: arrays in, a verdict and a number out.

    from doctor import oracles

    verdict = oracles.logp_agreement(trainer_logps, engine_logps, loss_mask, precision="bfloat16")
    assert verdict.ok, verdict.reason

NumPy arrays, torch tensors and nested lists are taken; neither library is imported, and nothing else of the doctor is.
What a function is called, takes and gives, and what its levels are, changes only with `VERSION`: the first number for
what breaks a caller, the second for levels and new functions.
"""

from __future__ import annotations

from doctor.oracles.episodes import (
    Episode,
    Episodes,
    default_reward,
    environment_words,
    episode,
    idle_episodes,
    infrastructure,
    tool_failures,
)
from doctor.oracles.logps import (
    healthy_gap,
    logp_agreement,
    renewed,
    renormalised,
    repeat_noise,
    same_path,
    shifted,
    tempered,
)
from doctor.oracles.sampling import effective_sample_size, group_variance, staleness
from doctor.oracles.tokens import (
    mask_audit,
    prefix_property,
    round_trip,
    same_tokens,
    template_prefix,
    turn_separators,
)
from doctor.oracles.verdict import BROKEN, DOUBTFUL, HOLDS, UNSEEN, State, Verdict
from doctor.oracles.weights import Checksum, checksum, compare_weights, digest, weight_checksums

VERSION = "1.3"

__all__ = [
    "BROKEN",
    "DOUBTFUL",
    "HOLDS",
    "UNSEEN",
    "VERSION",
    "Checksum",
    "Episode",
    "Episodes",
    "State",
    "Verdict",
    "checksum",
    "compare_weights",
    "default_reward",
    "digest",
    "effective_sample_size",
    "environment_words",
    "episode",
    "group_variance",
    "healthy_gap",
    "idle_episodes",
    "infrastructure",
    "logp_agreement",
    "mask_audit",
    "prefix_property",
    "renewed",
    "renormalised",
    "repeat_noise",
    "round_trip",
    "same_path",
    "same_tokens",
    "shifted",
    "staleness",
    "tempered",
    "template_prefix",
    "tool_failures",
    "turn_separators",
    "weight_checksums",
]
