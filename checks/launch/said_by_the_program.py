"""Words said-by-the-program (LCH8772), whose texts stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found, joined
from doctor.catalogue.spoken import Spoken
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGES = {
    "not_a_number": TOML["not_a_number"], "no_gradient": TOML["no_gradient"], "not_learnt": TOML["not_learnt"],
    "left_out": TOML["left_out"],
    "not_read": TOML["not_read"], "not_same": TOML["not_same"], "gone": TOML["gone"], "absent": TOML["absent"],
    "instead": TOML["instead"],
    "all_fail": TOML["all_fail"], "none_of": TOML["none_of"],
    "twice": TOML["twice"], "beyond": TOML["beyond"], "disagree": TOML["disagree"],
    "not_known": TOML["not_known"], "not_set_up": TOML["not_set_up"], "by_zero": TOML["by_zero"],
    "required": TOML["required"], "taken": TOML["taken"], "nothing_left": TOML["nothing_left"],
    "cannot": TOML["cannot"],
    "unresolved": TOML["unresolved"], "unreached": TOML["unreached"],
    "devices": TOML["devices"], "silent": TOML["silent"], "cancelled": TOML["cancelled"],
    "given_away": TOML["given_away"], "timed_out": TOML["timed_out"],
    "indivisible": TOML["indivisible"], "precisions": TOML["precisions"],
    "taken_for_end": TOML["taken_for_end"], "alike": TOML["alike"], "contrast": TOML["contrast"],
}  # fmt: skip


def of_words(spoken: Spoken) -> Finding | None:
    """What follows from a sentence, by what it says."""
    return found(
        PROBLEM, MESSAGES[spoken.sense], where=spoken.where, evidence=spoken.evidence, confidence=LIKELY,
        what=spoken.what, who=spoken.who or TOML.phrase("program"), library=spoken.who,
        times=spoken.times, many=spoken.times > 1, first=spoken.first, second=spoken.second, place=spoken.place,
        callers=joined([f"`{each}`" for each in spoken.callers], " and ", "、"),
        settings=", ".join(f"`{each}`" for each in spoken.settings), slow=spoken.slow,
        why=TOML.phrase(f"contrast.{spoken.first}") if spoken.sense == "contrast" else "",
        function=spoken.place.rpartition("(")[2].rstrip(")"),
    )  # fmt: skip
