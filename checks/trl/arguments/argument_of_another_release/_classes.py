"""Arguments of TRL's and Transformers' classes against their history: what the rows about classes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from doctor import data
from doctor.base.record import record
from doctor.catalogue.finding import Confidence, Finding, Message, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.argument_history import Named, history_of, near, own_settings
from doctor.catalogue.shared.argument_owners import inherits_training_arguments, own_to_trl
from doctor.catalogue.shared.refused_arguments import RefusedArgument, refusals
from doctor.catalogue.shared.trainers import installed, quoted
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import ProblemWords
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training


@record
class Given:
    """An argument that a configuration class is given, with its history and the installed release.

    Args:
        named: the setting.
        history: of the argument.
        version: installed release of the package whose class takes it.
        package: as users write it: ``TRL``.
        owner: the class, "" where the words do not name it.

    """

    named: Named
    history: data.ArgumentHistory
    version: str
    package: str
    owner: str = ""

    @property
    def name(self) -> str:
        """Of the argument."""
        return self.named.setting.name

    @property
    def is_deprecated(self) -> bool:
        """Whether the installed release warns of it, and it does something: it is set to other than None or False."""
        setting = self.named.setting
        if setting.known and setting.value in (None, False):
            return False
        return bool(self.history.exists_in(self.version) and self.history.deprecated_at(self.version))

    def found(
        self, toml: ProblemWords, message: Message, *, commands: tuple[str, ...], sure: Confidence, **values: Any
    ) -> Finding:
        """A finding about it."""
        setting = self.named.setting
        if self.owner:
            values["owner"] = self.owner
        return found(
            toml.problem, message, where=place_of(setting),
            evidence=(*quoted(setting), *history_of(self.package, self.history)), commands=commands, confidence=sure,
            name=setting.name, version=self.version, **values,
        )  # fmt: skip


def given_to_trl(training: Training, packages: Packages, launch: Launch | None) -> Iterator[Given]:
    """What TRL's configuration class is given and its history knows."""
    owner, version = training.config_class, installed(packages, "trl")
    if owner is None:
        return
    for named in own_settings(training, launch):
        history = data.trl_argument(owner, named.setting.name)
        if history is not None:
            yield Given(named, history, version, "TRL", owner)


def given_to_transformers(training: Training, packages: Packages, launch: Launch | None) -> Iterator[Given]:
    """What a class that takes the fields of TrainingArguments is given, but for what TRL declares itself."""
    owner, version, trl = training.config_class, installed(packages, "transformers"), installed(packages, "trl")
    if not inherits_training_arguments(owner, trl):
        return
    for named in own_settings(training, launch):
        history = data.training_argument(named.setting.name)
        if history is not None and not own_to_trl(owner, named.setting.name, trl):
            yield Given(named, history, version, "Transformers")


def near_in_log(toml: ProblemWords, hits: Hits, refusal: RefusedArgument, names: Iterable[str]) -> Finding:
    """A finding about an argument that a class has never had, with the name of those it has that is like it."""
    alike = near(refusal.name, names)
    return found(
        toml.problem, toml["log_near"] if alike else toml["log"], where=hits.where(), evidence=hits.evidence(),
        commands=(f"{alike}=...",) if alike else (), name=refusal.name, owner=refusal.owner, near=alike,
    )  # fmt: skip


def refused(hits: Hits, kind: str, package: str) -> Iterator[tuple[RefusedArgument, data.ArgumentHistory]]:
    """Arguments that a log says a class did not take, for a reason that the history of a package gives."""
    for each in refusals(hits):
        if each.kind == kind and each.package == package and each.history is not None:
            yield each, each.history


def found_in_log(toml: ProblemWords, message: Message, hits: Hits, refusal: RefusedArgument, **values: Any) -> Finding:
    """A finding about a refused argument."""
    return found(
        toml.problem, message, where=hits.where(), evidence=hits.evidence(), confidence=refusal.confidence,
        name=refusal.name, owner=refusal.owner, **values,
    )  # fmt: skip
