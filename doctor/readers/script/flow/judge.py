"""All idioms that the flow of a script shows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from doctor.readers.script.flow.accumulation import accumulation
from doctor.readers.script.flow.apart import rows_apart
from doctor.readers.script.flow.events import runs
from doctor.readers.script.flow.loss import makings_of_loss
from doctor.readers.script.flow.meetings import shapes_that_meet
from doctor.readers.script.flow.order import order_of_calls
from doctor.readers.script.flow.program import program_of
from doctor.readers.script.flow.rendered import rendered_twice
from doctor.readers.script.flow.roles import Roles
from doctor.readers.script.flow.rows import rows_of_run
from doctor.readers.script.flow.seen import Met, Script
from doctor.readers.script.flow.sharded import pieces_of_models
from doctor.readers.script.flow.states import states_kept
from doctor.readers.script.flow.values import TooMuchError, Values
from doctor.readers.script.flow.weights import weights_of_objects
from doctor.readers.script.flow.workers import in_workers

#: they hang on what a file does not hold
_ABSENT = frozenset({
    "gradients_never_cleared", "optimizer_never_steps", "evaluation_mode_stays", "right_padding_in_generation",
    "padding_in_labels", "optimizer_state_left", "sorted_rows_not_shuffled", "prompt_in_policy_loss",
    "clipped_while_scaled", "reference_is_policy", "optimizer_of_frozen_model",
    "losses_summed_over_batches", "accumulation_not_entered",
})  # fmt: skip
_JUDGES: tuple[Callable[[Script], Iterator[Met]], ...] = (
    order_of_calls, weights_of_objects, makings_of_loss, rows_of_run, rows_apart, in_workers,
    shapes_that_meet, states_kept, rendered_twice, accumulation, pieces_of_models,
)  # fmt: skip


def judged(tree: ast.Module, text: str, *, whole: bool) -> Iterable[Met]:
    """The first of each idiom; `whole` as in `flow_of`."""
    values = Values(program_of(tree))
    script = Script(text, values, Roles(values), runs(values))
    found: dict[str, Met] = {}
    for judge in _JUDGES:
        try:
            for met in judge(script):
                if whole or met.id not in _ABSENT:
                    found.setdefault(met.id, met)
        except TooMuchError:
            continue
    return found.values()
