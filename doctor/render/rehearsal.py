"""The section of a report that tells a rehearsal phase by phase: on a terminal, in Markdown, on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "phases": "phases", "not_rehearsed": "not rehearsed",
        "contacted": "addresses outside this machine that were called", "extrapolated": "extrapolated",
        "ok": "ok", "broke": "failed", "open": "not finished",
        "not_reached": "not reached", "not_seen": "not seen", "seconds": "{seconds:.2f} s",
        "by": "by {by}", "rewards": "rewards",
        "memory": "memory", "inventory": "the first step",
        "imports": "imports", "configuration": "configuration", "model": "model", "data": "data", "reward": "reward",
        "engine": "engine", "generation": "generation", "loss": "loss", "backward": "backward",
        "optimizer": "optimizer", "weight_update": "weight update", "logging": "logging", "evaluation": "evaluation",
        "save": "save", "resume": "resume",
        "trainable": "trainable",
        "frozen": "frozen",
        "tensors with a gradient": "tensors with a gradient", "gradients that are zero": "gradients that are zero",
        "rows at the length limit": "rows at the length limit", "what was warned": "what was warned",
        "tokens that count": "tokens that count",
        "rows that end with EOS": "rows that end with EOS",
        "attention": "attention",
        "adapters": "adapters",
        "reference model": "reference model",
        "prompt as the model sees it": "prompt as the model sees it",
        "completion as the model sees it": "completion as the model sees it",
        "row as the model sees it": "row as the model sees it",
        "trained as the model sees it": "trained as the model sees it",
    },
    "zh": {
        "phases": "各阶段", "not_rehearsed": "未演练", "contacted": "访问过的本机以外的地址", "extrapolated": "推算",
        "ok": "正常", "broke": "出错", "open": "未完成", "not_reached": "未到达", "not_seen": "未观察到",
        "seconds": "{seconds:.2f} 秒",
        "by": "来自 {by}", "rewards": "奖励", "memory": "内存", "inventory": "第一步",
        "imports": "导入", "configuration": "配置", "model": "模型", "data": "数据", "reward": "奖励", "engine": "引擎",
        "generation": "生成", "loss": "损失", "backward": "反向传播", "optimizer": "优化器",
        "weight_update": "权重更新",
        "logging": "日志", "evaluation": "评估", "save": "保存", "resume": "恢复",
        "trainable": "可训练",
        "frozen": "冻结",
        "tensors with a gradient": "收到梯度的张量", "gradients that are zero": "全为零的梯度",
        "rows at the length limit": "达到长度上限的行", "what was warned": "库给出的警告",
        "tokens that count": "计入损失的 token",
        "rows that end with EOS": "以 EOS 结束的行",
        "attention": "注意力实现",
        "adapters": "adapter",
        "reference model": "参考模型",
        "prompt as the model sees it": "模型看到的提示",
        "completion as the model sees it": "模型看到的生成",
        "row as the model sees it": "模型看到的一行",
        "trained as the model sees it": "被训练的部分",
    },
}  # fmt: skip
_SIGNS = {"ok": ("✓", "+", "green"), "broke": ("✗", "x", "bold red"), "open": ("…", "~", "bold yellow"),
          "not_reached": ("–", "-", "dim")}  # fmt: skip
#: characters that a console needs for the marks
SIGNS = "✓✗…–"
_COLUMNS = 16


def draw_rehearsal(
    section: Mapping[str, Any], console: Console, language: str, prose: Callable[[str], Text], *, fancy: bool
) -> None:
    """Print the phases, then what was not rehearsed and why.

    Args:
        section: of the report.
        console: where.
        language: "en" or "zh".
        prose: makes text of words in which names stand in backticks.
        fancy: whether the console's encoding has SIGNS.

    """
    words = WORDS[language]
    console.print()
    console.print(Text(words["phases"], style="bold"))
    for each, told in _phases(section, words):
        sign, plain, style = _SIGNS[each["mark"]]
        line = Text.assemble((f"  {sign if fancy else plain} ", style))
        name = Text(words[each["name"]])
        name.append(" " * max(0, _COLUMNS - name.cell_len))
        console.print(line + name + Text(told, style="dim"))
    for title, lines in _lists(section, words):
        console.print()
        console.print(Text(title, style="bold"))
        for text in lines:
            for part in _wrapped(prose(text), console):
                console.print(part)


def _wrapped(text: Text, console: Console) -> list[Text]:
    from doctor.render.wrapping import wrapped

    lines = [Text("  - " if number == 0 else "    ") + each for number, each in enumerate(
        wrapped(text, max(20, console.width - 4))
    )]  # fmt: skip
    for each in lines:
        each.rstrip()
    return lines


def _phases(section: Mapping[str, Any], words: Mapping[str, str]) -> list[tuple[Mapping[str, Any], str]]:
    """Each phase with what is said of it; one without a mark before others that were reached was only not seen."""
    phases = section["phases"]
    last = max((at for at, each in enumerate(phases) if each["mark"] != "not_reached"), default=-1)
    return [(each, words["not_seen"] if each["mark"] == "not_reached" and at < last else _told(each, words))
            for at, each in enumerate(phases)]  # fmt: skip


def _told(phase: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if phase["mark"] == "not_reached":
        return words["not_reached"]
    seconds = words["seconds"].format(seconds=phase["seconds"])
    if phase["mark"] == "ok":
        return seconds
    return f"{words[phase['mark']]} ({phase['error'] or seconds})"


def _lists(section: Mapping[str, Any], words: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """(title, lines) of what the section lists, without empty ones."""
    left_out = [f"{words.get(each['what'], each['what'])}: {each['why']}" for each in section["not_rehearsed"]]
    contacted = [
        f"`{each['address']}`" + (f" {words['by'].format(by=each['by'])}" if each["by"] else "")
        for each in section["contacted"]
    ]
    rewards = [
        f"`{name}`: {', '.join(f'{kind} {_number(value)}' for kind, value in kinds.items())}"
        for name, kinds in section.get("rewards", {}).items()
    ]
    inventory = [f"{words.get(name, name)}: {value}" for name, value in section.get("inventory", {}).items()]
    memory = [f"{name}: {value}" for name, value in section.get("memory", {}).items()]
    update = [section["weight_update"]] if section.get("weight_update") else []
    found = (
        ("weight_update", update), ("inventory", inventory), ("rewards", rewards), ("memory", memory),
        ("extrapolated", section["extrapolated"]), ("contacted", contacted), ("not_rehearsed", left_out),
    )  # fmt: skip
    return [(words[name], list(lines)) for name, lines in found if lines]


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"


def _heading(title: str) -> str:
    return title[:1].upper() + title[1:]


def markdown(section: Mapping[str, Any], language: str) -> list[str]:
    """Lines of the section."""
    words = WORDS[language]
    lines = [f"### {_heading(words['phases'])}", ""]
    lines += [f"- {words[each['name']]}: {told}" for each, told in _phases(section, words)]
    for title, listed in _lists(section, words):
        lines += ["", f"### {_heading(title)}", "", *(f"- {each}" for each in listed)]
    return [*lines, ""]


def page(section: Mapping[str, Any], language: str, prose: Callable[[str], str]) -> str:
    """The section as HTML; `prose` escapes words in which names stand in backticks."""
    words = WORDS[language]
    rows = "".join(
        f"<tr><td>{_SIGNS[each['mark']][0]}</td><td>{escape(words[each['name']])}</td><td>{escape(told)}</td></tr>"
        for each, told in _phases(section, words)
    )
    parts = [f'<h2>{escape(_heading(words["phases"]))}</h2>\n<table class="chain">{rows}</table>']
    for title, listed in _lists(section, words):
        items = "".join(f"<li>{prose(each)}</li>" for each in listed)
        parts.append(f"<h2>{escape(_heading(title))}</h2>\n<ul>{items}</ul>")
    return "\n".join(parts)
