"""`doctor hang`: who waits for whom in a run that stands still."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.json_text import json_text
from doctor.cli import options
from doctor.cli.outputs import Output


@click.command()
@click.argument("target", metavar="RUN|PID")
@click.option("--html", "page", metavar="FILE", type=Output(), help="Write a page with the graph and all stacks.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(target: str, page: Path | None, form: str, lang: str | None) -> int:
    """Show where every process of a stalled run is, and which process waits for which.

    It covers the ranks, Ray's actors, engines, servers and data loader workers on this machine. Processes that
    `doctor run` started report their own stacks; py-spy reads the others, pausing each briefly. Nothing is ended.
    The result is kept in the run folder, where `doctor postmortem` reads it. Exit codes: 0 inspected, 2 usage.

    \b
    doctor hang doctor-runs/20260301T101500Z-accelerate
    doctor hang 4711 --html hang.html
    """
    from doctor.hang import told
    from doctor.hang.kept import keep, stamp
    from doctor.hang.look import look
    from doctor.mend.processes.table import everybody

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    found, run = _members(target, everybody())
    to = stamp()
    hang = look(found, run, to)
    data = told.as_data(hang)
    if run is not None:
        try:
            keep(hang, run, to)
        except OSError as exc:
            click.echo(f"the result is not saved: {exc.strerror}", err=True)
    waits = {id(raw): each for raw, each in zip(data["waits"], hang.graph.waits, strict=True)}

    def edge(raw: Any) -> str:
        return told.wait_text(waits[id(raw)], hang, language)

    def does(raw: Any) -> str:
        return told.does_of(hang.nodes.get(raw["pid"]), language)

    if page is not None:
        from doctor.base.whole_file import write_whole
        from doctor.render import hang as drawn

        write_whole(page, drawn.page(data, language, edge, does))
    if form == "json":
        click.echo(json_text(data, indent=2))
    else:
        _draw(data, language, edge, does)
    return 0


def _draw(data: Any, language: str, edge: Any, does: Any) -> None:
    from doctor.render.console import console_for
    from doctor.render.hang import draw

    draw(data, console_for(sys.stdout), language, edge, does)


def _members(target: str, processes: Any) -> tuple[list[Any], Path | None]:
    """Processes of what was named, and its run folder."""
    from doctor.hang import members

    if target.isdecimal() and not Path(target).is_dir():
        pid = int(target)
        if pid not in processes:
            raise click.UsageError(f"there is no process {pid}")
        run = members.run_of(pid, processes)
        return members.of_process(pid, processes), run
    if not Path(target).is_dir():
        raise click.UsageError(f"`{target}` is neither a run folder nor a process")
    found = members.of_folder(Path(target), processes)
    if not found:
        raise click.UsageError(f"no process of the run in `{target}` is left on this machine")
    return found, Path(target)
