"""Remedies against what is known of the patient: what cannot be had, is so already, or undoes another is not ordered.

A command that is withdrawn is replaced by a sentence that says why; the rest of the remedy stands. Rules are about
inputs, never about problems: whatever finding orders a package, a setting, a variable or a program is judged alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from doctor import data
from doctor.base.change import ANY
from doctor.base.patterns import later
from doctor.base.record import record, replace
from doctor.catalogue.changes import Ordered, changes_of, program_of
from doctor.catalogue.finding import Finding, Message, Words
from doctor.catalogue.settings import number
from doctor.data import launchers
from doctor.diagnosis import striking
from doctor.facts.environment import NAMES, PREFIXES

BF16_FROM = (8, 0)  # compute capability: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions
_PRECISIONS = frozenset({"mixed_precision", "dtype", "torch_dtype", "compute_dtype", "bnb_4bit_compute_dtype"})
#: keys that many sections have: which of them is meant is only told by the place of the finding
_SHARED_NAMES = frozenset({"enabled", "type", "name", "path", "device", "stage", "lr"})
#: advice in words: "set `A=1` and `B=2`"; a line of them ends where something else is said
_ADVISED = later(
    r"\b(?:[Ss]et|[Ee]xport|[Tt]ry|[Uu]se|[Pp]ass|[Tt]hen|[Oo]r|[Rr]aise)\s+"
    r"(?P<what>`[^`]+`(?:(?:,| and|, and) `[^`]+`)*)"
)
#: advice to lower what is a count, which is 1 at least
_LOWERED = later(
    r"\b(?:[Ll]ower|[Rr]educe)\s+(?:(?:its|the) )?(?P<what>`[^`]+`(?: \([^)]{0,80}\))?"
    r"(?:(?:, or|, and|,| and| or) `[^`]+`(?: \([^)]{0,80}\))?)*)"
)
_COUNTS = ("batch_size", "batch_size_per_gpu", "num_generations", "max_num_seqs", "num_workers", "num_proc")
NEVER_BOTH = frozenset({"fp16", "bf16"})


@record
class Situation:
    """What is known of the patient, from facts or from logs and their context; what is not known withdraws nothing.

    Args:
        python: version of its interpreter.
        versions: installed packages; `complete`: whether what is not among them is not installed.
        variables: of the environment that the run gets; `all_variables`: whether what is not among them is unset.
        settings: by the names that their readers give them.
        capability: the greatest compute capability of its GPUs; None where one of them is not known.
        config_class: that the training script fills ("GRPOConfig").
        serves: whether the command starts an inference server.
        executable: path of its interpreter.
        server_options, server_variables: what the user's own command gives its server, as typed (None for a switch).
        raised: settings that a library raised by itself: name -> (what it was, what it is, the setting it follows).
        from_logs: settings are words of logs, not of the files that a run will read: nothing can be tried on them.

    """

    python: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    all_variables: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    capability: tuple[int, int] | None = None
    config_class: str | None = None
    serves: bool = False
    executable: str | None = None
    server_options: Mapping[str, str | None] = field(default_factory=dict)
    server_variables: Mapping[str, str] = field(default_factory=dict)
    raised: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)
    from_logs: bool = False


@record
class Sentence:
    """Why a command is not printed, in both languages."""

    en: str
    zh: str


@record
class Withdrawn:
    """A command that is not printed, with the reason."""

    problem: str
    command: str
    why: Sentence


def reviewed(
    findings: Iterable[Finding], situation: Situation | None
) -> tuple[tuple[Finding, ...], tuple[Withdrawn, ...]]:
    """The findings with typed changes beside their commands, without the commands that are no way out.

    Args:
        findings: of one report, most important first; of two that contradict each other the first one keeps its order.
        situation: None where several machines were judged, whose situations differ.

    """
    reviewed_: list[Finding] = []
    withdrawn: list[Withdrawn] = []
    findings = tuple(findings)
    ordered = (each for finding in findings for each in _all(finding))
    brought = {each.input.name for each in ordered if each.input.kind == "package" and each.new is not None}
    for each in findings:
        finding = each if situation is None else completed(each, situation)
        reasons = {}
        for command in finding.commands:
            why = _impossible(command, finding, situation, brought) if situation is not None else None
            why = why or _contradicted(command, finding, reviewed_)
            if why is not None:
                reasons[command] = why
        if situation is not None:
            told = (
                *_advised_again(finding, situation),
                *_cannot_fall(finding, situation),
                *_not_had(finding, situation),
            )
            reasons |= {word: why for word, why in told if word not in reasons}
        if situation is not None:
            finding = _struck(finding, situation)
        reviewed_.append(without(finding, reasons, situation))
        withdrawn += [Withdrawn(finding.problem.id, command, why) for command, why in reasons.items()]
    return tuple(reviewed_), tuple(withdrawn)


def completed(finding: Finding, situation: Situation) -> Finding:
    """The finding whose `vllm serve MODEL` has what the user's own command gives its server: dtype, host, sizes."""
    if not situation.serves or not any("vllm serve" in each for each in finding.commands):
        return finding
    return replace(finding, commands=tuple(_with_options(each, situation) for each in finding.commands))


