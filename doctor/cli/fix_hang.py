"""`doctor fix hang`: where every process of a run stands, kept in a file; then its end in the right order."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from doctor.cli import options
from doctor.cli.outputs import Output

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "written": "Stacks of {count} processes: {path}",
        "guard": "The guard wrote stacks when it noticed the stall: {path}",
        "blind": "No Python stacks of {count} processes: {reason}",
        "launcher": "Its launcher is process {pid}: give that pid to end the whole run.",
        "apply": "Nothing is ended yet: add --apply.",
        "ask": "End these {count} processes?",
        "no_answer": "ending a process asks first: add --yes if there is no terminal",
        "term": "SIGTERM to {pid}, which ends the others, within {grace:g} s...",
        "term_all": "SIGTERM to all remaining processes...",
        "kill": "SIGKILL to all remaining processes, the top one first...",
        "ended": "Ended: {asked} when asked, {killed} killed.",
        "left": "{pid} cannot be ended: it waits in the kernel (state {state}).",
        "absent": "there is no process {pid}",
        "another": "process {pid} belongs to another user",
        "own": "process {pid} is a parent of this command; end it from another terminal",
        "first": "process 1 is the init process of the machine or container",
    },
    "zh": {
        "written": "{count} 个进程的栈:{path}",
        "guard": "守护模块在发现停滞时已写下栈:{path}",
        "blind": "{count} 个进程没有 Python 栈:{reason}",
        "launcher": "其启动器是进程 {pid}:要结束整个训练,请指定它。",
        "apply": "尚未结束任何进程:加上 --apply 才会执行。",
        "ask": "结束这 {count} 个进程?",
        "no_answer": "结束进程前需要确认:无人应答时请加 --yes",
        "term": "向 {pid} 发送 SIGTERM,由它结束其余进程;等待 {grace:g} 秒……",
        "term_all": "向剩余进程发送 SIGTERM……",
        "kill": "向剩余进程发送 SIGKILL,自上而下……",
        "ended": "已结束:{asked} 个自行退出,{killed} 个被强制结束。",
        "left": "{pid} 无法结束:它在内核中等待(状态 {state})。",
        "absent": "没有进程 {pid}",
        "another": "进程 {pid} 属于其他用户",
        "own": "进程 {pid} 位于本命令之上;请在另一个终端中结束它",
        "first": "进程 1 是机器或容器的首个进程",
    },
}


@click.command()
@click.option("--pid", type=click.IntRange(1), required=True, help="The launcher of the run, or one of its processes.")
@click.option("--apply", is_flag=True, help="End it and all below it, once the stacks are written.")
@click.option("--yes", is_flag=True, help="Do not ask before that.")
@click.option("--grace", type=click.FloatRange(0, 600), help="Seconds for the launcher to end the others [35].")
@click.option("-o", "--output", type=Output(makes_parents=True), metavar="FILE", help="Write the stacks to this file.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(pid: int, grace: float | None, output: Path | None, lang: str | None, **chosen: bool) -> int:
    """Write down where every process of a stalled run is; end the run in order if asked.

    Exit codes: 0 written (and ended), 1 a process could not be ended, 2 usage.

    \b
    doctor fix hang --pid 4711           the stacks of 4711 and all below it, into a file
    doctor fix hang --pid 4711 --apply   then end them: SIGTERM to the top, to the rest, SIGKILL
    """
    from doctor.mend.processes import table

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    phrases = _PHRASES[language]
    processes = table.everybody()
    tree = table.below(pid, processes)
    _refuse(pid, tree, phrases)
    _show(tree, processes, output, language)
    if not chosen["apply"]:
        click.echo(phrases["apply"])
        return 0
    if not chosen["yes"]:
        if not sys.stdin.isatty():
            raise click.UsageError(phrases["no_answer"])
        click.confirm(phrases["ask"].format(count=len(tree)), abort=True)
    return _end(tree, phrases, grace)


def _refuse(pid: int, tree: Sequence[Any], phrases: Mapping[str, str]) -> None:
    """What is not there, not ours, or carries us."""
    if not tree:
        raise click.UsageError(phrases["absent"].format(pid=pid))
    if pid == 1:
        raise click.UsageError(phrases["first"])
    for each in tree:
        if each.uid != os.getuid():
            raise click.UsageError(phrases["another"].format(pid=each.pid))
        if each.pid == os.getpid():
            raise click.UsageError(phrases["own"].format(pid=pid))


def _show(tree: Sequence[Any], processes: Mapping[int, Any], output: Path | None, language: str) -> None:
    """Dump all stacks, top first, and draw the tree."""
    from doctor.mend.processes import stacks
    from doctor.render.console import console_for
    from doctor.render.processes import ProcessRow, draw_tree

    phrases = _PHRASES[language]
    dumps = [stacks.dump(each) for each in tree]
    depth = {tree[0].pid: 0}
    for each in tree[1:]:
        depth[each.pid] = depth[each.parent] + 1
    rows = [
        ProcessRow(one.process.pid, depth[one.process.pid], one.process.state, one.waits, one.process.title, one.frame)
        for one in dumps
    ]
    draw_tree(rows, console_for(sys.stdout), language)
    click.echo()
    path = _write(dumps, output)
    click.echo(phrases["written"].format(count=len(dumps), path=path))
    for written in (file for each in tree for file in stacks.already_written(each)):
        click.echo(phrases["guard"].format(path=written))
    blind = [one.blind for one in dumps if one.blind is not None]
    if blind:
        click.echo(phrases["blind"].format(count=len(blind), reason=blind[0]))
    if launcher := _launcher_above(tree[0], processes):
        click.echo(phrases["launcher"].format(pid=launcher))


def _write(dumps: Sequence[Any], output: Path | None) -> Path:
    """Into the file asked for, else the run folder, else here; nothing is overwritten."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    top = dumps[0].process
    if output is None:
        run = top.environ.get("DOCTOR_RUN_DIR")
        name = f"hang-{socket.gethostname()}-{top.pid}-{stamp}.txt"
        output = Path(run, "stacks", name) if run and Path(run).is_dir() else Path(f"doctor-{name}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8") as file:
            file.write(f"{socket.gethostname()} {stamp}\n\n")
            file.write("\n".join(one.text for one in dumps))
    except OSError as exc:
        msg = f"cannot write `{output}`: {exc.strerror}. Nothing was ended"
        raise click.UsageError(msg) from None
    return output


def _launcher_above(process: Any, processes: Mapping[int, Any]) -> int | None:
    """The topmost launcher that a process hangs on."""
    from doctor.monitors.sampler.processes import identity

    found, seen = None, set()
    while process.parent in processes and process.parent not in seen and process.parent > 1:
        process = processes[process.parent]
        seen.add(process.pid)
        if process.uid == os.getuid() and identity(process.pid).role in {"launcher", "vllm_server"}:
            found = process.pid
    return found


def _end(tree: Sequence[Any], phrases: Mapping[str, str], grace: float | None) -> int:
    from doctor.catalogue.plan import Refused
    from doctor.mend.processes import ending

    grace = ending.GRACE_S if grace is None else grace

    def tell(stage: str) -> None:
        click.echo(phrases[stage].format(pid=tree[0].pid, grace=grace))

    try:
        done = ending.end(tree, grace_s=grace, tell=tell)
    except Refused as exc:
        raise click.UsageError(str(exc)) from None
    click.echo(phrases["ended"].format(asked=len(done.asked), killed=len(done.killed)))
    for pid, state in done.left:
        click.echo(phrases["left"].format(pid=pid, state=state))
    return 1 if done.left else 0
