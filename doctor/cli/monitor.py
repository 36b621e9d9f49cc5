"""`doctor monitor`: what the GPUs really do, live or while a command runs."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from doctor.cli import options
from doctor.cli.monitor_words import say_lost, summary, wait
from doctor.cli.outputs import Output
from doctor.cli.runs import bare, new_run, short

_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)")

#: below 50 ms NVML begins to answer with errors and zeros (https://github.com/ml-energy/zeus/issues/186)
SHORTEST_S, LONGEST_S = 0.05, 60.0
_REDRAW_S = 0.5


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Seconds, from 100ms, 120s, 2m, 1.5h, 1d or a bare number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        if match is None or not float(match[1]):
            self.fail(f"`{value}` is not a duration: give 100ms, 120s, 2m or 1.5h", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--during-run",
    is_flag=True,
    help="Run the command after --, sample while it runs, keep its exit code.",
)
@click.option("--pid", type=int, help="Sample beside this process and end with it.")
@click.option("--for", "for_s", type=Duration(), help="Stop after this time: 120s, 10m.")
@click.option(
    "--interval",
    type=Duration(),
    help="Sampling interval, at least 50ms. Default: 100ms, longer where the driver is slow.",
)
@click.option("--gpus", metavar="0,1", default="", help="Sample only these GPUs, by NVML index.")
@click.option("--csv", metavar="FILE", type=Output(makes_parents=True), help="Write the GPU figures to this file.")
@click.option("--dcgm", metavar="URL", help="Metrics address of a dcgm-exporter; `none` queries none.")
@click.option(
    "--prometheus", metavar="[HOST:]PORT", help="Serve the newest figures at this address (default host: loopback)."
)
@click.option("--ray", "address", metavar="auto|ADDRESS", help="Sample every node of this Ray cluster.")
@click.option("--python", metavar="PATH", help="With --ray: the interpreter that has Ray.")
@click.option(
    "--collect",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Sample this node into a run folder that all nodes share.",
)
@options.stopped_exit
@click.option("--no-live", is_flag=True, help="Show no table on the terminal.")
@click.option("--no-capture", is_flag=True, help="Leave the terminal to the command; its output is not kept.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
def command(words: tuple[str, ...], **chosen: Any) -> int:
    """Sample true SM activity, memory, power and clocks into CSV, and say what they mean.

    \b
    doctor monitor                                           the live table; q quits
    doctor monitor --during-run -- accelerate launch train_grpo.py
    doctor monitor --pid 4242 --for 10m --no-live
    doctor monitor --ray auto                                the same of every node of a Ray cluster
    doctor monitor --ray auto --during-run -- python -m verl.trainer.main_ppo ...
    srun doctor monitor --collect runs/$SLURM_JOB_ID --during-run -- python train.py
    doctor report doctor-runs/...                            the report on it
    """
    _refuse(words, chosen)
    from doctor.monitors.sampler.start import SamplingWishes

    csv = chosen["csv"].absolute() if chosen["csv"] else None
    wishes = SamplingWishes(
        chosen["interval"], chosen["gpus"].replace(" ", ""), csv, _exporter(chosen), chosen["for_s"]
    )
    if chosen["collect"]:
        from doctor.cli.monitor_shared import collect

        return collect(words, chosen, wishes)
    if chosen["during_run"]:
        return _during(words, chosen, wishes)
    return _attached(chosen, wishes)


def _refuse(words: tuple[str, ...], chosen: dict[str, Any]) -> None:
    if chosen["during_run"] and not words:
        raise click.UsageError("--during-run needs the command to run, after --")
    if words and not chosen["during_run"]:
        raise click.UsageError(f"`{words[0]}`: run a command with --during-run -- COMMAND")
    if chosen["during_run"] and (chosen["pid"] or chosen["for_s"]):
        raise click.UsageError(
            "--during-run ends with its command: --pid and --for are for a process that already runs"
        )
    if chosen["interval"] is not None and not SHORTEST_S <= chosen["interval"] <= LONGEST_S:
        raise click.UsageError("--interval must be between 50ms and 60s")
    if not re.fullmatch(r"(\d+(\s*,\s*\d+)*)?", chosen["gpus"]):
        raise click.UsageError(f"--gpus takes indices with commas between them, not `{chosen['gpus']}`")
    _refuse_over_nodes(chosen)
    if chosen["pid"]:
        from doctor.monitors.sampler.sampling import alive

        if not alive(chosen["pid"]):
            raise click.UsageError(f"no process {chosen['pid']} is running here")


def _refuse_over_nodes(chosen: dict[str, Any]) -> None:
    wide = "--ray" if chosen["address"] else "--collect" if chosen["collect"] else None
    if chosen["address"] and chosen["collect"]:
        raise click.UsageError("--ray already writes the figures of all nodes: leave out --collect")
    if chosen["python"] and not chosen["address"]:
        raise click.UsageError("--python names the interpreter that has Ray: it needs --ray")
    for name in ("csv", "prometheus", "pid"):
        if wide and chosen[name]:
            raise click.UsageError(f"{wide} samples several machines: leave out --{name}")


def _exporter(chosen: dict[str, Any]) -> str | None:
    """Our own page is no source: where it takes the exporter's usual place, that place is not asked."""
    given: str | None = chosen["dcgm"]
    if given is None and chosen["prometheus"] and chosen["prometheus"].endswith("9400"):
        return "none"
    return given


