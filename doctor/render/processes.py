"""Draws processes on a terminal: orphans with their proof, and the tree of a run that stands still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table

from doctor.base.redact import redact_text
from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console


_TITLE_CHARACTERS = 90

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "holds": "holds {gpus}", "memory": "{gib:.1f} GiB of GPU memory", "nothing": "holds no GPU",
        "more": "and {count} processes below it",
        "parent": "its parent is {parent}, which does not start workers: the process that did is dead",
        "session": "the leader of its session ({session}) is gone",
        "group": "the leader of its process group ({group}) is gone",
        "run": "its run has ended: {folder}",
        "age": "it is {age} old",
        "kind_vllm": "vLLM engine", "kind_ray": "Ray worker", "kind_multiprocessing": "multiprocessing child",
        "kind_torchrun": "torchrun worker",
        "pid": "pid", "state": "state", "waits": "waits in", "command": "process", "where": "innermost Python frame",
    },
    "zh": {
        "holds": "占用 {gpus}", "memory": "{gib:.1f} GiB 显存", "nothing": "未占用 GPU",
        "more": "及其下的 {count} 个进程",
        "parent": "其父进程是 {parent},它不会启动工作进程:真正的父进程已经消失",
        "session": "其会话首进程({session})已不存在",
        "group": "其进程组首进程({group})已不存在",
        "run": "所属训练已结束:{folder}",
        "age": "已存在 {age}",
        "kind_vllm": "vLLM 引擎", "kind_ray": "Ray 工作进程", "kind_multiprocessing": "multiprocessing 子进程",
        "kind_torchrun": "torchrun 工作进程",
        "pid": "pid", "state": "状态", "waits": "等待于", "command": "进程", "where": "最内层 Python 栈帧",
    },
}  # fmt: skip


@dataclass(frozen=True)
class ProcessRow:
    """One process of a tree: depth below its top, one-letter state, kernel function it waits in, innermost frame."""

    pid: int
    depth: int
    state: str
    waits: str
    title: str
    frame: str


def short(title: str) -> str:
    """A command line fit for one line of a terminal."""
    text = " ".join(redact_text(title).split())
    return text if len(text) <= _TITLE_CHARACTERS else text[: _TITLE_CHARACTERS - 3] + "..."


def draw_orphan(orphan: Any, console: Console, language: str) -> None:
    """One orphan: what it is, what it holds, and the proof."""
    words = WORDS[language]
    process, kind = orphan.process, orphan.kind
    head = Text.assemble((f"{process.pid}", "bold yellow"), "  ", (words[f"kind_{kind}"], "bold"))
    head.append(f"  {short(process.title)}")
    console.print(head, soft_wrap=True)
    held = words["holds"].format(gpus=", ".join(orphan.gpus)) if orphan.gpus else words["nothing"]
    if orphan.gpu_bytes is not None:
        memory = words["memory"].format(gib=orphan.gpu_bytes / 2**30)
        held = f"{held}, {memory}" if orphan.gpus else words["holds"].format(gpus=memory)
    below = len(orphan.tree) - 1
    lines = [held, *([words["more"].format(count=below)] if below else [])]
    lines += [words[key].format(**values) for key, values in orphan.proof]
    for line in lines:
        console.print(Padding(Text(redact_text(line), style="dim"), (0, 0, 0, 4), expand=False))


def draw_tree(rows: Sequence[ProcessRow], console: Console, language: str) -> None:
    """The processes of a run and where each of them is."""
    words = WORDS[language]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("pid", "state", "waits", "command", "where"):
        table.add_column(words[name], justify="right" if name == "pid" else "left", no_wrap=True, overflow="ellipsis")
    for row in rows:
        stuck = "bold red" if row.state == "D" else ""
        table.add_row(
            str(row.pid), Text(row.state, style=stuck), Text(row.waits, style="dim"),
            "  " * row.depth + short(row.title), Text(row.frame, style="cyan"),
        )  # fmt: skip
    console.print(table)
