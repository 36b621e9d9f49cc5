"""`doctor explain`: the manual of a problem, from its file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.json_text import json_text
from doctor.cli import options
from doctor.cli.app import USAGE

#: what a post-mortem says of a file in which nothing is recognised
_NO_RUN = "UNK003"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="ID|NAME|ERROR TEXT")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text", show_default=True)
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language of the manual (default: from the locale).")
def command(words: tuple[str, ...], form: str, lang: str | None) -> int:
    """Print the manual of a problem, by id (VLL001) or name (api-server-engine-client), or find it by an error text.

    A text of several words is matched against all problems, as a log would be; - reads it from standard input.

    \b
    doctor explain VLL001
    doctor explain generation-batch-unfit --format markdown
    doctor explain VLL001 --lang zh
    doctor explain "RuntimeError: CUDA error: device-side assert triggered"
    """
    problem = sys.stdin.read() if words == ("-",) else " ".join(words)
    from doctor.catalogue.index import load
    from doctor.catalogue.manual import manual
    from doctor.catalogue.retired_ids import successor

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    entries = load()
    entry = named(entries, successor(problem) or problem)
    if entry is None and len(problem.split()) > 1:
        return _of_text(problem, form, language)
    if entry is None:
        _say_unknown(problem, entries)
        return USAGE
    text = _in_chinese(entry) if language == "zh" else None
    head = _head(entry, None if text else manual(entry).title)
    text = text or manual(entry)
    if form == "json":
        data = {
            "id": entry.id, "name": entry.name, "severity": entry.severity.value, "since": entry.since,
            "affects": dict(entry.affects), "ends_run": entry.ends_run, "title": text.title, "sections": text.sections,
            **({"rows": list(entry.rows)} if entry.rows else {}),
        }  # fmt: skip
        click.echo(json_text(data, indent=2))
        return 0
    body = head + "".join(f"\n## {name}\n\n{section}\n" for name, section in text.sections.items())
    body += _rows([each for each in entries if each.id in entry.rows], language)
    if form == "text" and sys.stdout.isatty():
        from doctor.render.console import console_for, draw_markdown

        draw_markdown(body, console_for(sys.stdout))
    else:
        click.echo(body, nl=False)
    return 0


def _of_text(text: str, form: str, language: str) -> int:
    """What is found in a pasted text, as a post-mortem says it; 1 where it is no known problem."""
    from doctor.base.scratch import Folder
    from doctor.logs.postmortem import examine

    folder = Folder("pasted")
    path = Path(folder.name) / "text"
    path.write_text(f"{text.strip()}\n", "utf-8", errors="replace")  # of bytes that are no UTF-8
    done = examine((str(path),), language=language)
    report = options.report_of(done.diagnosis, language)
    report = json.loads(json_text(report).replace(json.dumps(str(path))[1:-1], "text"))
    if form == "text" and {each["id"] for each in report["findings"]} == {_NO_RUN}:
        options.notice("No known problem has this text. A whole log shows more: `doctor postmortem LOG`.")
        return 1
    options.show_report(report, form, None, language, verbose=False)
    return 0 if report["verdict"] == "known" else 1


def named(entries: Any, name: str) -> Any:
    """The problem, or the row of a table, of an id or a name; None where there is none."""
    plain, _, row = name.partition("/")
    wanted = f"{plain.upper()}/{row.lower()}" if row else plain.upper()
    by_id = (each for each in entries if each.id == wanted)
    by_name = (each for each in entries if each.name == name and not each.is_row)
    return next(by_id, None) or next(by_name, None)


def _rows(rows: Any, language: str) -> str:
    """What a table holds: each row is explained by its own id."""
    if not rows:
        return ""
    heading = "包括(每项都可用 `doctor explain ID/名称` 查看)" if language == "zh" else "What it covers"
    titled = _title_zh if language == "zh" else _title
    told = "".join(f"- `{each.id}`: {titled(each)}\n" for each in rows)
    return f"\n## {heading}\n\n{told}"


def _title(entry: Any) -> Any:
    return entry.title


def _title_zh(entry: Any) -> Any:
    from doctor.catalogue.manual_zh import title_zh

    return title_zh(entry) or entry.title


def _in_chinese(entry: Any) -> Any:
    from doctor.catalogue.manual_zh import manual_zh

    return manual_zh(entry)


def _head(entry: Any, title: str | None) -> str:
    """Id, severity and releases; in English with its title, in Chinese (no title) with how it is found."""
    affects = ", ".join(f"{name} {spec}" for name, spec in entry.affects.items())
    if title is not None:
        head = f"# {entry.id} {entry.name}\n\n{title}.\n\nSeverity: {entry.severity.value}."
        return head + (f" Affects: {affects}.\n" if affects else "\n")
    from doctor.catalogue.manual_zh import SEVERITIES, found_by

    head = f"# {entry.id} {entry.name}\n\n严重程度:{SEVERITIES[entry.severity.value]}。检测方式:{found_by(entry)}。"
    return head + (f"涉及版本:{affects}。\n" if affects else "\n")


def _say_unknown(problem: str, entries: Any) -> None:
    from difflib import get_close_matches

    names = {name.lower(): name for each in entries for name in (each.name, each.id)}
    near = [names[each] for each in get_close_matches(problem.lower(), names, n=3)]
    hint = f" Near it: {', '.join(near)}." if near else ""
    if os.path.exists(problem):  # noqa: PTH110 - a name too long for a path is none, where Path raises
        options.notice(f"There is no problem `{problem}`. It is a path: `doctor postmortem {problem}` reads it.")
        return
    options.notice(f"There is no problem `{problem}`.{hint} `doctor list` shows them all.")
