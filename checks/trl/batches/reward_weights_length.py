"""Judges reward-weights-length (TRL031), whose words stand in the TOML beside it."""

from __future__ import annotations

import ast

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Skip, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.trainers import is_grpo, quoted
from doctor.catalogue.words import words_of
from doctor.facts.training import Training

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


def _count(setting: Observed) -> int | None:
    """Count the elements of a list as it is written; a single object counts as one."""
    if setting.known and isinstance(setting.value, (list, tuple)):
        return len(setting.value)
    try:
        node = ast.parse(setting.text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, (ast.List, ast.Tuple)) or any(isinstance(each, ast.Starred) for each in node.elts):
        return None
    return len(node.elts)


@check(PROBLEM)
def reward_weights_length(training: Training) -> Judgement:
    """Count both lists where both are written out."""
    weights, functions = training.get("reward_weights"), training.trainer_arguments.get("reward_funcs")
    if not is_grpo(training) or weights is None or functions is None or (weights.known and weights.value is None):
        return
    given, wanted = _count(weights), _count(functions)
    if given is None or wanted is None:
        yield Skip("`reward_weights` or `reward_funcs` could not be counted without running the script")
        return
    if given != wanted:
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(weights, functions),
            evidence=quoted(weights, functions),
            weights=given,
            functions=wanted,
        )
