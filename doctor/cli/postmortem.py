"""`doctor postmortem`: why a run died, from its logs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from doctor.cli import options
from doctor.cli.outputs import Output
from doctor.cli.working import WORKING, working

_POLL_S = 2.0
_REST_TIMES = 9  # what is read anew takes at most a tenth of the time


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--context", multiple=True, metavar="FILE", type=click.Path(exists=True, path_type=Path),
    help="Environment report, saved facts, configuration or launch command of the run.",
)  # fmt: skip
@click.option(
    "--run",
    "run_dir",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="A run folder of `doctor run`.",
)
@click.option(
    "--capsule", "capsules", multiple=True, metavar="FILE", type=click.Path(exists=True, dir_okay=False),
    help="State of a process at its failure, as kept by `doctor run` in the run folder's `capsules`; alone or with "
    "logs.",
)  # fmt: skip
@click.option(
    "--follow",
    is_flag=True,
    help="Examine again while the logs grow; stop with Ctrl-C. Only a complete log shows what came first, so grown "
    "logs are read from the beginning, in at most a tenth of the time: a log of 1 GB every minute or so.",
)
@click.option("--html", "page", metavar="FILE", type=Output(), help="Also write an HTML page.")
@click.option("--metrics-csv", metavar="FILE", type=Output(), help="Write the metrics found in the logs.")
@click.option(
    "--bundle",
    metavar="FILE",
    type=Output(),
    help="Write the report and the relevant log parts, redacted (.tar.gz); of more than 500 logs, or 48 MB of parts, "
    "those that matter most.",
)
@click.option(
    "--ray", metavar="auto|ADDRESS",
    help="Let the nodes of a running Ray cluster read the logs, if the logs are on a file system that they share.",
)  # fmt: skip
@click.option(
    "--price", metavar="MONEY", type=click.FloatRange(min=0),
    help="Cost of a GPU per hour, to report the cost of rollouts without a learning signal.",
)  # fmt: skip
@click.option("--python", metavar="PATH", help="With --ray: the interpreter, venv or conda prefix that has Ray.")
@options.ignore
@options.strict
@options.report
def command(paths: tuple[str, ...], **chosen: Any) -> int:
    """Report what went wrong first, on which rank, why, and what to type.

    PATH is a log, a folder, a glob, or - for standard input; .gz, .zst and .xz are read as they are, archives of
    logs (.zip, .tar, .tar.gz) as folders.

    \b
    doctor postmortem train.log
    doctor postmortem logs/ --context environment.txt --context zero3.yaml
    srun ... 2>&1 | tee train.log; doctor postmortem train.log --html report.html
    doctor postmortem /shared/logs/run-7 --ray auto
    """
    paths = paths or ((chosen["run_dir"],) if chosen["run_dir"] else ())
    if not paths and not chosen["capsules"]:
        msg = "give at least one log, a folder of logs, a capsule, or - for standard input"
        raise click.UsageError(msg)
    _refuse_wrong_pairs(paths, chosen)
    chosen["format"] = options.form_of(chosen)
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    if chosen["follow"]:
        return _follow(paths, chosen, settings, language)
    result = _examined(paths, chosen, settings, language)
    report = options.report_of(result.diagnosis, language)
    if len(paths) == 1:
        _add_run(Path(paths[0]), report)
    options.show_report(report, chosen["format"], chosen["output"], language, verbose=chosen["verbose"])
    _extras(result, report, paths, chosen, language)
    _remember(report)
    return int(result.diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict))


def _add_run(path: Path, report: dict[str, Any]) -> None:
    """What a run folder tells beside its findings: what changed since the last good run, how it was started."""
    from doctor.logs.history.runs import is_run

    if is_run(path):
        from doctor.monitors.usage.whole import run_of

        report["run"] = run_of(path.resolve(), report, len(report["findings"]))


def _refuse_wrong_pairs(paths: tuple[str, ...], chosen: dict[str, Any]) -> None:
    """Options that cannot go together."""
    if chosen["python"] is not None and chosen["ray"] is None:
        msg = "--python names the interpreter for --ray, which is not given"
        raise click.UsageError(msg)
    if chosen["ray"] is None:
        return
    if not chosen["ray"].strip():
        msg = "--ray is empty (an unset variable?): give `auto` or host:port"
        raise click.UsageError(msg)
    if chosen["follow"] or "-" in paths:
        msg = "--ray reads files that the nodes share, once: it cannot be combined with --follow or standard input"
        raise click.UsageError(msg)


@contextmanager
def _cluster(chosen: dict[str, Any]) -> Iterator[Any]:
    """Who reads the logs over Ray; None where it is this machine."""
    if chosen["ray"] is None:
        yield None
        return
    import os

    from doctor.base.fact import Context
    from doctor.cli.check import refuse_wrong_python
    from doctor.cluster.ray_child import RayRefused, interpreter_with_ray
    from doctor.cluster.ray_logs import RayLogs

    context = Context(environ=dict(os.environ), python=chosen["python"])
    refuse_wrong_python(context)
    try:
        yield RayLogs(chosen["ray"], interpreter_with_ray(context))
    except RayRefused as exc:
        msg = f"--ray: {exc}"
        raise click.UsageError(msg) from None


def _examined(
    paths: tuple[str, ...], chosen: dict[str, Any], settings: Any, language: str, prepared: Any = None
) -> Any:
    from doctor.logs.gathered import LogNotReadable
    from doctor.logs.postmortem import examine
    from doctor.logs.read.layouts import NoLogs
    from doctor.readers.saved import NotFacts

    try:
        doing = WORKING[language]["reading_more" if len(paths) > 1 else "reading"]
        what = doing.format(what=paths[0] if paths else "", more=len(paths) - 1)
        with working(what), _cluster(chosen) as nodes, _table(chosen) as table:
            result = examine(
                paths, context=_context(chosen), ignored=settings.ignored, language=language,
                run_dir=chosen["run_dir"], prepared=prepared, table=table, work=nodes,
                capsule_files=_whole(chosen["capsules"]), price=chosen["price"],
            )  # fmt: skip
        for note in nodes.notes if nodes is not None else ():
            options.notice(f"--ray: {note}")
    except (NoLogs, LogNotReadable, NotFacts, OSError) as exc:
        raise click.UsageError(str(exc)) from None
    return result


def _whole(files: tuple[str, ...]) -> tuple[str, ...]:
    """The capsules that were named, each of which can be read."""
    from doctor.logs.capsules.read import load

    for file in files:
        try:
            load(Path(file))
        except (OSError, ValueError) as error:
            msg = f"--capsule `{file}`: {error}"
            raise click.UsageError(msg) from None
    return files


@contextmanager
def _table(chosen: dict[str, Any]) -> Iterator[Any]:
    """The CSV that the metrics are written to, None where nobody asked for it.

    A disk that fills up costs the rest of that file alone: `_extras` tells it when the diagnosis is shown.
    """
    from doctor.logs.metrics.files import MetricsCsv

    path: Path | None = chosen["metrics_csv"]
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as exc:
        msg = f"cannot write `{path}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    kept = _Kept(file)
    try:
        yield MetricsCsv(kept)
    finally:
        kept.close()
        chosen["metrics_lost"] = kept.error


class _Kept:
    """A file whose first error ends the writing and nothing else."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, unless writing has failed before."""
        if self.error is None:
            try:
                self._file.write(text)
            except OSError as exc:
                self.error = exc
        return len(text)

    def close(self) -> None:
        """Write what is held back, and close."""
        try:
            self._file.close()
        except OSError as exc:
            self.error = self.error or exc