def _with_options(command: str, situation: Situation) -> str:
    words = next((each.new for each in changes_of(command) if each.input.kind == "launch"), ())
    if words[:2] != ("vllm", "serve"):
        return command
    version = situation.versions.get("vllm", "")
    short = launchers.table("vllm").options
    named = [word.partition("=")[0] for word in words if word.startswith("-")]
    there = {short[each].name if each in short else each.lstrip("-").replace("-", "_") for each in named}
    added = []
    for name, text in situation.server_options.items():
        flag = data.vllm_flag(name)
        if flag is None or name in there or flag.exists_in(version) is False:
            continue
        added += [f"--{name.replace('_', '-')}", *([text] if text is not None else [])]
    import shlex

    set_there = {each.input.name for each in changes_of(command) if each.input.kind == "variable"}
    front = [
        f"{name}={shlex.quote(text)}" for name, text in situation.server_variables.items() if name not in set_there
    ]
    return " ".join([*front, command, *map(shlex.quote, added)])


def without(finding: Finding, reasons: Mapping[str, Sentence], situation: Situation | None = None) -> Finding:
    """A finding that no longer orders some commands, and says why; the others are there as data too."""
    kept = tuple(each for each in finding.commands if each not in reasons)
    told = tuple(dict.fromkeys(reasons.values()))
    message = finding.message
    if told:
        zh = message.zh and _longer(message.zh, "", [each.zh for each in told])
        message = Message(_longer(message.en, " ", [each.en for each in told]), zh)
    changes = tuple(tuple(_with_old(each, situation) for each in changes_of(command)) for command in kept)
    return replace(finding, commands=kept, message=message, changes=changes)


def _longer(words: Words, between: str, sentences: list[str]) -> Words:
    escaped = [each.replace("{", "{{").replace("}", "}}") for each in sentences]
    return replace(words, remedy=between.join([words.remedy.rstrip(), *escaped]).strip())


def _all(finding: Finding) -> Iterable[Ordered]:
    return (each for command in finding.commands for each in changes_of(command))


def _with_old(change: Ordered, situation: Situation | None) -> Ordered:
    """The change with what its input is now."""
    if situation is None:
        return change
    known: Mapping[str, Any] = {
        "package": situation.versions, "variable": situation.variables, "setting": situation.settings,
    }.get(change.input.kind, {})  # fmt: skip
    return replace(change, old=known.get(change.input.name))


# --- what cannot be had, or is so already ----------------------------------------------------------------------------


def _impossible(command: str, finding: Finding, situation: Situation, brought: set[str]) -> Sentence | None:
    """Why a command is no way out for this patient; None where nothing speaks against it."""
    changes = changes_of(command)
    for each in changes:
        for rule in (_not_for_this_python, _not_on_this_card):
            if (why := rule(each, situation)) is not None:
                return why
        owner = _refusing(each, finding, situation)
        if owner is not None and owner[0] not in brought:
            return _refused(*owner, situation)
    if changes and all(_is_so(each, situation) for each in changes):
        return _already(command, changes, situation)
    return _absent(command, situation, brought)