def _during(words: tuple[str, ...], chosen: dict[str, Any], wishes: Any) -> int:
    from doctor.monitors.sampler import start
    from doctor.run.disk import identity
    from doctor.run.guard_stop import exit_code
    from doctor.run.supervise import answers, supervise

    begin = _beginning(words, chosen)
    with _page(chosen) as (open_page, _):
        try:
            run = new_run(Path(words[0]).name, options.spoken())
        except OSError as exc:
            options.notice(
                f"doctor: no run folder can be created ({exc.strerror}): the command runs without the doctor"
            )
            return bare(words)
        options.notice(f"doctor: sampling into {short(run.path)}")
        started: list[Any] = []

        def on_start(pid: int) -> None:
            started.append(begin(run, wishes, pid))
            open_page(run, wishes.csv)

        capture, language, folder = not chosen["no_capture"], options.spoken(), identity(run)
        began_ns = time.time_ns()
        code = supervise(words, run, capture=capture, on_start=on_start, language=language)
        if answers(run):
            code = exit_code(run, code, wanted=chosen["stopped_exit"], since_ns=began_ns)
        for each in started:
            start.end(each, start.END_OF_ALL_S if chosen["address"] else start.END_S)
    # neither the doctor's own failure nor an impatient Ctrl-C changes the code of the command
    with suppress(Exception, KeyboardInterrupt):
        if say_lost(run, folder):
            return code
        if answers(run):
            _say_gpu(run)
            summary(run, wishes.csv)
    return code


def _beginning(words: tuple[str, ...], chosen: dict[str, Any]) -> Any:
    """How the sampling is started: (run, wishes, process id to end with) -> process."""
    from doctor.monitors.sampler import start

    if not chosen["address"]:
        return start.start
    from doctor.base.fact import Context
    from doctor.cluster.ray_child import RayRefused, interpreter_with_ray

    try:
        python = interpreter_with_ray(Context(words, Path.cwd(), dict(os.environ), chosen["python"]))
    except RayRefused as exc:
        raise click.UsageError(f"--ray: {exc}") from None
    return lambda run, wishes, pid: start.start_over_ray(run, wishes, chosen["address"], python, pid)