def _context(chosen: dict[str, Any]) -> tuple[Path, ...]:
    """What was given, and what a run folder holds: facts and the command."""
    context: tuple[Path, ...] = chosen["context"]
    if chosen["run_dir"]:
        from doctor.run.folder import context_of

        context += context_of(Path(chosen["run_dir"]))
    return context


def _extras(result: Any, report: dict[str, Any], paths: tuple[str, ...], chosen: dict[str, Any], language: str) -> None:
    """Write the page, the metrics and the bundle that were asked for."""
    from doctor.base.whole_file import write_whole

    try:
        if chosen["page"]:
            text = options.rendered(report, "html", language, verbose=chosen["verbose"])
            write_whole(chosen["page"], text)
            options.notice(f"written to {chosen['page']}")
        if chosen["metrics_csv"]:
            if chosen["metrics_lost"] is not None:
                lost = chosen["metrics_lost"]
                raise OSError(lost.errno, lost.strerror, str(chosen["metrics_csv"]))  # noqa: TRY301 - told below
            options.notice(f"written to {chosen['metrics_csv']}")
        if chosen["bundle"]:
            from doctor.logs.bundle import write

            left_out = write(result.case, report, chosen["bundle"], result.held, paths)
            if left_out:
                logs = len(result.case.sources)
                options.notice(f"written to {chosen['bundle']}, without {left_out} of {logs} logs (left-out.txt in it)")
            else:
                options.notice(f"written to {chosen['bundle']}")
    except OSError as exc:
        msg = f"cannot write `{exc.filename}`: {exc.strerror}"
        raise click.UsageError(msg) from None


def _follow(paths: tuple[str, ...], chosen: dict[str, Any], settings: Any, language: str) -> int:
    """Report anew whenever what is found changes, until interrupted; standard input is read to its end instead."""
    import time

    from doctor.logs.postmortem import prepare

    if "-" in paths:
        msg = "--follow watches files; standard input is read until it ends anyway"
        raise click.UsageError(msg)
    prepared = prepare()
    shown = seen = None
    while True:
        began = time.monotonic()
        sizes = _sizes(paths)
        if sizes != seen:
            seen = sizes
            result = _examined(paths, chosen, settings, language, prepared)
            findings = [(each.problem.id, each.role.value) for each in result.diagnosis.outcome.findings]
            # a log that still grows breaks off by nature
            if findings != shown and not (result.diagnosis.verdict == "unknown" and result.breaks_off):
                report = options.report_of(result.diagnosis, language)
                options.draw_report(report, chosen["format"], chosen["output"], language, verbose=chosen["verbose"])
                sys.stdout.flush()
                shown = findings
        time.sleep(max(_POLL_S, _REST_TIMES * (time.monotonic() - began)))


def _sizes(paths: tuple[str, ...]) -> dict[str, int]:
    """Size of every log at the paths; a file that is gone has none."""
    from doctor.logs.read.layouts import NoLogs, sources

    try:
        found = [Path(each.path) for each in sources(paths)]
    except NoLogs:
        found = [Path(each) for each in paths]
    return {str(path): path.stat().st_size for path in found if path.is_file()}


def _remember(report: dict[str, Any]) -> None:
    """Keep the last result for `doctor fix`; a read-only home costs only that."""
    from doctor.base.state import keep_last

    try:
        keep_last("postmortem", Path.cwd(), report)
    except OSError as exc:
        if sys.stderr.isatty():
            options.notice(f"the result could not be saved for `doctor fix`: {exc.strerror}")