def _not_for_this_python(change: Ordered, situation: Situation) -> Sentence | None:
    name, wanted, python = change.input.name, change.new, situation.python
    if change.input.kind != "package" or wanted is None or python is None:
        return None
    from doctor.diagnosis import installable

    if installable.can_be_had(name, wanted, python) is not False:
        return None
    shown, short = f"{name}{wanted}", ".".join(python.split(".")[:2])
    return Sentence(
        f"Under Python {short} that changes nothing: no release of `{shown}` supports it, so use a newer environment.",
        f"在 Python {short} 下这样做无济于事:`{shown}` 没有支持它的版本,请使用 Python 更新的环境。",
    ) if installable.too_old(name, wanted, python) else Sentence(
        f"No release of `{shown}` supports Python {short}, so use an environment with another Python.",
        f"`{shown}` 没有支持 Python {short} 的版本,请换用另一 Python 的环境。",
    )  # fmt: skip


def _not_on_this_card(change: Ordered, situation: Situation) -> Sentence | None:
    if situation.capability is None or situation.capability >= BF16_FROM or not orders_bf16(change):
        return None
    major, minor = situation.capability
    return Sentence(
        f"The GPUs of this run (compute capability {major}.{minor}) have no bf16, so this remedy does not apply here.",
        f"本次运行的 GPU(计算能力 {major}.{minor})不支持 bf16,因此这一办法在此不适用。",
    )


def orders_bf16(change: Ordered) -> bool:
    """Whether a change has the run compute in bf16."""
    name = change.input.name
    if name in {"bf16", "bf16.enabled"} or name.endswith((".bf16", ".bf16.enabled")):
        return change.new is True
    return name.rpartition(".")[2] in _PRECISIONS and str(change.new).lower() in {"bf16", "bfloat16"}


def _refused(package: str, name: str, situation: Situation) -> Sentence:
    version = situation.versions[package]
    return Sentence(
        f"`{name}` is not there in {package} {version}, which is installed.",
        f"已安装的 {package} {version} 没有 `{name}`。",
    )


def _refusing(change: Ordered, finding: Finding, situation: Situation) -> tuple[str, str] | None:
    """The installed package, and the key of a change that only other releases of it take; None where there is none."""
    name, area, versions = change.input.name, finding.problem.letters, situation.versions
    if change.input.kind == "launch":
        flags = [word.partition("=")[0][2:] for word in change.new if word.startswith("--")]
        old = [each for each in flags if change.new[:2] == ("vllm", "serve") and _lacks_flag(each, versions)]
        return ("vllm", f"--{old[0]}") if old else None
    if change.input.kind != "setting" or change.renames:
        return None
    if change.form == "option" and (situation.serves or area == "VLL"):
        return ("vllm", f"--{name}".replace("_", "-")) if _lacks_flag(name, versions) else None
    if change.form == "yaml" and "trinity-rft" in versions and area == "TRI":
        keys = data.trinity_keys(versions["trinity-rft"])
        known = keys is None or any(each == name or each.endswith(f".{name}") for each in keys)
        return None if known else ("trinity-rft", name)
    if change.form == "python" or (change.form == "option" and situation.config_class):
        owner = _refusing_config(name, situation.config_class or "GRPOConfig", versions)
        return (owner, name) if owner else None
    return None


def _lacks_flag(flag: str, versions: Mapping[str, str]) -> bool:
    """Whether the installed vLLM has no option that other releases have."""
    known, version = data.vllm_flag(flag), versions.get("vllm")
    return known is not None and bool(version) and known.exists_in(version or "") is False


def _refusing_config(name: str, config_class: str, versions: Mapping[str, str]) -> str | None:
    """Whether TRL's or Transformers' class lacks an argument that it has in other releases."""
    histories = (
        ("trl", data.trl_argument(config_class, name) if data.trl_class(config_class) else None),
        ("transformers", data.training_argument(name)),
    )
    told = [(owner, each) for owner, each in histories if each is not None]
    absent = [owner for owner, each in told if owner in versions and each.exists_in(versions[owner]) is False]
    return absent[0] if told and len(absent) == len(told) else None


def _is_so(change: Ordered, situation: Situation) -> bool:
    """Whether an input is already what the change makes of it."""
    name, new = change.input.name, change.new
    if change.input.kind == "variable":
        if new is None:
            seen = name in NAMES or name.startswith(PREFIXES)  # of other variables nobody takes note
            return seen and situation.all_variables and name not in situation.variables
        return new is not ANY and situation.variables.get(name) == new
    if change.input.kind == "package":
        return _is_installed(change, situation)
    if change.input.kind == "setting" and situation.from_logs and not change.renames:
        return name in situation.settings and new is not ANY and alike(situation.settings[name], new)
    return False


