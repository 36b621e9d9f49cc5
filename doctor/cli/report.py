"""`doctor report`: what became of a run, and where its GPU hours went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.json_text import json_text
from doctor.cli import options
from doctor.cli.outputs import Output


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="RUN_FOLDER|CSV...", type=click.Path(path_type=Path))
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=Output(),
    help="Write a page with interactive plots.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option(
    "--compare",
    is_flag=True,
    help="Two runs side by side, by phase and GPU or node; significant changes come first.",
)
@click.option(
    "--lang", type=click.Choice(options.LANGUAGES), help="Language of the findings (default: from the locale)."
)
@click.option("-v", "--verbose", is_flag=True, help="List what was not judged, and why.")
@options.brief
@options.ignore
@options.strict
def command(paths: tuple[Path, ...], **chosen: Any) -> int:
    """Report how a run ended and where its GPU hours went, from a run folder or from CSV files.

    Also read: nvidia-smi --query-gpu=timestamp,... --format=csv, and nvidia-smi dmon.

    \b
    doctor report doctor-runs/20260301T101500Z-accelerate --html report.html
    doctor report gpu.csv --format json
    doctor report --compare run-a run-b --html changes.html
    """
    for path in paths:
        if not path.exists():
            raise click.UsageError(f"`{path}` does not exist")
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    short = options.form_of(chosen, "form") == "brief"
    if short and (chosen["compare"] or len(paths) > 1):
        raise click.UsageError("--brief is about one run")
    if chosen["compare"]:
        return _compare(paths, chosen, language)
    if chosen["page"] and len(paths) > 1:
        raise click.UsageError("--html writes the page of one run")
    reports: list[dict[str, Any]] = []
    codes = [_one(path, chosen, settings, language, reports) for path in paths]
    if chosen["form"] == "json":  # one document, however many runs
        told = reports[0] if len(reports) == 1 else {"schema": "doctor-reports/1", "reports": reports}
        click.echo(options.rendered(told, "brief", language, verbose=False) if short else json_text(told, indent=2))
    return max(codes)


def _load(path: Path) -> Any:
    from doctor.monitors.usage.blocks import NotUsage
    from doctor.monitors.usage.foreign_csv import load_any

    try:
        return load_any(path)
    except NotUsage as exc:
        raise click.UsageError(str(exc)) from None
    except OSError as exc:
        raise click.UsageError(f"cannot read `{path}`: {exc.strerror}") from None


def _one(path: Path, chosen: dict[str, Any], settings: Any, language: str, reports: list[dict[str, Any]]) -> int:
    """Report on one run; what is told as JSON goes to `reports`."""
    from doctor.logs.history.runs import is_run
    from doctor.monitors.usage.report import as_report, diagnose

    if is_run(path):
        return _run(path, chosen, settings, language, reports)
    usage = _load(path)
    run_dir = str(path) if path.is_dir() else None
    diagnosis, summary = diagnose(usage, run_dir=run_dir, language=language, ignored=settings.ignored)
    report = as_report(diagnosis, usage, summary, language)
    if chosen["page"]:  # first, as in `_run`
        _write_page(chosen["page"], report, usage, summary, language)
    if chosen["form"] == "json":
        reports.append(report)
    else:
        draw(report, language, sys.stdout, verbose=chosen["verbose"])
    return diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict)


def _run(path: Path, chosen: dict[str, Any], settings: Any, language: str, reports: list[dict[str, Any]]) -> int:
    """Report on a run folder: verdict, what happened, figures, in one."""
    from doctor.monitors.usage.blocks import NotUsage
    from doctor.monitors.usage.whole import whole_run

    try:
        whole = whole_run(path.resolve(), language=language, ignored=settings.ignored)
    except NotUsage as exc:
        raise click.UsageError(str(exc)) from None
    if chosen["page"]:  # first: who reads the text may hang up early (`| head`)
        from doctor.diagnosis.report import shortened
        from doctor.render import run_page
        from doctor.render.run_plots import plots_of

        _put(chosen["page"], run_page.render(shortened(whole.report, Path.cwd()), plots_of(whole), language))
    if chosen["form"] == "json":
        reports.append(whole.report)
    else:
        draw(whole.report, language, sys.stdout, verbose=chosen["verbose"])
    return whole.diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict)


def draw(report: dict[str, Any], language: str, stream: Any, *, verbose: bool = False) -> None:
    """The report on a terminal: figures, then what is wrong with them."""
    from doctor.diagnosis.report import shortened
    from doctor.render import console
    from doctor.render.usage_report import draw_usage

    screen = console.console_for(stream)
    if "run" not in report:
        draw_usage(report["usage"], screen, language)
    console.draw(shortened(report, Path.cwd()), screen, language=language, verbose=verbose)


def _write_page(path: Path, report: dict[str, Any], usage: Any, summary: Any, language: str) -> None:
    from doctor.render import html, usage_page
    from doctor.render.usage_plots import of_run

    page = usage_page.render(html.render(report, language), report["usage"], *of_run(usage, summary), language)
    _put(path, page)


def _put(path: Path, page: str) -> None:
    from doctor.base.whole_file import write_whole

    try:
        write_whole(path, page)
    except OSError as exc:
        raise click.UsageError(f"cannot write `{path}`: {exc.strerror}") from None
    options.notice(f"written to {path}")


def _compare(paths: tuple[Path, ...], chosen: dict[str, Any], language: str) -> int:
    if len(paths) != 2:
        raise click.UsageError("--compare takes two runs")
    from doctor.monitors.usage.compare import compare
    from doctor.monitors.usage.judged import summarise
    from doctor.monitors.usage.report import figures
    from doctor.render.console import console_for
    from doctor.render.usage_report import compared, draw_comparison

    usages = [_load(path) for path in paths]
    one, other = ((usage, summarise(usage)) for usage in usages)
    parts = [_as_row(each) for each in compare(one, other)]
    first, second = figures(*one), figures(*other)
    if chosen["form"] == "json":
        rows = [{"what": what, "first": one, "second": other} for what, one, other in compared(first, second)]
        changed = [each for each in parts if each["changed"]]
        told = {"files": [str(each) for each in paths], "changed": changed, "parts": parts, "rows": rows}
        click.echo(json_text({"schema": "doctor-compare/1", **told}, indent=2))
    else:
        from doctor.render import comparison

        screen, names = console_for(sys.stdout), _names(*paths)
        comparison.draw(parts, names, screen, language)
        screen.print()
        draw_comparison(first, second, screen, language)
    if chosen["page"]:
        _write_comparison(chosen["page"], parts, _names(*paths), language)
    return 0


def _names(first: Path, second: Path) -> tuple[str, str]:
    """What two runs are called side by side: the folder's own name rather than that of a link to it, as `last` is."""
    real = first.resolve(), second.resolve()
    if real[0].name != real[1].name:
        return real[0].name, real[1].name
    return str(first), str(second)


def _as_row(difference: Any) -> dict[str, Any]:
    kind, name = difference.part
    numbers = {
        key: None if (value := getattr(difference, key)) is None else round(value, 4)
        for key in ("first", "second", "noise")
    }
    return {"kind": kind, "name": name, "figure": difference.figure, **numbers, "changed": difference.changed}


def _write_comparison(path: Path, parts: list[dict[str, Any]], names: tuple[str, str], language: str) -> None:
    from doctor.render import comparison, html, usage_page

    style = usage_page.STYLE + comparison.STYLE
    _put(path, html.bare(comparison.page(parts, names, language), "doctor report --compare", style, language))
