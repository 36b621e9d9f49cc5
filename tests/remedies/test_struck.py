"""What is already set is advised by no remedy of the catalogue, and the rest of the remedy stays as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from doctor.catalogue.changes import changes_of
from doctor.catalogue.finding import Message, Words, found
from doctor.catalogue.index import load
from doctor.catalogue.problem import ERROR, Problem
from doctor.catalogue.problem_files import declared
from doctor.diagnosis import striking
from doctor.diagnosis.remedies import Situation, advised_in, reviewed

PROBLEM = Problem(id="NCC900", name="x", severity=ERROR, since="0.1")


def _proposed() -> Iterator[tuple[str, str, str, Situation]]:
    """(id, remedy, word, situation in which it is so) of each message that advises a value."""
    for entry in load():
        for message in declared(entry).messages.values():
            remedy = re.sub(r"\[[?!]\w+\||\?\]", "", message.en.remedy)
            for word in advised_in(remedy):
                changes = [each for each in changes_of(word) if each.input.kind in {"variable", "setting"}]
                kept = {each.input.kind: {} for each in changes}  # type: dict[str, dict[str, object]]
                for each in changes:
                    kept[each.input.kind][each.input.name] = each.new
                variables = {name: str(value) for name, value in kept.get("variable", {}).items()}
                so = Situation(variables=variables, settings=kept.get("setting", {}), from_logs=True)
                if changes and "{" not in word:
                    yield entry.id, remedy, word, so


def _told(remedy: str, situation: Situation) -> str:
    escaped = remedy.replace("{", "{{").replace("}", "}}")
    (told,), _ = reviewed([found(PROBLEM, Message(Words("`x` fails", "It ends.", escaped)))], situation)
    return told.words().remedy


#: its brackets tell what newer releases do: nothing is advised there
NO_ADVICE = {("VLL097", "use_tensor_cores=True")}


def test_no_remedy_of_the_catalogue_proposes_what_is_so() -> None:
    proposed = list(_proposed())
    assert len(proposed) > 200
    again, struck = set(), 0
    for identity, remedy, word, situation in proposed:
        told = _told(remedy, situation)
        is_so = "is already set" in told
        struck += is_so
        if is_so and word in advised_in(told):
            again.add((identity, word))
    assert again <= NO_ADVICE
    assert struck > 200


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("On RoCE set `A=1` (v2) and the cards with `B`; raise `C=2`.", "On RoCE set the cards with `B`; raise `C=2`."),
        ("Set `C=2`, `B=1` and `A=1`.", "Set `C=2`, `B=1`."),
        ("Look first. Try `A=1`; then upgrade.", "Look first. Then upgrade."),
        ("Upgrade, or set `A=1`.", "Upgrade."),
        ("Set `A=1` in the file, or leave `B` out.", "Leave `B` out."),
        ("Choose `B` (or set `A=1`), and go on.", "Choose `B`, and go on."),
        ("For one file set `A=1` or pass `B=2`.", "For one file pass `B=2`."),
        ("Set `A=1`.", ""),
        ("\u8bbe\u7f6e `A=1` \u548c `B=2`\u3002", "\u8bbe\u7f6e `B=2`\u3002"),
        ("Set `B=1`.", "Set `B=1`."),
    ],
)
def test_the_clause_is_struck_and_the_rest_stays(before: str, after: str) -> None:
    assert striking.without(before, "A=1".__eq__, "A=1") == after
