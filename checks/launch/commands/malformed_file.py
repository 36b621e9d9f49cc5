"""Judges malformed-file (LCH004), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import at
from doctor.catalogue.words import words_of
from doctor.checks.launch._broken_files import KINDS, MISSING, broken_files
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.dataset import Dataset
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.interpreter import Interpreter
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


#: what the reader of scripts says of syntax that is newer than the doctor's own Python
NEWER_SYNTAX = later(r"need Python (\d+)\.(\d+), and the doctor reads this file with")


@check(PROBLEM)
def malformed_file(  # noqa: PLR0917 - one for each kind of file
    script: Script | None,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
    training: Training | None,
    verl: VerlConfig | None,
    trinity: TrinityConfig | None,
    model: Model | None,
    dataset: Dataset | None,
    interpreter: Interpreter | None,
) -> Judgement:
    """Yield for every file that exists and cannot be read, unless the Python that runs it reads more than ours."""
    files = {name: each for name, each in locals().items() if name in KINDS}
    for kind, broken in broken_files(files):
        needed = NEWER_SYNTAX.search(broken.message)
        if needed and _at_least(interpreter, int(needed[1]), int(needed[2])):
            yield Skip(f"the script cannot be read: {broken.message}")
        elif MISSING not in broken.message:
            name = broken.place.file.rpartition("/")[2]
            message = broken.message.rstrip(".")
            yield found(PROBLEM, MESSAGE, file=name, message=message, what=KINDS[kind], where=at(broken.place))


@check(PROBLEM)
def malformed_file_of_script(script: Script) -> Judgement:
    """Configuration files that the script opens itself."""
    for broken in script.opens_broken:
        name, message = broken.place.file.rpartition("/")[2], broken.message.rstrip(".")
        what = KINDS["opened"]
        yield found(PROBLEM, MESSAGE, confidence=LIKELY, file=name, message=message, what=what, where=at(broken.place))


def _at_least(interpreter: Interpreter | None, major: int, minor: int) -> bool:
    """Whether the Python that runs the script may be this new; one that is not known may."""
    version = interpreter.version.split(".") if interpreter is not None else []
    return len(version) < 2 or not version[1].isdecimal() or (int(version[0]), int(version[1])) >= (major, minor)
