"""What the history of a library's names tells of one that was not found: which releases have it, who is too old."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Words, found
from doctor.catalogue.problem import Problem
from doctor.catalogue.signature import Hits
from doctor.data.api import Known, asks, distribution, moved_in
from doctor.data.libraries import package_of

GONE_UPGRADE = Message(
    en=Words(
        "`{asker}`{asker_version} uses `{name}`, which {library} has no longer ({last} was the last)",
        "The installed {library}{version} is newer than this `{asker}` was written for. `{asker}` no longer uses it "
        "from {asker_free} on.",
        'Upgrade `{asker}`: `pip install "{asker}>={asker_free}"`. Or keep it and take an older {library}: `pip '
        'install "{library}{range}"`. `pip check` tells whether the rest agrees; restart the process.',
    ),
    zh=Words(
        "`{asker}`{asker_version} 使用 `{name}`,而 {library} 已不再提供(最后一个有它的版本是 {last})",
        "已安装的 {library}{version} 比该 `{asker}` 所针对的版本新。`{asker}` 从 {asker_free} 起不再使用它。",
        '升级 `{asker}`:`pip install "{asker}>={asker_free}"`。或保留它并安装较旧的 {library}:`pip install '
        '"{library}{range}"`。用 `pip check` 查看其余包是否相容,然后重启进程。',
    ),
)

GONE_PIN = Message(
    en=Words(
        "`{asker}`{asker_version} uses `{name}`, which {library} has no longer ({last} was the last)",
        "The installed {library}{version} is newer than this `{asker}` was written for.",
        'Install the {library} of its time: `pip install "{library}{range}"`. Or look for a newer `{asker}` that does '
        "without (`pip install -U {asker}`). `pip check` tells whether the rest agrees; restart the process.",
    ),
    zh=Words(
        "`{asker}`{asker_version} 使用 `{name}`,而 {library} 已不再提供(最后一个有它的版本是 {last})",
        "已安装的 {library}{version} 比该 `{asker}` 所针对的版本新。",
        '安装同期的 {library}:`pip install "{library}{range}"`。或查找不再使用它的新版 `{asker}`(`pip install -U '
        "{asker}`)。用 `pip check` 查看其余包是否相容,然后重启进程。",
    ),
)

GONE_MOVED = Message(
    en=Words(
        "your code uses `{name}`, which {library} has elsewhere since {gone}: in `{moved}`",
        "The installed {library}{version} is newer than the code was written for; {last} was the last release with it "
        "in the old place.",
        "Import it from `{moved}`. Or keep the code and install the release of its time: `pip install "
        '"{library}{range}"`.',
    ),
    zh=Words(
        "你的代码使用 `{name}`,而 {library} 从 {gone} 起将其移到了 `{moved}`",
        "已安装的 {library}{version} 比代码所针对的版本新;原位置最后存在于 {last}。",
        '改为从 `{moved}` 导入。或保留代码并安装同期版本:`pip install "{library}{range}"`。',
    ),
)

GONE_RENAMED = Message(
    en=Words(
        "your code uses `{name}`, which {library} calls `{renamed}` since {gone}",
        "The installed {library}{version} is newer than the code was written for; {last} was the last release with the "
        "old name, and said there what replaces it.",
        "Write `{renamed}` instead (its arguments may differ). Or keep the code and install the release of its time: "
        '`pip install "{library}{range}"`.',
    ),
    zh=Words(
        "你的代码使用 `{name}`,而 {library} 从 {gone} 起将其改名为 `{renamed}`",
        "已安装的 {library}{version} 比代码所针对的版本新;旧名称最后存在于 {last},其中已注明替代者。",
        '改写为 `{renamed}`(参数可能不同)。或保留代码并安装同期版本:`pip install "{library}{range}"`。',
    ),
)

GONE_OWN = Message(
    en=Words(
        "your code uses `{name}`, which {library} has no longer since {gone}",
        "The installed {library}{version} is newer than the code was written for; {last} was the last release that "
        "has it.",
        'Install the release of the code\'s time: `pip install "{library}{range}"`. Or change the code as the '
        "release notes "
        "of {library} {gone} tell.",
    ),
    zh=Words(
        "你的代码使用 `{name}`,而 {library} 从 {gone} 起不再提供",
        "已安装的 {library}{version} 比代码所针对的版本新;最后一个有它的版本是 {last}。",
        '安装与代码同期的版本:`pip install "{library}{range}"`。或按 {library} {gone} 的发布说明修改代码。',
    ),
)

GONE_ANY = Message(
    en=Words(
        "`{name}` is asked for, which {library} has no longer since {gone}",
        "The installed {library}{version} is newer than the code that asks, a script or another library; {last} was "
        "the last release that has it. The log does not show who asks.",
        'Install the {library} of that time: `pip install "{library}{range}"`. Or see in the traceback who asks, and '
        "upgrade that library (`pip install -U`) or change that code.",
    ),
    zh=Words(
        "有代码请求 `{name}`,而 {library} 从 {gone} 起不再提供",
        "已安装的 {library}{version} 比请求它的代码(脚本或另一个库)新;最后一个有它的版本是 {last}。"
        "日志未显示是谁在请求。",
        '安装同期的 {library}:`pip install "{library}{range}"`。或在回溯中查看是谁在请求,升级该库(`pip install '
        "-U`)或修改那段代码。",
    ),
)

NEW_ANY = Message(
    en=Words(
        "`{name}` is asked for, which came with {library} {came}",
        "The installed {library}{version} is older than the code that asks, a script or another library. The log does "
        "not show who asks; most often it is PEFT, Accelerate or TRL of a later date.",
        'Upgrade {library}: `pip install "{library}{range}"`. Or see in the traceback who asks, and install the '
        "release of that library that belongs to the installed {library}; `pip check` tells the ranges.",
    ),
    zh=Words(
        "有代码请求 `{name}`,它从 {library} {came} 起才有",
        "已安装的 {library}{version} 比请求它的代码(脚本或另一个库)旧。日志未显示是谁在请求,最常见的是更晚发布的 "
        "PEFT、Accelerate 或 TRL。",
        '升级 {library}:`pip install "{library}{range}"`。或在回溯中查看是谁在请求,并安装与已装 {library} 相配的版本;'
        "`pip check` 会给出范围。",
    ),
)

NEW_ASKER = Message(
    en=Words(
        "`{asker}`{asker_version} uses `{name}`, which came with {library} {came}",
        "The installed {library}{version} is older than this `{asker}` needs. `{asker}` uses it from {asker_first} on.",
        'Upgrade {library}: `pip install "{library}{range}"`. Or take an older `{asker}`: `pip install '
        '"{asker}<{asker_first}"`. `pip check` tells whether the rest agrees; restart the process.',
    ),
    zh=Words(
        "`{asker}`{asker_version} 使用 `{name}`,它从 {library} {came} 起才有",
        "已安装的 {library}{version} 比该 `{asker}` 所需的旧。`{asker}` 从 {asker_first} 起使用它。",
        '升级 {library}:`pip install "{library}{range}"`。或安装较旧的 `{asker}`:`pip install '
        '"{asker}<{asker_first}"`。用 `pip check` 查看其余包是否相容,然后重启进程。',
    ),
)

NEW_PLAIN = Message(
    en=Words(
        "`{asker}`{asker_version} uses `{name}`, which came with {library} {came}",
        "The installed {library}{version} is older than this `{asker}` needs.",
        'Upgrade {library}: `pip install "{library}{range}"`. Or take the `{asker}` of the time of the installed '
        "{library}. `pip check` tells whether the rest agrees; restart the process.",
    ),
    zh=Words(
        "`{asker}`{asker_version} 使用 `{name}`,它从 {library} {came} 起才有",
        "已安装的 {library}{version} 比该 `{asker}` 所需的旧。",
        '升级 {library}:`pip install "{library}{range}"`。或安装与已装 {library} 同期的 `{asker}`。用 `pip check` '
        "查看其余包是否相容,然后重启进程。",
    ),
)

NEW_OWN = Message(
    en=Words(
        "your code uses `{name}`, which came with {library} {came}",
        "The installed {library}{version} is older than the code was written for.",
        'Upgrade it: `pip install "{library}{range}"`, and restart the process.',
    ),
    zh=Words(
        "你的代码使用 `{name}`,它从 {library} {came} 起才有",
        "已安装的 {library}{version} 比代码所针对的版本旧。",
        '升级:`pip install "{library}{range}"`,然后重启进程。',
    ),
)

BETWEEN = Message(
    en=Words(
        "`{name}` is in {library} {came} to {last} only, and not in the installed release",
        "Code that uses it was written for a release of that time. The log does not tell whether the installed "
        "{library} is older or newer.",
        'See it with `pip show {library}`, and install one that has the name: `pip install "{library}{range}"`. Or '
        "bring the code that uses it to the time of the installed release (`pip install -U` for a library).",
    ),
    zh=Words(
        "`{name}` 只存在于 {library} {came} 到 {last},而已安装的版本没有",
        "使用它的代码是为那段时期的版本编写的。日志未显示已安装的 {library} 更旧还是更新。",
        '用 `pip show {library}` 查看,并安装有该名称的版本:`pip install "{library}{range}"`。或使使用它的代码与已装'
        "版本同期(若为库则 `pip install -U`)。",
    ),
)

GAP = Message(
    en=Words(
        "`{name}` is missing from {library} {gone} up to {came}, where it came back",
        "Older releases have it, and newer ones again; the installed {library}{version} is one between. The code that "
        "uses it was written for one of the two.",
        'For code of recent date upgrade: `pip install "{library}>={came}"`. For older code go back: `pip install '
        '"{library}<{gone}"`. `pip check` tells whether the rest agrees; restart the process.',
    ),
    zh=Words(
        "`{name}` 在 {library} {gone} 中消失,到 {came} 才重新出现",
        "更旧的版本有它,更新的版本又有;已安装的 {library}{version} 介于两者之间。使用它的代码是为其中之一编写的。",
        '较新的代码请升级:`pip install "{library}>={came}"`。较旧的代码请回退:`pip install "{library}<{gone}"`。'
        "用 `pip check` 查看其余包是否相容,然后重启进程。",
    ),
)

REQUIRED = Message(
    en=Words(
        "`{name}` must be given since {library} {came}, and the caller does not pass it",
        "The installed {library}{version} is newer than the code that makes the call: there the argument was optional, "
        "or absent.",
        'Install the {library} of the code\'s time: `pip install "{library}<{came}"`. Or upgrade the library that '
        "makes the "
        "call; in your own code, pass the argument as the documentation of the installed release tells.",
    ),
    zh=Words(
        "从 {library} {came} 起必须给出 `{name}`,而调用者没有传入",
        "已安装的 {library}{version} 比发起调用的代码新:当时该参数可选或不存在。",
        '安装与代码同期的 {library}:`pip install "{library}<{came}"`。或升级发起调用的库;若是自己的代码,请按已装版本的'
        "文档传入该参数。",
    ),
)

#: case -> words; each problem that uses them declares them as its own
CASES = (
    ("gone-upgrade", GONE_UPGRADE),
    ("gone-pin", GONE_PIN),
    ("gone-moved", GONE_MOVED),
    ("gone-renamed", GONE_RENAMED),
    ("gone-own", GONE_OWN),
    ("gone-any", GONE_ANY),
    ("new-any", NEW_ANY),
    ("new-asker", NEW_ASKER),
    ("new-plain", NEW_PLAIN),
    ("new-own", NEW_OWN),
    ("between", BETWEEN),
    ("gap", GAP),
    ("required", REQUIRED),
)

#: packages with model classes of their own under the names that Transformers gives them
OWN_MODELS = frozenset({"vllm", "sglang", "lmdeploy", "megatron", "mbridge", "liger_kernel"})

Kind = Literal["gone", "new", "between", "gap"]

_MACHINERY = re.compile(r"<frozen |[\\/]importlib[\\/]|:__getattr__$|:_attr_getter$|:wrapper$")


@dataclass(frozen=True)
class Verdict:
    """How an installed release stands to those that have a name.

    Args:
        kind: it is gone there; has yet to come; the installed release is not known and both may be ("between"); it is
            gone and came back later, so that both may be meant ("gap").
        last, gone, came: last release with it, first without it, first with it (again); "" where there is none.
        sure: the installed release is known to the data.

    """

    kind: Kind
    last: str = ""
    gone: str = ""
    came: str = ""
    sure: bool = False

    @property
    def range(self) -> str:
        """Specifier of the releases that have it."""
        low = f">={self.came}" if self.came else ""
        if self.kind == "gap":
            return low
        return f"{low},<{self.gone}" if low and self.gone else low or f"<{self.gone}"


def judge(known: Known, installed: str | None, *, proven: bool = True) -> Verdict | None:
    """Judge a history against an installed release; None where that release should have the name.

    `proven`: an exception says that the name is not there; else a release that was not read must lie between two that
    both lack it.
    """
    near = known.neighbours(installed) if installed else None
    if installed is None or near is None:
        return _unknown_release(known) if proven else None
    absent = [each for each in near if each < 0 or not known.there(each)]
    if not absent or (not proven and (len(absent) < len(near) or near[0] < 0)):
        return None
    position = known.position(installed)
    position = position if position in absent else absent[0]
    if position is None or (position < 0 and known.there(0)):
        return None
    before, after = known.last_before(position), known.first_after(position)
    sure = len(near) == 1
    if before is not None and after is not None and not known.member:
        return _gap(known, before, after, sure)
    if before is not None:
        return _verdict("gone", known, before, sure)
    return _verdict("new", known, after, sure) if after is not None else None


def _unknown_release(known: Known) -> Verdict | None:
    """One row of releases without the name tells what must be installed; with two of them it is either."""
    starts = [0, *(last + 1 for _, last in known.spans)]
    ends = [*(first for first, _ in known.spans), len(known.versions)]
    gaps = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    if len(gaps) == 1:
        start, end = gaps[0]
        if start > 0 and end < len(known.versions) and not known.member:
            return _gap(known, start - 1, end, sure=False)
        return _verdict("gone", known, start - 1, sure=False) if start else _verdict("new", known, end, sure=False)
    return _verdict("between", known, gaps[0][1], sure=False) if len(gaps) == 2 else None


def _gap(known: Known, before: int, after: int, sure: bool) -> Verdict:
    return Verdict("gap", known.versions[before], _boundary(known, before + 1), _boundary(known, after), sure)


def _verdict(kind: Kind, known: Known, position: int, sure: bool) -> Verdict:
    """Words for the span of releases around a position."""
    first, last = next(span for span in known.spans if span[0] <= position <= span[1])
    return Verdict(
        kind,
        last=known.versions[last],
        gone=_boundary(known, last + 1) if last + 1 < len(known.versions) else "",
        came=_boundary(known, first) if first else "",
        sure=sure,
    )


def _boundary(known: Known, position: int) -> str:
    """First release on the new side: its minor where only the last patch of each minor was read."""
    version = known.versions[position]
    if known.exact or position == 0:
        return version
    minor = ".".join(version.split(".")[:2])
    return version if known.versions[position - 1].startswith(f"{minor}.") else minor


def installed_version(versions: Mapping[str, str], name: str) -> str | None:
    """The version of a distribution that a log or its context tells, however it is spelled."""
    spellings = (name, name.lower(), name.replace("_", "-"), name.replace("-", "_"))
    return next((versions[each] for each in spellings if versions.get(each)), None)


def asker_of(frames: Sequence[str]) -> str | None:
    """Package whose code asked: of the innermost frame that is no machinery of imports; "" for the user's own.

    None where there is no traceback.
    """
    if not frames:
        return None
    asking = [each for each in frames if not _MACHINERY.search(each)]
    return package_of(asking[-1].rpartition(":")[0]) if asking else ""


def finding(problem: Problem, hits: Hits, known: Known, name: str, *, asked: tuple[str, str] | None = None,
            certain: bool = True) -> Finding | None:  # fmt: skip
    """Say what the history tells of a name that was not found.

    Args:
        problem: whose finding it is.
        hits: of the line with the exception.
        known: history of what was not found.
        name: how it is called in the words.
        asked: module and name as an import has them.
        certain: the exception can mean nothing else.

    """
    verdict = judge(known, installed_version(hits.versions, known.library))
    asker = asker_of(hits.first.frames)
    if verdict is None or asker == known.package:
        return None
    case, values = _told(verdict, known, asker, hits.versions, asked)
    installed = installed_version(hits.versions, known.library)
    confidence: Confidence = CONFIRMED if certain and verdict.sure else LIKELY
    return found(
        problem, dict(CASES)[case], where=hits.where(), evidence=hits.evidence(), confidence=confidence, name=name,
        library=known.library, version=f" {installed}" if installed else "", **values,
    )  # fmt: skip


def versions_of(verdict: Verdict) -> dict[str, Any]:
    """What of a verdict fills the words."""
    return {"last": verdict.last, "gone": verdict.gone, "came": verdict.came, "range": verdict.range}


def of_own_code(verdict: Verdict, known: Known, installed: str | None) -> tuple[str, dict[str, Any]]:
    """The case of a name that the user's own code uses, and what fills its words besides."""
    if verdict.kind == "gap":
        return "gap", {}
    if verdict.kind == "new":
        return "new-own", {}
    moved = moved_in(known, installed)
    if moved:
        return "gone-moved", {"moved": moved}
    return ("gone-renamed", {"renamed": known.renamed_to}) if known.renamed_to else ("gone-own", {})


def _told(verdict: Verdict, known: Known, asker: str | None, versions: Mapping[str, str],
          asked: tuple[str, str] | None) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """The case of a verdict, and what fills its words."""
    values = versions_of(verdict)
    if verdict.kind in ("between", "gap"):
        return verdict.kind, values
    if asker is None:
        return ("new-any" if verdict.kind == "new" else "gone-any"), values
    if not asker:
        case, more = of_own_code(verdict, known, installed_version(versions, known.library))
        return case, values | more
    name = distribution(asker).replace("_", "-")
    installed = installed_version(versions, name)
    values |= {"asker": name, "asker_version": f" {installed}" if installed else ""}
    history = asks(asker, *asked) if asked else None
    if verdict.kind == "new":
        first = _boundary(history, history.spans[0][0]) if history and history.spans[0][0] else ""
        return ("new-asker" if first else "new-plain"), values | {"asker_first": first}
    last = history.spans[-1][1] if history else None
    free = _boundary(history, last + 1) if history and last is not None and last + 1 < len(history.versions) else ""
    return ("gone-upgrade" if free else "gone-pin"), values | {"asker_free": free}
