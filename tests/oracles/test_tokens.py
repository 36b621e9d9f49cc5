"""Tokens that are trained on, groups that teach, versions of samples; and that the oracles need nothing."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor import oracles
from doctor.oracles import BROKEN, DOUBTFUL, HOLDS, UNSEEN

Sequences = st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=30), min_size=1, max_size=6)


@given(Sequences, st.data())
def test_the_engines_own_sequences_are_found_in_any_order_and_length(
    rows: list[list[int]], data: st.DataObject
) -> None:
    trained = [row[: data.draw(st.integers(1, len(row)))] for row in rows]
    assert oracles.same_tokens(rows[::-1], trained).state is HOLDS
    assert oracles.same_tokens(rows, [[*rows[0], 99]]).details["added"] == [99]


@given(st.lists(st.integers(0, 50), min_size=12, max_size=40, unique=True), st.data())
def test_a_token_that_is_lost_or_added_is_named(row: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(row) - 10))
    lost = oracles.same_tokens([row], [row[:at] + row[at + 1 :]])
    assert (lost.state, lost.details["at"], lost.details["dropped"]) == (BROKEN, at, [row[at]])
    added = oracles.same_tokens([row], [[*row[:at], 77, *row[at:]]])
    assert (added.state, added.details["at"], added.details["added"]) == (BROKEN, at, [77])


def test_padding_prompts_and_tools_are_not_to_be_trained() -> None:
    ids = [[5, 6, 7, 8, 0], [5, 6, 7, 1, 0]]
    sampled = [[0, 1, 1, 1, 0], [0, 1, 0, 1, 0]]
    assert oracles.mask_audit(ids, sampled, sampled).state is HOLDS
    prompt = oracles.mask_audit(ids, [[1, 1, 1, 1, 0], sampled[1]], sampled)
    assert (prompt.state, prompt.value) == (BROKEN, 1.0)
    padding = oracles.mask_audit(ids, [[0, 1, 1, 1, 1]] * 2, attention=[[1, 1, 1, 1, 0]] * 2)
    assert padding.value == 2.0
    assert oracles.mask_audit(ids, [[0] * 5] * 2, sampled).reason == "no token is trained"
    ended = oracles.mask_audit(ids, [sampled[0], [0, 1, 0, 0, 0]], sampled, eos_id=1, finished=[False, True])
    assert (ended.state, ended.details["ends_untrained"]) == (DOUBTFUL, 1)
    assert oracles.mask_audit(ids, sampled).state is UNSEEN


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_a_separator_that_no_turn_has_is_named_whatever_stands_around_it(seed: int, *, kept: bool) -> None:
    draw = random.Random(seed)  # noqa: S311 - noise, not a secret

    def words() -> list[int]:
        return [draw.randrange(10, 50) for _ in range(draw.randrange(2, 9))]

    rows, sampled = [], []
    for _ in range(9):
        prompt, said, tool, last = (
            [*words(), 1, 2, *words()],
            [*words(), 1],
            [*([2] if kept else []), *words()],
            words(),
        )
        rows.append([*prompt, *said, *tool, *last])
        sampled.append([0] * len(prompt) + [1] * len(said) + [0] * len(tool) + [1] * len(last))
    verdict = oracles.turn_separators(rows, sampled, ends={1})
    assert (verdict.state, verdict.details["dropped"]) == (HOLDS if kept else BROKEN, 2)
    assert oracles.turn_separators(rows, sampled, ends={7}).state is UNSEEN, "no token that closes a turn is known"
    assert oracles.turn_separators(rows[:3], sampled[:3], ends={1}).state is UNSEEN, "too few to tell"


def test_a_template_that_drops_earlier_thoughts_is_found() -> None:
    def render(messages: list[str]) -> list[int]:
        """Thoughts, in capitals, only in the last message, as reasoning templates have it."""
        shown = [*(each.lower() if not each.isupper() else "" for each in messages[:-1]), messages[-1]]
        return [ord(letter) for each in shown for letter in each]

    kept = oracles.template_prefix(render, ["ask", "answer", "again", "yes"])
    lost = oracles.template_prefix(render, ["ask", "THOUGHT", "again", "yes"])
    assert (kept.state, lost.state, lost.details["turn"]) == (HOLDS, BROKEN, 1)


def test_groups_and_versions() -> None:
    assert oracles.group_variance([[0.0, 0.0], [1.0, float("nan")], [1.0, 0.0]]).value == 0.5
    assert oracles.group_variance([[1.0]]).state is UNSEEN
    with pytest.raises(ValueError, match="groups of 3"):
        oracles.group_variance([1.0] * 4, group_size=3)
    assert oracles.staleness([4, 5], 5, allowed=1).state is HOLDS
    assert oracles.staleness([9], 5).state is BROKEN
    assert oracles.staleness([None], 5).state is UNSEEN


def test_ids_that_change_on_the_way_through_text() -> None:
    words = {1: "a", 2: "b", 3: "ab"}
    back = {"a": [1], "b": [2], "ab": [3]}
    verdict = oracles.round_trip([[3], [1, 2]], lambda ids: "".join(words[each] for each in ids), back.__getitem__)
    assert (verdict.state, verdict.value, verdict.details["first"]) == (DOUBTFUL, 0.5, 1)


@pytest.mark.parametrize("name", [each.name for each in pkgutil.iter_modules(oracles.__path__)])
def test_examples_in_the_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(f"doctor.oracles.{name}"))
    assert not failed


@pytest.mark.process
def test_nothing_but_the_standard_library_is_imported() -> None:
    code = (
        "import sys, doctor.oracles\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('torch', 'numpy', 'click', 'rich')"
        " or (n.startswith('doctor.') and not n.startswith('doctor.oracles'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_verdict_goes_into_json() -> None:
    told = oracles.logp_agreement([[]], [[]]).as_dict()
    assert (told["state"], told["value"]) == ("unseen", None)
