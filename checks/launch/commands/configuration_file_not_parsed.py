"""Judges configuration-file-not-parsed (LCH049), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found, joined
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: how to try the file
_TRIED = {
    "JSON": "python -m json.tool FILE",
    "YAML": "python -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' FILE",
    "TOML": "python -c 'import sys, tomllib; tomllib.load(open(sys.argv[1], \"rb\"))' FILE",
}


def explain(hits: Hits) -> Finding | None:
    """Name the file and the place, as far as the parser tells them."""
    errors = [hit for hit in hits if hit.signature != 2]
    if not errors:
        return None
    kind = ("JSON", "YAML", "", "TOML")[errors[0].signature]
    if any((hit.groups.get("file") or "").startswith("<") for hit in hits):
        return None  # a text that the program itself parsed, such as an answer of the model
    file, line, column = hits.get("file"), hits.get("line"), hits.get("column")
    named = f": `{file}`" if file else ""
    at = TOML.phrase("behind" if file else "alone", line=line, column=column) if line else ""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if file or kind == "JSON" else LIKELY, kind=kind,
        hint=TOML.phrase(f"hint.{kind}"), place=joined((named, at), en=""),
        command=_TRIED[kind].replace("FILE", file or "FILE"),
    )  # fmt: skip
