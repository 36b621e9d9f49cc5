"""What a look shows in sentences, in both languages, and as data for the file that post-mortems read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doctor.base.ranks import ranks_named, ranks_text
from doctor.base.redact import redact_text
from doctor.hang.graph import Wait
from doctor.hang.look import Hang, ProcessNode
from doctor.hang.store import Arrived

SCHEMA = "doctor-hang/1"

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "runs": "runs `{at}`", "sleeps": "sleeps in `{at}`",
        "stuck": "waits in the kernel for a device or a disk, in `{at}`",
        "idle": "waits for requests itself, in `{at}`", "waits": "waits in `{at}`", "stands": "is in `{at}`",
        "blind": "its Python stack is unknown", "runs_blind": "computes", "sleeps_blind": "sleeps",
        "stuck_blind": "waits in the kernel for a device or a disk", "idle_blind": "waits for requests itself",
        "at_port": "at {port}", "led_by": ", called from `{at}`",
        "since": ", for {time} now", "asked": ", asked {time} ago",
        "socket": "an answer from {whom}", "unix": "{whom}", "pipe": "data from {whom}", "write": "{whom} to read",
        "child": "the end of {whom}", "lock": "a file lock that {whom} holds", "ray": "Ray's {what} in {whom}",
        "collective": "{whom} in {what}", "nobody": "no other process is known to be missing",
        "all": "all {count} ranks", "and": " and ", "or": " or ",
        "sink": "{who} wait{s} for {sink}{at}, which {does}.", "holds": " There {values}.",
        "deadlock": "Deadlock: {way}. None of them can continue.",
        "maybe_deadlock": "{way}: by their stacks none of them can continue.",
        "waits_for": "{who} waits for {what}",
        "locked": "Threads of {who} wait for each other's locks: {way}. By their stacks and source none can "
        "continue.",
        "locks": "`{thread}` in `{at}` holds `{holds}` and wants `{wants}`",
        "arrived": "{members} {have} reached `{call}`, by the keys of torch's store at {address}{missing}.",
        "not_arrived": "; {missing} {have} not", "have": "have", "has": "has",
        "outside": "{who} wait{s} for {address}, which is not on this machine or not visible to this user{since}.",
        "itself": "{who} waits for an answer at {port} that it must give itself{since}.",
        "everywhere": "All ranks that answered wait in {what}: none is missing from it.",
        "nothing": "No process waits for another one.",
        "unread": "No process was seen to wait for another one; {unread} of {all} Python stacks are unknown.",
        "is": "{name} = {value}",
    },
    "zh": {
        "runs": "正在运行 `{at}`", "sleeps": "在 `{at}` 中休眠", "stuck": "在内核中等待设备或磁盘,位置 `{at}`",
        "idle": "自身在等待请求,位置 `{at}`", "waits": "在 `{at}` 中等待", "stands": "停在 `{at}`",
        "blind": "没有 Python 栈", "runs_blind": "正在计算", "sleeps_blind": "正在休眠",
        "stuck_blind": "在内核中等待设备或磁盘", "idle_blind": "自身在等待请求",
        "at_port": "({port})", "led_by": "(由 `{at}` 调用)", "since": ",已 {time}", "asked": ",请求发出已 {time}",
        "socket": "{whom} 的应答", "unix": "{whom}", "pipe": "{whom} 的数据", "write": "{whom} 读取",
        "child": "{whom} 结束", "lock": "{whom} 持有的文件锁", "ray": "{whom} 中的 Ray 任务 {what}",
        "collective": "{whom} 进入 {what}", "nobody": "没有已知缺席者",
        "all": "全部 {count} 个 rank", "and": "和", "or": "或",
        "sink": "{who}在等待 {sink}{at},后者{does}。", "holds": "其中 {values}。",
        "deadlock": "死锁:{way}。谁也无法继续。", "maybe_deadlock": "{way}:从调用栈看谁也无法继续。",
        "waits_for": "{who} 等待 {what}",
        "locked": "{who} 的线程互相等待对方的锁:{way}。从调用栈和源代码看谁也无法继续。",
        "locks": "`{thread}` 在 `{at}` 中持有 `{holds}`,等待 `{wants}`",
        "arrived": "torch 的 store({address})中的键显示:到达 `{call}` 的有 {members}{missing}。",
        "not_arrived": ";{missing} 尚未到达", "have": "", "has": "",
        "outside": "{who} 在等待 {address},它不在本机或当前用户看不到{since}。",
        "itself": "{who} 在等待 {port} 的应答,而该应答须由它自己给出{since}。",
        "everywhere": "所有有响应的 rank 都在 {what} 中等待,没有缺席者。",
        "nothing": "没有进程在等待另一个进程。",
        "unread": "未看到进程在等待另一个进程,但 {all} 个 Python 栈中有 {unread} 个未知。",
        "is": "{name} = {value}",
    },
}  # fmt: skip
_MOST_SINKS, _MOST_VALUES, _MOST_NAMED = 3, 4, 6


def sentences(hang: Hang, language: str = "en") -> tuple[str, ...]:
    """What the look shows, the most important first."""
    words = WORDS[language]
    told = [_cycle(each, hang, language) for each in hang.graph.cycles]
    told += [_locked(pid, hang, language) for pid in hang.locked]
    told += [_sink(each, hang, language) for each in hang.graph.sinks[:_MOST_SINKS]]
    told += _outside(hang, language)
    told += _itself(hang, language)
    everywhere = {each.what for each in hang.graph.waits if each.kind == "collective" and not each.targets}
    told += [words["everywhere"].format(what=f"`{each}`") for each in sorted(everywhere)]
    told += [_arrived(each, language) for each in hang.arrived]
    told += [f"{each}." for each in hang.recorded]
    unread = sum(not each.by for each in hang.nodes.values())
    nothing = words["unread" if unread else "nothing"].format(unread=unread, all=len(hang.nodes))
    return tuple(redact_text(each) for each in told) or (nothing,)


def _sink(pid: int, hang: Hang, language: str) -> str:
    words = WORDS[language]
    node = hang.nodes.get(pid)
    waiters = (hang.graph.waiters or {}).get(pid, ())
    direct = [each for each in hang.graph.waits if pid in each.targets]
    ports = sorted({each.what for each in direct if each.kind == "socket" and each.what})
    since = _longest(direct)
    does = does_of(node, language) + since_text(since, language, asked=any(each.kind == "socket" for each in direct))
    text = words["sink"].format(
        who=_capital(names(waiters, hang, language)), s="" if len(waiters) > 1 else "s",
        sink=node.name if node else f"pid {pid}", does=does,
        at=" " * (language == "en") + words["at_port"].format(port=", ".join(ports)) if ports else "",
    )  # fmt: skip
    values = [words["is"].format(name=f"`{name}`", value=value) for name, value in (node.values if node else ())]
    return text + (words["holds"].format(values=", ".join(values[:_MOST_VALUES])) if values else "")


def _locked(pid: int, hang: Hang, language: str) -> str:
    words = WORDS[language]
    way = [
        words["locks"].format(thread=each.thread, at=each.at, holds=each.holds, wants=each.wants)
        for each in hang.locked[pid]
    ]
    return words["locked"].format(who=name(pid, hang), way=(", " if language == "en" else ",").join(way))


def _arrived(each: Arrived, language: str) -> str:
    words = WORDS[language]
    members = _ranks(each.members, language) if each.missing else f"member {ranks_text(each.members)}"
    missing = words["not_arrived"].format(
        missing=_ranks(each.missing, language), have=words["has" if len(each.missing) == 1 else "have"]
    )
    return words["arrived"].format(
        call=each.call, members=_capital(members) if language == "en" else members, address=each.address,
        have=words["has" if len(each.members) == 1 else "have"], missing=missing if each.missing else "",
    )  # fmt: skip


def does_of(node: ProcessNode | None, language: str) -> str:
    """What a process does: ``runs `simplify (sympy/core.py:3)` ``."""
    words = WORDS[language]
    if node is None:
        return words["blind"]
    if node.at:
        return words[node.state].format(at=node.at) + (words["led_by"].format(at=node.led_by) if node.led_by else "")
    return words.get(f"{node.state}_blind", words["blind"])


def _longest(waits: Sequence[Wait]) -> float | None:
    return max((each.since_s for each in waits if each.since_s is not None), default=None)


def since_text(seconds: float | None, language: str, *, asked: bool = False) -> str:
    """``, for 34 min now``; "" where nothing tells."""
    return "" if seconds is None or seconds < 1 else WORDS[language]["asked" if asked else "since"].format(
        time=duration(seconds, language)
    )  # fmt: skip


def duration(seconds: float, language: str = "en") -> str:
    """``34 s``, ``34 min``, ``3.4 h``."""
    number, unit, unit_zh = (
        (seconds, "s", "秒") if seconds < 120 else (seconds / 60, "min", "分钟") if seconds < 7200
        else (seconds / 3600, "h", "小时")
    )  # fmt: skip
    text = f"{number:.1f}" if unit == "h" else f"{number:.0f}"
    return f"{text} {unit if language == 'en' else unit_zh}"


def _outside(hang: Hang, language: str) -> list[str]:
    words = WORDS[language]
    by_address: dict[str, list[Wait]] = {}
    for each in hang.graph.waits:
        if each.outside:
            by_address.setdefault(each.outside, []).append(each)
    return [
        words["outside"].format(
            who=_capital(names([each.who for each in waits], hang, language)), s="" if len(waits) > 1 else "s",
            address=f"`{address}`", since=since_text(_longest(waits), language),
        )
        for address, waits in sorted(by_address.items())
    ]  # fmt: skip


def _itself(hang: Hang, language: str) -> list[str]:
    """Processes that wait for an answer over a connection whose other end is their own."""
    own = [each for each in hang.graph.waits if each.kind == "socket" and not each.targets and not each.outside]
    return [
        WORDS[language]["itself"].format(
            who=_capital(name(each.who, hang)), port=f"`{each.what}`", since=since_text(each.since_s, language)
        )
        for each in own
    ]  # fmt: skip


def _cycle(cycle: Sequence[int], hang: Hang, language: str) -> str:
    words = WORDS[language]
    parts, sure = [], True
    for number, pid in enumerate(cycle):
        after = cycle[(number + 1) % len(cycle)]
        wait = next(each for each in hang.graph.of(pid) if after in each.targets)
        sure = sure and wait.sure
        parts.append(words["waits_for"].format(who=name(pid, hang), what=_what(wait, (after,), hang, language)))
    way = (", " if language == "en" else ",").join(parts)
    return words["deadlock" if sure else "maybe_deadlock"].format(way=way if sure else _capital(way))


def wait_text(wait: Wait, hang: Hang, language: str) -> str:
    """What one process waits for, with the time."""
    if not wait.targets:
        what = wait.outside or wait.what or WORDS[language]["nobody"]
        return what + since_text(wait.since_s, language)
    return _what(wait, wait.targets, hang, language) + since_text(wait.since_s, language)


def _what(wait: Wait, targets: Sequence[int], hang: Hang, language: str) -> str:
    words = WORDS[language]
    between = words["and"] if wait.every else words["or"]
    whom = names(targets, hang, language, between)
    at = f" {wait.what}" if wait.kind == "socket" and wait.what else ""
    return words[wait.kind].format(whom=whom + at, what=wait.what)


def _ranks(ranks: Sequence[int], language: str) -> str:
    return ranks_named(ranks) if language == "en" else f"rank {ranks_text(ranks)}"


def name(pid: int, hang: Hang) -> str:
    """What a process is called."""
    node = hang.nodes.get(pid)
    return node.name if node else f"pid {pid}"


def names(pids: Sequence[int], hang: Hang, language: str, between: str | None = None) -> str:
    """``all 7 ranks``, ``ranks 0, 2 and reward.py (pid 20)``."""
    words = WORDS[language]
    called = [name(pid, hang) for pid in pids]
    ranks = sorted(int(each[5:]) for each in called if each.startswith("rank ") and each[5:].isdigit())
    world = sum(node.name.startswith("rank ") for node in hang.nodes.values())
    parts = [each for each in called if not (each.startswith("rank ") and each[5:].isdigit())]
    if ranks:
        everybody = len(ranks) == world > 2
        parts.insert(0, words["all"].format(count=world) if everybody else _ranks(ranks, language))
    shown, left = parts[:_MOST_NAMED], len(parts) - _MOST_NAMED
    if left > 0:
        shown = [*shown, f"+{left}"]
    last = words["and"] if between is None else between
    return last.join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("rank ", "ranks ", "member ", "all ", "worker ")) else text


def as_data(hang: Hang) -> dict[str, Any]:
    """For the file of a look."""
    return {
        "schema": SCHEMA, "seconds": hang.seconds, "notes": list(hang.notes),
        "told": {"en": list(sentences(hang)), "zh": list(sentences(hang, "zh"))},
        "processes": [
            {
                "pid": each.pid, "name": each.name, "title": redact_text(each.title)[:300], "state": each.state,
                "at": each.at, "cores": each.cores, "by": each.by, "blind": each.blind or None,
                "values": [list(pair) for pair in each.values], "frames": [redact_text(one) for one in each.frames],
                "led_by": each.led_by,
            }
            for each in hang.nodes.values()
        ],
        "waits": [
            {
                "who": each.who, "targets": list(each.targets), "kind": each.kind, "every": each.every,
                "what": each.what, "outside": each.outside, "since_s": each.since_s, "sure": each.sure,
            }
            for each in hang.graph.waits
        ],
        "sinks": list(hang.graph.sinks),
        "cycles": [list(each) for each in hang.graph.cycles],
        "locks": [
            {
                "pid": pid,
                "circle": [
                    {"thread": each.thread, "at": each.at, "wants": each.wants, "holds": each.holds} for each in circle
                ],
            }
            for pid, circle in hang.locked.items()
        ],
        "arrived": [
            {
                "call": each.call, "waiting": list(each.waiting), "members": list(each.members),
                "missing": list(each.missing), "store": each.address,
            }
            for each in hang.arrived
        ],
    }  # fmt: skip
