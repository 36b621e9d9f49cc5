"""`doctor fix orphans`: GPU processes left over from dead runs, shown with the proof, ended on consent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from doctor.cli import options

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "none": "No leftover process of yours.",
        "none_gpu": "No leftover process of yours uses a GPU.",
        "by_proc": "GPU memory is not counted ({reason}); users of each GPU were read from /proc.",
        "apply": "Nothing is ended yet: add --apply.",
        "ask": "End {pid}?",
        "no_answer": "ending a process asks first: add --yes if there is no terminal",
        "asked": "{pid}: ended when asked (SIGTERM).",
        "killed": "{pid}: had to be killed (SIGKILL): {killed}.",
        "left": "{pid}: {left} cannot be ended: it waits in the kernel (state {state}), as after a driver "
        "error; it ends when that wait ends, or at a reboot.",
        "gone": "{pid}: it ended, or is no longer an orphan; no signal was sent.",
        "kept": "{pid}: left alone.",
        "no_orphan": "no orphan of yours has this id: {pids} (--all shows those that hold no GPU too)",
    },
    "zh": {
        "none": "没有属于你的、由已结束训练遗留的进程。",
        "none_gpu": "没有属于你的、占用 GPU 且由已结束训练遗留的进程。",
        "by_proc": "未统计显存({reason});占用 GPU 的进程由 /proc 得知。",
        "apply": "尚未结束任何进程:加上 --apply 才会执行。",
        "ask": "结束 {pid}?",
        "no_answer": "结束进程前需要确认:无人应答时请加 --yes",
        "asked": "{pid}:收到 SIGTERM 后已结束。",
        "killed": "{pid}:只能强制结束(SIGKILL):{killed}。",
        "left": "{pid}:{left} 无法结束:它在内核中等待(状态 {state}),常见于驱动故障之后;等待结束或重启机器后才会消失。",
        "gone": "{pid}:已不存在,或不再是孤儿进程;未发送信号。",
        "kept": "{pid}:保留。",
        "no_orphan": "没有属于你的孤儿进程使用此 id:{pids}(--all 也显示未占用 GPU 的进程)",
    },
}


@click.command()
@click.argument("pids", nargs=-1, type=click.IntRange(1), metavar="[PID]...")
@click.option("--apply", is_flag=True, help="End them; each is asked about on a terminal.")
@click.option("--yes", is_flag=True, help="Do not ask about each.")
@click.option("--all", "everything", is_flag=True, help="Leftover workers that hold no GPU too.")
@click.option("--grace", type=click.FloatRange(0, 600), default=10.0, show_default=True, help="Seconds before SIGKILL.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(pids: tuple[int, ...], everything: bool, grace: float, lang: str | None, **chosen: bool) -> int:
    """Show workers of vLLM, Ray, torchrun and multiprocessing that outlived their run, with the proof.

    They are ended only on request, and only those of the user who runs this. Exit codes: 0 shown or ended, 1 one could
    not be ended, 2 usage.

    \b
    doctor fix orphans                 show them
    doctor fix orphans --apply         end them, one after the other
    doctor fix orphans 4711 --apply    end this one, if it is an orphan
    doctor fix orphans --apply --yes   end them all
    """
    from doctor.render.console import console_for
    from doctor.render.processes import draw_orphan

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    phrases, console = _PHRASES[language], console_for(sys.stdout)
    found, blind = _orphans(without_gpu=everything)
    if blind is not None:
        from doctor.catalogue.reasons import translated

        click.echo(phrases["by_proc"].format(reason=translated(blind, language)))
    if pids:
        if others := sorted({*pids} - {each.process.pid for each in found}):
            raise click.UsageError(phrases["no_orphan"].format(pids=", ".join(map(str, others))))
        found = [each for each in found if each.process.pid in pids]
    for each in found:
        draw_orphan(each, console, language)
        console.print()
    if not found:
        click.echo(phrases["none" if everything else "none_gpu"])
        return 0
    if not chosen["apply"]:
        click.echo(phrases["apply"])
        return 0
    if not chosen["yes"] and not sys.stdin.isatty():
        raise click.UsageError(phrases["no_answer"])
    return max(_end(each, phrases, grace, ask=not chosen["yes"]) for each in found)


def _orphans(*, without_gpu: bool) -> tuple[list[Any], str | None]:
    """Orphans of this user, and why NVML could not be asked, None where it was."""
    from doctor.base.fact import Context
    from doctor.diagnosis.diagnose import Patient, examine
    from doctor.mend.processes import orphans, table

    state = examine(Context((), Path.cwd(), dict(os.environ), None), Patient(), ("gpus",)).states["gpus"]
    counted: dict[int, int | None] | None = None
    blind: str | None = state.reason or "NVML"
    if state.status == "ok" and any(gpu.processes is not None for gpu in state.value.gpus):
        blind, counted = None, {}
        for process in (each for gpu in state.value.gpus for each in gpu.processes or () if each.is_mine):
            held = counted.get(process.pid)
            counted[process.pid] = held if process.used_bytes is None else (held or 0) + process.used_bytes
    found = orphans.find(
        table.everybody(), uid=os.getuid(), gpu_bytes=counted, gpu_files_of=table.gpu_files, without_gpu=without_gpu
    )
    return found, blind


def _end(orphan: Any, phrases: Mapping[str, str], grace: float, *, ask: bool) -> int:
    """End one with all below it; 1 when something is left."""
    from doctor.mend.processes import ending, orphans, table

    say = partial(str.format, pid=orphan.process.pid)
    if ask and not click.confirm(say(phrases["ask"])):
        click.echo(say(phrases["kept"]))
        return 0
    now = table.everybody()
    if not orphans.still_one(orphan, now.values()):
        click.echo(say(phrases["gone"]))
        return 0
    done = ending.end(table.below(orphan.process.pid, now), grace_s=grace)
    if done.killed:
        click.echo(say(phrases["killed"], killed=", ".join(map(str, done.killed))))
    elif not done.left:
        click.echo(say(phrases["asked"]))
    for pid, state in done.left:
        click.echo(say(phrases["left"], left=pid, state=state))
    return 1 if done.left else 0
