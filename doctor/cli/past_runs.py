"""`doctor runs`, `doctor compare` and `doctor last`: the runs of this folder, beside each other."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from doctor.base.json_text import json_text
from doctor.cli import options
from doctor.run.folder import RUNS

WORDS = {
    "en": {
        "name": "run", "state": "verdict", "seconds": "time", "best": "best metric", "argv": "command",
        "good": "good", "failed": "failed", "stopped": "stopped by the guard", "running": "running",
        "unknown": "not finished", "none": "No runs in `{base}`. `doctor run -- COMMAND` creates one.",
        "at": "{name} {value:.4g} at step {step}", "more": "{count} more: `doctor runs --all`",
        "command": "command", "configuration": "configuration", "code": "code", "data": "data",
        "environment": "environment", "machine": "machine", "same": "No recorded part differs.",
        "departed": "Metrics that depart",
        "from": "from step {step}: {old:.4g} → {new:.4g}, at the end {last_old:.4g} → {last_new:.4g}",
        "alike": "{count} metrics in common; none differs by more than its own variation.",
        "no_metrics": "No metrics in common.", "not_known": "Not compared: {what} ({why})",
        "usage": "GPUs and phases: doctor report --compare {old} {new}",
        "no_good": "No earlier run of `{script}` in `{base}` succeeded: there is no run to compare with.",
    },
    "zh": {
        "name": "运行", "state": "结论", "seconds": "时长", "best": "最佳指标", "argv": "命令",
        "good": "正常", "failed": "失败", "stopped": "被 guard 停止", "running": "运行中", "unknown": "未结束",
        "none": "`{base}` 中没有运行。用 `doctor run -- COMMAND` 启动一次。",
        "at": "{name} {value:.4g}(第 {step} 步)", "more": "另有 {count} 次:`doctor runs --all`",
        "command": "命令", "configuration": "配置", "code": "代码", "data": "数据", "environment": "环境",
        "machine": "机器", "same": "保存的内容没有差异。", "departed": "出现分歧的指标",
        "from": "从第 {step} 步起:{old:.4g} → {new:.4g},最后 {last_old:.4g} → {last_new:.4g}",
        "alike": "共有 {count} 个指标,差异都不超过其自身波动。", "no_metrics": "没有共同的指标。",
        "not_known": "未比较:{what}({why})", "usage": "GPU 与各阶段的差异:doctor report --compare {old} {new}",
        "no_good": "`{base}` 中没有更早且正常结束的 `{script}` 运行:没有可比较的对象。",
    },
}  # fmt: skip

_MOST_SHOWN = 20
_FORM = click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
_LANG = click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")


def _language(lang: str | None) -> str:
    return options.language(lang, options.user_settings(Path.cwd(), ()))


def _words(lang: str | None) -> dict[str, str]:
    return WORDS[_language(lang)]


@click.command()
@click.argument("base", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--all", "everything", is_flag=True, help=f"Show all runs, not only the latest {_MOST_SHOWN}.")
@_FORM
@_LANG
def runs(base: Path | None, everything: bool, form: str, lang: str | None) -> int:
    """List the runs of a folder (default: doctor-runs): verdict, time, best metric, command; the latest first."""
    from itertools import islice

    from doctor.logs.history.runs import folders, read

    words, base = _words(lang), base or Path(RUNS)
    paths = list(folders(base))
    found = [read(each) for each in islice(paths, None if everything else _MOST_SHOWN)]
    if form == "json":
        click.echo(json_text({"schema": "doctor-runs/1", "runs": [each.as_data() for each in found]}, indent=2))
        return 0
    if not found:
        click.echo(words["none"].format(base=base))
        return 0
    from doctor.render.console import console_for
    from doctor.render.runs import draw_runs
    from doctor.render.usage_report import duration

    rows = [
        (
            each.name,
            " · ".join(part for part in (words[each.state], each.verdict) if part),
            "·" if each.seconds is None else duration(each.seconds),
            "·" if each.best is None else words["at"].format(**each.best.as_data()),
            shlex.join(each.argv),
        )
        for each in found
    ]  # fmt: skip
    draw_runs(
        rows, tuple(words[each] for each in ("name", "state", "seconds", "best", "argv")), console_for(sys.stdout)
    )
    if len(paths) > len(found):
        click.echo(words["more"].format(count=len(paths) - len(found)))
    return 0


@click.command()
@click.argument("paths", nargs=-1, metavar="RUN [RUN]", type=click.Path(path_type=Path))
@click.option("--last-good", is_flag=True, help="Compare with the last good run of the same script.")
@_FORM
@_LANG
def compare(paths: tuple[Path, ...], last_good: bool, form: str, lang: str | None) -> int:
    """Show what differs between two runs: command, configuration, code, data, environment, machine, metrics.

    A RUN is a run folder, its name in doctor-runs, or `last`. Exit code 1 when they differ.

    \b
    doctor compare 20260301T101500Z-python 20260302T091000Z-python
    doctor compare last --last-good
    """
    from doctor.logs.history import runs as past
    from doctor.logs.history.compared import compare as compared

    words = _words(lang)
    if len(paths) != (1 if last_good else 2) and not (last_good and not paths):
        raise click.UsageError("give two runs, or one (or none: the last) with --last-good")
    folders = [folder_of(each) for each in paths or (Path("last"),)]
    if last_good:
        good = past.last_good(folders[0])
        if good is None:
            script = past.script_of(past.read(folders[0], with_metrics=False).argv)
            raise click.UsageError(words["no_good"].format(script=script, base=folders[0].parent))
        folders.insert(0, good)
    found = compared(*folders)
    if form == "json":
        click.echo(json_text({"schema": "doctor-runs-compared/1", **found.as_data()}, indent=2))
    else:
        from doctor.catalogue.reasons import translated
        from doctor.render.console import console_for
        from doctor.render.runs import draw_compared

        data, language = found.as_data(), _language(lang)
        data["unknown"] = {part: translated(why, language) for part, why in data["unknown"].items()}
        draw_compared(data, words, console_for(sys.stdout))
        click.echo(words["usage"].format(old=_short(folders[0]), new=_short(folders[1])))
    return 1 if found.changes or found.departed else 0


@click.command()
@click.argument("base", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@_LANG
@click.pass_context
def last(ctx: click.Context, /, base: Path | None, **chosen: Any) -> int:
    """Show the verdict of the last run, as `doctor report` shows it."""
    from doctor.cli.report import command
    from doctor.logs.history.runs import last as latest

    base = base or Path(RUNS)
    path = latest(base)
    if path is None:
        raise click.UsageError(f"no runs in `{base}`: `doctor run -- COMMAND` creates one")
    return int(ctx.invoke(command, paths=(path,), **chosen) or 0)


def folder_of(path: Path) -> Path:
    """The run folder that is meant.

    Raises:
        click.UsageError: there is none.

    """
    from doctor.logs.history.runs import is_run
    from doctor.logs.history.runs import last as latest

    if str(path) == "last":
        found = latest(Path(RUNS))
        if found is None:
            raise click.UsageError(f"no runs in `{RUNS}`: `doctor run -- COMMAND` creates one")
        return found.resolve()
    for each in (path, Path(RUNS) / path):
        if is_run(each):
            return each.resolve()
    raise click.UsageError(f"`{path}` is not a run folder")


def _short(path: Path) -> str:
    from doctor.cli.runs import short

    return shlex.quote(short(path))
