"""Judges PYT3270/tracker, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, Message, Skip, found
from doctor.catalogue.shared.trackers import NEEDS, VERL_NEEDS, chosen, monitor, place, quoted, verl_loggers
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
TRAINER = TOML["trainer"]
VERL = TOML["verl"]
TRINITY = TOML["trinity"]


#: what pip calls the packages, where it is not the tracker's own name in small letters
PACKAGES = {"AzureML": "azureml-sdk", "Comet": "comet-ml", "Flyte": "flytekit"}


def _absent(
    message: Message, name: str, needs: tuple[str, ...] | None, packages: Packages, setting: Observed | None, *also: str
) -> Judgement:
    """A tracker of which none of the packages that it `needs` is there; `also` is what mends it otherwise."""
    if needs is None or (there := packages.has(*needs)):
        return
    if there is None:
        yield Skip(packages.why_unknown(needs[0]))
        return
    yield found(
        PROBLEM,
        message,
        name=name,
        package=needs[0],
        where=place(setting),
        commands=(f"pip install {needs[0]}", *also),
        evidence=quoted(setting),
    )


@check(PROBLEM)
def of_the_trainer(training: Training | None, packages: Packages) -> Judgement:
    """One finding a tracker; names that nobody knows are another problem."""
    if training is None:
        return
    for name in chosen(training):
        yield from _absent(TRAINER, name, NEEDS.get(name), packages, training.get("report_to"))


@check(PROBLEM)
def of_verl(verl_config: VerlConfig | None, packages: Packages) -> Judgement:
    """What veRL's Tracking imports; its default has Weights & Biases in it."""
    if verl_config is None:
        return
    loggers, setting = verl_loggers(verl_config, packages)
    for name in loggers:
        yield from _absent(VERL, name, VERL_NEEDS.get(name), packages, setting, "trainer.logger=['console']")


@check(PROBLEM)
def of_trinity(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Trinity-RFT's monitor: it requires wandb and tensorboard itself, and MLflow and SwanLab of nobody."""
    setting = monitor(trinity_config)
    name = str(setting.value) if setting is not None and setting.known else ""
    yield from _absent(TRINITY, name, NEEDS.get(name), packages, setting, "monitor_type: tensorboard")


def explain(hits: Hits) -> Finding:
    """Some trackers' packages have another name."""
    tracker = hits.get("tracker") or ""
    package = PACKAGES.get(tracker, tracker.lower())
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), tracker=tracker, package=package,
        commands=(f"pip install {package}",),
    )  # fmt: skip
