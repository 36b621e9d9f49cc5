"""Draws on a terminal what a run was, beside its findings: what changed, the machine, the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding

from doctor.render.ink import Text
from doctor.render.usage_report import draw_usage, duration
from doctor.render.words import PARTS, place_of

if TYPE_CHECKING:
    from doctor.render.ink import Console


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "warned": "what doctor check said before the launch",
        "since": "changed since the last good run, {good}", "nothing": "nothing that was recorded differs",
        "more": "{count} more: doctor compare {name} --last-good", "departs": "{name} departs from step {step}",
        "used": "how the machine was used", "command": "command", "exit": "exit code {exit}",
        "stopped": "exit code {exit}, stopped by the guard",
        "not_known": "not compared: {what}",
    },
    "zh": {
        "warned": "启动之前 doctor check 已指出",
        "since": "自上次正常运行 {good} 以来的变化", "nothing": "保存的内容没有差异",
        "more": "另有 {count} 项:doctor compare {name} --last-good", "departs": "{name} 从第 {step} 步起出现分歧",
        "used": "机器的使用情况", "command": "命令", "exit": "退出码 {exit}", "stopped": "退出码 {exit},被守护程序停止",
        "not_known": "未比较:{what}",
    },
}  # fmt: skip

_MOST_CHANGES = 8


def draw_run(report: Mapping[str, Any], console: Console, language: str) -> None:
    """What the check said, what changed since the last good run, figures of the machine, the command."""
    words, run = WORDS[language], report["run"]
    if run.get("warned"):
        _draw_warned(run["warned"], console, words)
    if (since := run.get("since")) and run.get("state") != "good":
        _draw_since(since, run["name"], console, words, PARTS[language])
    if report.get("usage"):
        console.print()
        console.print(Text(words["used"], style="bold"))
        draw_usage(report["usage"], console, language)
    console.print()
    console.print(Text(words["command"], style="bold"))
    console.print(Text("  " + shlex.join(run.get("argv", ()))), soft_wrap=True)
    ended = "stopped" if run.get("state") == "stopped" else "exit"
    told = [run.get("started"), None if run.get("seconds") is None else duration(run["seconds"]),
            None if run.get("exit") is None else words[ended].format(exit=run["exit"]),
            str(run["code"].get("revision", ""))[:12] if run.get("code") else None]  # fmt: skip
    console.print(Text("  " + " · ".join(each for each in told if each), style="dim"))


def _draw_warned(warned: Sequence[Mapping[str, Any]], console: Console, words: Mapping[str, str]) -> None:
    console.print()
    console.print(Text(words["warned"], style="bold"))
    for each in warned:
        style = "red" if each["severity"] == "error" else "yellow"
        console.print(Text.assemble("  ", (each["id"], style), "  ", (place_of(each["where"]), "cyan")))
        console.print(Padding(Text(each["headline"].replace("`", "")), (0, 0, 0, 4), expand=False))


def _draw_since(
    since: Mapping[str, Any], name: str, console: Console, words: Mapping[str, str], parts: Mapping[str, str]
) -> None:
    console.print()
    console.print(Text(words["since"].format(good=since["good"]), style="bold"))
    for each in since["changes"][:_MOST_CHANGES]:
        line = Text.assemble("  ", (each["name"], "cyan"))
        if each["old"] is not None or each["new"] is not None:
            line.append(f"  {each['old'] or '-'} → {each['new'] or '-'}")
        console.print(line, soft_wrap=True)
        for text in each.get("lines", ())[:4]:
            console.print(Text(f"    {text}", style="red" if text.startswith("-") else "green"), soft_wrap=True)
    if not since["changes"]:
        console.print(f"  {words['nothing']}")
    if (more := len(since["changes"]) - _MOST_CHANGES) > 0:
        console.print(Text("  " + words["more"].format(count=more, name=shlex.quote(name)), style="dim"))
    for each in since["departed"][:4]:
        console.print(Text("  " + words["departs"].format(**each)))
    if since["unknown"]:
        console.print(
            Text(
                "  " + words["not_known"].format(what=", ".join(parts[each] for each in since["unknown"])),
                style="dim",
            )
        )
