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
        "comma": ", ", "colon": ": ", "semicolon": "; ", "or": ", or ",
    },
    "zh": {
        "none": "`{folder}` 中没有检查点。", "last": "最后一个完整的检查点:{folder}",
        "no_whole": "`{folder}` 中没有完整的检查点。", "step": "步", "folder": "目录", "kind": "类型", "files": "文件",
        "state": "状态", "whole": "完整", "have": "恢复训练所需且已有", "lacks": "恢复训练所需但缺少",
        "command": "恢复方式", "comma": "、", "colon": ":", "semicolon": ";", "or": ",或 ",
    },
}  # fmt: skip
#: what the files of a checkpoint are, in Chinese
_PARTS = {
    "optimizer": "优化器", "scheduler": "学习率调度器", "random state": "随机状态",
    "step and random state": "步数与随机状态", "weights": "权重", "adapter": "适配器", "rank-shards": "按 rank 的分片",
    "zero": "ZeRO 分片", "sharded-state": "分片的 state dict",
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

    language = options.language(lang, options.user_settings(Path.cwd(), ()))
    words, parts = _WORDS[language], _PARTS if language == "zh" else {}
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
    from doctor.catalogue.reasons import translated
    from doctor.render.console import console_for, draw_table

    name = "last" if best else "no_whole"
    click.echo(words[name].format(folder=best.folder if best else folder))
    if best is not None:
        have = words["comma"].join(parts.get(name, name) for name, there in best.needs.items() if there)
        lacks = words["comma"].join(parts.get(name, name) for name, there in best.needs.items() if not there)
        for head, names in (("have", have), ("lacks", lacks)):
            if names:
                click.echo(words[head] + words["colon"] + names)
        click.echo(words["command"] + words["colon"] + best.how.replace(", or ", words["or"]))
    click.echo()
    rows = [
        ("·" if each.step is None else str(each.step), each.folder, parts.get(each.kind, each.kind), str(each.files),
         words["whole"] if each.whole else words["semicolon"].join(translated(why, language) for why in each.problems))
        for each in found
    ]  # fmt: skip
    heads = (words["step"], words["folder"], words["kind"], words["files"], words["state"])
    draw_table(rows, heads, console_for(sys.stdout))
    return 0 if best else 1