def _is_installed(change: Ordered, situation: Situation) -> bool:
    """Whether a release of the range stands there, or, of `pip install -U`, the last that this Python can have."""
    name, wanted, version = change.input.name, change.new, situation.versions.get(change.input.name)
    if wanted is None:
        return situation.complete and version is None
    if version is None or change.again:
        return False
    from doctor.diagnosis import installable

    if change.newest and wanted == "":
        return situation.python is not None and installable.is_last_for(name, version, situation.python)
    if wanted == "" or wanted.startswith("=="):
        return False  # pip brings what the release there lacks beside it
    return installable.contains(wanted, version) is True


def _already(command: str, changes: Iterable[Ordered], situation: Situation) -> Sentence | None:
    packages = [each for each in changes if each.input.kind == "package" and each.new is not None]
    if packages:
        name = packages[0].input.name
        version = situation.versions[name]
        return Sentence(
            f"{name} {version} is installed, which `{command}` would leave as it is.",
            f"已安装的是 {name} {version},`{command}` 不会改变它。",
        )
    return Sentence(
        f"`{command}` changes nothing here: it is already set, so look for another cause.",
        f"`{command}` 在这里不起作用:现在就是这样,请另找原因。",
    )


def _advised_again(finding: Finding, situation: Situation) -> Iterable[tuple[str, Sentence]]:
    """Variables and settings that the words tell to set, and that are so already."""
    for word in advised_in(finding.words("en").remedy):
        if _is_set(word, situation):
            yield (
                word,
                Sentence(f"`{word}` is already set, so it is not the missing part.", f"`{word}` 已经设置:缺的不是它。"),
            )


def _not_had(finding: Finding, situation: Situation) -> Iterable[tuple[str, Sentence]]:
    """Installations that the words alone order, and that this Python has no release for."""
    remedy = finding.words("en").remedy
    for word in re.findall(r"`([^`]*\bpip3? install [^`]+)`", remedy) if " install " in remedy else ():
        whys = (_not_for_this_python(each, situation) for each in changes_of(word))
        why = next((each for each in whys if each is not None), None)
        if why is not None and word not in finding.commands:
            yield word, why


def advised_in(remedy: str) -> Iterable[str]:
    """The names and values in backticks that a remedy tells to set."""
    for match in _ADVISED.finditer(remedy):
        yield from re.findall(r"`([^`]+)`", match["what"])


def _struck(finding: Finding, situation: Situation) -> Finding:
    """The finding whose words no longer advise what is so already; they were asked in English, and say it in both."""
    words = [word for word, _ in _advised_again(finding, situation)]
    if not words:
        return finding
    message = finding.message
    en = _cut(message.en, finding.words("en").remedy, words, situation)
    zh = message.zh and _cut(message.zh, finding.words("zh").remedy, words, situation)
    return replace(finding, message=Message(en, zh))


def _cut(words: Words, remedy: str, names: Iterable[str], situation: Situation) -> Words:
    shorter = remedy
    for name in names:
        shorter = striking.without(shorter, lambda each: _is_set(each, situation), name)
    return words if shorter == remedy else replace(words, remedy=shorter.replace("{", "{{").replace("}", "}}"))


def _is_set(word: str, situation: Situation) -> bool:
    """Whether what a name in backticks tells to set is set to that already."""
    changes = [each for each in changes_of(word) if each.input.kind in {"variable", "setting"}]
    return bool(changes) and all(_is_so(each, situation) for each in changes)


