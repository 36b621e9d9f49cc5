"""NeMo-RL's record of what it trained on: tokens, masks, and the log probabilities of both sides.

`train_data_step<step>.jsonl` in the folder of its logger holds a line a sequence, each value a list of one: `content,
rewards, token_ids, token_loss_mask, sample_loss_mask, advantages, generation_logprobs, prev_logprobs` (0.2 to 0.6):
https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/algorithms/grpo.py (log_data)
https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/utils/logger.py (log_batched_dict_as_jsonl)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.base.patterns import later
from doctor.logs.rollouts.sample import Sample, Tokens, answer_of, episode_of, missing_is_nan, number
from doctor.oracles.logps import logp_agreement

NAME = later(r"train_data_step(\d{1,11})\.jsonl(?:\.\w{2,3})?")
_NEEDED = frozenset({"token_ids", "token_loss_mask", "generation_logprobs", "prev_logprobs"})

#: the engine's log probability of a token that it did not sample is filled in as 0; of one that it did it may be 0 as
#: well, but then the trainer is as sure of it
_SURE = -1.0


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a line is one of NeMo-RL's."""
    return row.keys() >= _NEEDED


def sample_of(row: Mapping[str, Any], path: str, at: int) -> Sample:
    """One sequence.

    Raises:
        KeyError, TypeError, ValueError: its values are of other kinds than NeMo-RL writes.

    """
    told = {name: _only(value) for name, value in row.items()}
    trained = [float(each) for each in told["token_loss_mask"]]
    engine, trainer = ([float(each) for each in told[name]] for name in ("generation_logprobs", "prev_logprobs"))
    ids = [int(each) for each in told["token_ids"]]
    first = next((place for place, counts in enumerate(trained) if counts), len(ids))
    reward = missing_is_nan(told.get("rewards"))
    advantages = told.get("advantages")
    return Sample(
        step=None,
        group=hash(tuple(ids[:first])),
        text=answer_of(told.get("content")),
        reward=reward,
        file=path,
        line=at,
        deviates=_moves(advantages, trained),
        episode=episode_of(told, told.get("content"), reward),
        scored=_tokens(trained, engine, trainer) if _counts(told.get("sample_loss_mask")) else None,
    )


def _only(value: Any) -> Any:
    """What a list of one holds."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _counts(mask: Any) -> bool:
    return mask is None or number(mask) != 0


def _moves(advantages: Any, trained: list[float]) -> bool | None:
    if not isinstance(advantages, list) or len(advantages) != len(trained):
        return None
    return any(counts and float(each) for each, counts in zip(advantages, trained, strict=True))


def _tokens(trained: list[float], engine: list[float], trainer: list[float]) -> Tokens:
    """What both sides gave the trained tokens; those that the engine never sampled are counted by themselves."""
    strange = [
        bool(each) and one == 0.0 and other < _SURE for each, one, other in zip(trained, engine, trainer, strict=True)
    ]
    counted = [0.0 if odd else each for each, odd in zip(trained, strange, strict=True)]
    verdict = logp_agreement([trainer], [engine], [counted])
    tokens = int(verdict.details.get("tokens", 0))
    ratio = verdict.details.get("mean_ratio")
    known = tokens > 0 and ratio is not None
    return Tokens(
        trained=sum(map(bool, trained)), strange=sum(strange), scored=tokens if known else 0,
        gap=verdict.value if known else 0.0, ratio=float(ratio) if known and ratio is not None else 1.0,
    )  # fmt: skip
