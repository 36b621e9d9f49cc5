"""Judges named-file-missing (LCH003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Skip, found
from doctor.catalogue.settings import at, place_of
from doctor.catalogue.shared.proofs import proof
from doctor.catalogue.words import words_of
from doctor.checks.launch._broken_files import KINDS, MISSING, broken_files
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.dataset import Dataset
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
STARTED = TOML["started"]
DATA = TOML["data"]
VERL_DATA = TOML["verl_data"]


#: of veRL, where Ray may look on another machine
OF_VERL = {"data.train_files", "data.val_files"}


def _made(name: str) -> Skip:
    return Skip(f"`{name}` is not there yet, and a line of the script before the command may write it")


@check(PROBLEM)
def started_file_missing(launch: Launch | None) -> Judgement:
    """The script, job or Makefile that the command itself names, or one that it starts in turn."""
    if launch is not None and launch.missing:
        path = f"{launch.folder}/{launch.missing}" if not launch.missing.startswith("/") else launch.missing
        place = launch.read_from[0] if launch.read_from else None
        where = at(place) if place is not None else None
        evidence = (Observed.quoted("path", path),)
        yield found(PROBLEM, STARTED, file=launch.missing, where=where, evidence=evidence)


@check(PROBLEM)
def framework_file_missing(framework_config: FrameworkConfig | None, launch: Launch | None) -> Judgement:
    """The one file of settings that a command of LLaMA-Factory, axolotl and their kin names."""
    if framework_config is None or framework_config.files or (launch is not None and launch.image is not None):
        return
    for name in framework_config.absent[:1]:
        if launch is not None and launch.may_make(name):
            yield _made(name)
            continue
        yield found(PROBLEM, STARTED, file=name, confidence=LIKELY, evidence=(Observed.quoted("path", name),))


@check(PROBLEM)
def data_file_missing(training: Training | None, launch: Launch | None) -> Judgement:
    """A script may write the file itself before it loads it, so it is likely."""
    if training is not None and (launch is None or launch.image is None):
        for name in training.data_absent:
            if launch is not None and launch.may_make(name):
                yield _made(name)
                continue
            yield found(
                PROBLEM, DATA, file=name, confidence=LIKELY, where=place_of(training.dataset),
                evidence=(proof(training.dataset),) if training.dataset is not None else (),
            )  # fmt: skip


@check(PROBLEM)
def named_file_missing(  # noqa: PLR0917 - a fact for each kind of file
    script: Script | None,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
    training: Training | None,
    verl: VerlConfig | None,
    trinity: TrinityConfig | None,
    model: Model | None,
    dataset: Dataset | None,
    launch: Launch | None,
) -> Judgement:
    """Yield for every file that is not there; a container has files that this machine does not see."""
    if launch is not None and launch.image is not None:
        yield Skip(f"the files of the image `{launch.image}` are not on this machine")
        return
    facts = {name: value for name, value in locals().items() if name != "launch"}
    for kind, broken in broken_files(facts):
        if MISSING in broken.message:
            path = broken.place.file
            name, place = path.rpartition("/")[2], at(broken.place)
            if launch is not None and launch.may_make(path):
                yield _made(name)
                continue
            evidence = (Observed.quoted("path", path),)
            yield found(PROBLEM, MESSAGE, file=name, what=KINDS[kind], where=place, evidence=evidence)
    for setting in verl.absent if verl is not None else ():
        if setting.name in OF_VERL and launch is not None and launch.may_make(str(setting.value)):
            yield _made(str(setting.value))
        elif setting.name in OF_VERL:
            yield found(
                PROBLEM, VERL_DATA, confidence=LIKELY, where=place_of(setting), evidence=(proof(setting),),
                file=setting.value, key=setting.name,
            )  # fmt: skip
