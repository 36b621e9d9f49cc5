"""Judges grpo-trainer-absent (TRL005), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.shared.trainers import installed
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
OLD_PYTHON = TOML["old_python"]
MESSAGE = TOML["main"]


NAMES = ("GRPOTrainer", "GRPOConfig")


@check(PROBLEM, requires=("PYT001",))
def grpo_absent(script: Script, packages: Packages) -> Judgement:
    """Judge the import; the engine has compared the version."""
    for name in NAMES:
        place = script.imports.get(f"trl.{name}")
        if place is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                commands=('pip install "trl>=0.14"',),
                evidence=(Observed.quoted(place.file, f"import of trl.{name}", place.line),),
                name=name,
                version=installed(packages, "trl"),
            )
            return


#: the folder of an interpreter in a path: "/envs/x/lib/python3.8/site-packages/trl/__init__.py"
_LIBRARY = later(r"[\\/]python(?P<version>[23]\.\d{1,2})[\\/]")


def explain(hits: Hits) -> Finding | None:
    """The path behind the exception or in its frames tells which Python it is."""
    paths = [text for hit in hits for text in (hit.text, *hit.frames)]
    python = next((match["version"] for text in paths if (match := _LIBRARY.search(text))), None)
    python = python or ".".join(hits.versions.get("python", "").split(".")[:2])
    old = bool(python) and tuple(map(int, python.split("."))) < (3, 9)
    return found(
        PROBLEM,
        OLD_PYTHON if old else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if old else LIKELY,
        name=hits.get("name") or "GRPOTrainer",
        python=python,
    )
