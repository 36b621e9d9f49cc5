"""Judges own-function-raises (DAT053), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found, joined
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem


#: who calls -> the last frame of the library before one of the user's own
_CALLERS = (
    (
        "reward",
        re.compile(
            r"(?:grpo_trainer|rloo_trainer|GRPOTrainer|online_dpo_trainer|ppo_trainer|rollout_mixin)\.py:"
            r"_?(?:calculate_rewards|compute_rewards\w*|score_completions|generate_and_score_completions"
            r"|prepare_inputs|call_async_reward\w*)$"
            r"|[\\/]verl[\\/](?:workers[\\/]reward_manager|experimental[\\/]reward\w*|utils[\\/]reward_score"
            r"|trainer[\\/]ppo[\\/]reward)\b[^\n]{0,80}:(?:__call__|compute_score|default_compute_score|run_single"
            r"|compute_reward|verify|_verify|_compute_\w+|_call_with_kwargs)$"
        ),
    ),
    (
        "map",
        re.compile(
            r"[\\/]datasets[\\/]arrow_dataset\.py:"
            r"(?:apply_function\w*|_map_single|iter_outputs|process|async_apply_function\w*"
            r"|get_indices_from_mask_function|async_get_indices_from_mask_function)$"
        ),
    ),
    ("collator", re.compile(r"[\\/]torch[\\/]utils[\\/]data[\\/]_utils[\\/]fetch\.py:fetch$")),
    ("callback", re.compile(r"[\\/]transformers[\\/]trainer_callback\.py:call_event$")),
    ("metric", re.compile(r"[\\/]transformers[\\/]trainer(?:_seq2seq)?\.py:(?:evaluation_loop|prediction_loop)$")),
)
#: methods of a trainer that somebody wrote anew: the library calls them, but they are no such functions
_OF_TRAINER = later(r":(?:prediction_step|compute_loss|training_step|evaluation_loop|prediction_loop|get_\w+)$")
_INSTALLED = later(
    r"(?:site|dist)-packages[\\/]|[\\/]python3?(?:\.\d+t?)?[\\/]|^<frozen |[\\/]trl[\\/]trainer[\\/]"
    r"|[\\/]src[\\/]transformers[\\/]"
)


#: who calls -> what is said
MESSAGES = {
    "reward": TOML["reward"],
    "map": TOML["map"],
    "collator": TOML["collator"],
    "callback": TOML["callback"],
    "metric": TOML["metric"],
}

#: what it means -> what the exception says; the first that fits
_MEANINGS = (
    (
        "no_match",
        re.compile(r"^AttributeError: 'NoneType' object has no attribute '(?:group|groups|groupdict|start|end|span)'"),
    ),
    ("none", re.compile(r"^(?:AttributeError|TypeError): [^\n]{0,40}'?NoneType")),
    (
        "not_parsed",
        re.compile(r"JSONDecodeError|^ValueError: (?:could not convert string to float|invalid literal for)"),
    ),
    ("other_type", re.compile(r"^AttributeError: '(?:int|float|bool|dict|list)' object has no attribute")),
    ("no_name", re.compile(r"^(?:KeyError|NameError|UnboundLocalError)")),
    ("empty", re.compile(r"^(?:IndexError|ZeroDivisionError)")),
)  # fmt: skip
#: the name that is not there
_KEY = later(r"^(?:KeyError: |NameError: name )'([\w./\- ]{1,60})'")


def explain(hits: Hits) -> Finding | None:
    """Only where the frame behind the library's call is the user's own."""
    called = _called(hits.first.frames)
    if called is None:
        return None
    role, outer, inner = called
    name = outer.rpartition(":")[2]
    meaning = next((name for name, pattern in _MEANINGS if pattern.search(hits.first.text)), "plain")
    key = _KEY.search(hits.first.text)
    asked = f"`{key[1]}`: " if key else ""
    return found(
        PROBLEM, MESSAGES[role], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=name if name.isidentifier() else "lambda", kind=hits.first.groups["kind"],
        place=re.split(r"[\\/]", inner)[-1], meaning=joined((asked, TOML.phrase(f"meaning.{meaning}")), en=""),
    )  # fmt: skip


def _called(frames: Sequence[str]) -> tuple[str, str, str] | None:
    """(who calls, the function of the user's that is called, the user's innermost frame) of the innermost such call."""
    for at in range(len(frames) - 2, -1, -1):
        role = next((role for role, pattern in _CALLERS if pattern.search(frames[at])), None)
        if role is not None and not _INSTALLED.search(frames[at + 1]) and not _OF_TRAINER.search(frames[at + 1]):
            own = [frame for frame in frames[at + 1 :] if not _INSTALLED.search(frame)]
            return role, own[0], own[-1]
    return None