def _attached(chosen: dict[str, Any], wishes: Any) -> int:
    from doctor.monitors.sampler import start

    begin = _beginning((), chosen)
    with _page(chosen) as (open_page, _):
        run = new_run("monitor", options.spoken())
        sampler = begin(run, wishes, chosen["pid"])
        try:
            open_page(run, wishes.csv)
            if chosen["no_live"] or not sys.stdout.isatty():
                options.notice(f"doctor: sampling into {short(run.path)}; Ctrl-C ends it")
                wait(sampler)
            else:
                _live(run, wishes.csv, sampler, wide=bool(chosen["address"]))
        finally:
            start.end(sampler, start.END_OF_ALL_S if chosen["address"] else start.END_S)
    _say_gpu(run)
    summary(run, wishes.csv)
    return 0


@contextmanager
def _page(chosen: dict[str, Any]) -> Iterator[tuple[Any, list[Any]]]:
    """A function that opens the Prometheus page of a run, once the address has been found good."""
    servers: list[Any] = []
    place: tuple[str, int] | None = None
    if chosen["prometheus"]:
        from importlib.util import find_spec

        from doctor.monitors.sampler.prometheus import address

        try:
            place = address(chosen["prometheus"])
        except ValueError as exc:
            raise click.UsageError(f"--prometheus: {exc}") from None
        if find_spec("prometheus_client") is None:
            pip = f"{shlex.quote(sys.executable)} -m pip install prometheus_client"
            raise click.UsageError(f"--prometheus needs prometheus_client: {pip}")

    def open_page(run: Any, csv: Path | None) -> None:
        if place is not None:
            _serve(run, csv, place, servers)

    try:
        yield open_page, servers
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _serve(run: Any, csv: Path | None, place: tuple[str, int], servers: list[Any]) -> None:
    from doctor.monitors.sampler.latest import Latest
    from doctor.monitors.sampler.prometheus import serve

    # a thread takes over the signal mask of the one that starts it: signals are for the main thread alone
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        server = serve(Latest(run, csv), *place)
        servers.append(server)
        options.notice(f"doctor: figures at http://{place[0]}:{server.server_port}/metrics")
    except OSError as exc:
        options.notice(f"doctor: cannot serve at {place[0]}:{place[1]}: {exc.strerror}")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live(run: Any, csv: Path | None, sampler: Any, *, wide: bool) -> None:
    from rich.live import Live

    from doctor.render.console import rich_console_for

    language = options.spoken()
    drawn = Live(console=rich_console_for(sys.stdout), auto_refresh=False)
    with (
        suppress(KeyboardInterrupt),
        _keys() as pressed,
        drawn as screen,
        closing(_table(run, csv, language, wide=wide)) as table,
    ):
        next(table)
        while sampler.poll() is None:
            screen.update(table.send(drawn.console.size.height), refresh=True)
            if pressed(_REDRAW_S) in {"q", "Q"}:
                break


def _table(run: Any, csv: Path | None, language: str, *, wide: bool) -> Generator[Any, int, None]:
    """The table as it stands, for a terminal of so many lines, of this machine or of all nodes."""
    from doctor.monitors.sampler.latest import Latest, LatestOfNodes
    from doctor.render.usage import live, live_nodes

    latest: Any = LatestOfNodes(run) if wide else Latest(run, csv)
    drawn: Any = None
    try:
        while True:
            lines = yield drawn
            latest.read()
            if wide:
                drawn = live_nodes(latest, short(run.path), lines, language)
            else:
                drawn = live(latest, short(run.path), None if latest.gpus else latest.why_no_gpu(), language)
    finally:
        latest.close()


@contextmanager
def _keys() -> Iterator[Any]:
    """A function that waits so many seconds for a key; without a keyboard it only waits."""
    if not sys.stdin.isatty():

        def wait(seconds: float) -> str:
            time.sleep(seconds)
            return ""

        yield wait
        return
    import select
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)

    def key(seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    try:
        tty.setcbreak(sys.stdin)
        yield key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _say_gpu(run: Any) -> None:
    from doctor.monitors.sampler.latest import Latest

    why = Latest(run).why_no_gpu()
    if why is not None:
        options.notice(f"doctor: no GPU sampled, figures of the host only: {why}")