def _cannot_fall(finding: Finding, situation: Situation) -> Iterable[tuple[str, Sentence]]:
    """Settings that the words tell to lower, and that are as low as can be, or that a library raises again."""
    remedy = finding.words("en").remedy
    for match in _LOWERED.finditer(remedy) if "ower" in remedy or "educe" in remedy else ():
        for word in re.findall(r"`([\w.]+)`", match["what"]):
            name = word.rpartition(".")[2]
            if name in situation.raised:
                old, new, follows = situation.raised[name]
                yield (
                    word,
                    Sentence(
                        f"`{name}` was {old}, and the library raised it to {new}, the `{follows}`: lower that one.",
                        f"`{name}` 原为 {old},库将其提高到 {new},即 `{follows}`:请降低后者。",
                    ),
                )
            elif _is_least(name, situation.settings.get(word, situation.settings.get(name))):
                yield (
                    word,
                    Sentence(f"`{name}` is 1 already and cannot be lowered.", f"`{name}` 已经是 1,无法再降低。"),
                )


def _is_least(name: str, value: Any) -> bool:
    """Whether a count cannot be smaller."""
    return name.endswith(_COUNTS) and not isinstance(value, bool) and str(value).strip() == "1"


def _absent(command: str, situation: Situation, brought: set[str]) -> Sentence | None:
    """A program that is not there because its package is absent, unless the report orders to install that."""
    program = program_of(command)
    if program is None or not situation.complete:
        return None
    name, package = program
    if package in situation.versions or package in brought or _runs_elsewhere(command, situation):
        return None
    return Sentence(
        f"`{name}` comes with {package}, which is not installed in this environment.",
        f"`{name}` 由 {package} 提供,而此环境没有安装它。",
    )


def _runs_elsewhere(command: str, situation: Situation) -> bool:
    """Whether a command is of another interpreter, or starts the server of a training, which may have its own."""
    program = command.split(maxsplit=1)[0]
    if "/" in program and program != situation.executable:
        return True
    return not situation.serves and re.search(r"\b(?:vllm serve|vllm-serve)\b", command) is not None


# --- what undoes another ---------------------------------------------------------------------------------------------


def _contradicted(command: str, finding: Finding, before: Iterable[Finding]) -> Sentence | None:
    """Whether every way that an earlier finding offers is undone by a command; None where they can stand together."""
    changes = changes_of(command)
    if not changes:
        return None
    for other in before:
        typed = [each for each in map(changes_of, other.commands) if each]
        if not typed or _apart(finding, other):
            continue
        if all(any(opposite(a, b, finding, other) for a in changes for b in theirs) for theirs in typed):
            identity = other.problem.id
            return Sentence(
                f"`{command}` would undo what {identity} asks for: mend {identity} first.",
                f"`{command}` 与 {identity} 的处理相抵触:请先处理 {identity}。",
            )
    return None


def _apart(one: Finding, other: Finding) -> bool:
    """Whether two findings are of different machines."""
    if one.nodes and other.nodes:
        return not set(one.nodes) & set(other.nodes)
    hosts = {one.where.host, other.where.host} - {None}
    return len(hosts) > 1


def opposite(one: Ordered, other: Ordered, finding: Finding, before: Finding) -> bool:
    """Whether two changes cannot both be made: one input with two values, or ranges without a common release."""
    if one.input.kind != other.input.kind or one.input.kind == "launch":
        return False
    if one.input.kind == "setting" and {one.input.name, other.input.name} == NEVER_BOTH:
        return one.new is True and other.new is True
    if one.input.name != other.input.name or ANY in (one.new, other.new) or one.renames or other.renames:
        return False
    if one.input.kind == "package":
        if one.new is None or other.new is None:
            return (one.new is None) != (other.new is None)
        from doctor.diagnosis import installable

        return installable.exclude_each_other(one.input.name, one.new, other.new)
    if one.input.kind == "setting" and not _same_place(one, other, finding, before):
        return False
    return not alike(one.new, other.new)


def _same_place(one: Ordered, other: Ordered, finding: Finding, before: Finding) -> bool:
    """Whether a name means one setting in both: DeepSpeed's own `auto` takes whatever the script says."""
    if "auto" in (one.new, other.new):
        return False
    if one.input.name in _SHARED_NAMES:
        return finding.where.file is not None and finding.where == before.where
    return (one.form == "json") == (other.form == "json") and finding.problem.id != before.problem.id


def alike(one: object, other: object) -> bool:
    """Whether two values are one: as numbers, as switches, or as text."""
    if isinstance(one, bool) or isinstance(other, bool):
        return str(one).lower() == str(other).lower()
    both = number(one), number(other)
    return one == other or (None not in both and both[0] == both[1]) or str(one) == str(other)
