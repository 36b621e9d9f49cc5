"""`doctor checkpoint`: the last complete checkpoint of a folder, and what a resume from it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from doctor.base.json_text import json_text
from doctor.cli import options

_WORDS = {
    "en": {
        "none": "No checkpoint in `{folder}`.", "last": "Last complete checkpoint: {folder}",
        "no_whole": "No complete checkpoint in `{folder}`.", "step": "step", "folder": "folder", "kind": "kind",
        "files": "files", "state": "state", "whole": "complete", "have": "Found for a resume",
        "lacks": "Missing for a resume", "command": "Resume with",
    },
    "zh": {
        "none": "`{folder}` 中没有检查点。", "last": "最后一个完整的检查点:{folder}",
        "no_whole": "`{folder}` 中没有完整的检查点。", "step": "步", "folder": "目录", "kind": "类型", "files": "文件",
        "state": "状态", "whole": "完整", "have": "恢复训练所需且已有", "lacks": "恢复训练所需但缺少",
        "command": "恢复方式",
    },
}  # fmt: skip


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(folder: Path, form: str, lang: str | None) -> int:
    """Name the last complete checkpoint below a folder: shards counted, headers read, what a resume needs.

    Exit code 1 if there is none. Nothing is loaded: only names, sizes and headers are read.

    \b
    doctor checkpoint outputs/
    doctor checkpoint outputs/checkpoint-400 --format json
    """
    from doctor.logs.history.resume import look

    words = _WORDS[options.language(lang, options.user_settings(Path.cwd(), ()))]
    found = look(folder)
    best = next((each for each in found if each.whole), None)
    if form == "json":
        data = {"schema": "doctor-checkpoints/1", "last_complete": None if best is None else best.folder,
                "checkpoints": [each.as_data() for each in found]}  # fmt: skip
        click.echo(json_text(data, indent=2))
        return 0 if best else 1
    if not found:
        click.echo(words["none"].format(folder=folder))
        return 1
    from doctor.render.console import console_for, draw_table

    name = "last" if best else "no_whole"
    click.echo(words[name].format(folder=best.folder if best else folder))
    if best is not None:
        have = ", ".join(name for name, there in best.needs.items() if there)
        lacks = ", ".join(name for name, there in best.needs.items() if not there)
        for head, names in (("have", have), ("lacks", lacks)):
            if names:
                click.echo(f"{words[head]}: {names}")
        click.echo(f"{words['command']}: {best.how}")
    click.echo()
    rows = [
        ("·" if each.step is None else str(each.step), each.folder, each.kind, str(each.files),
         words["whole"] if each.whole else "; ".join(each.problems))
        for each in found
    ]  # fmt: skip
    heads = (words["step"], words["folder"], words["kind"], words["files"], words["state"])
    draw_table(rows, heads, console_for(sys.stdout))
    return 0 if best else 1
