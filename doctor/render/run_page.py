"""One page a run: the verdict first, then what happened, figures on one axis of time, and what the run was.

Self-contained: no request to anywhere; light, dark, on paper, and on a phone.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from doctor.catalogue.reasons import translated
from doctor.render import html, usage_page
from doctor.render.html import prose
from doctor.render.usage_page import Band, Lines, Moment
from doctor.render.usage_report import duration
from doctor.render.words import (
    PARTS,
    chain_of,
    counted,
    echoes_of,
    folded_reasons,
    judged_of,
    level_of,
    place_of,
    told_once,
    verdict_of,
)
from doctor.render.words import WORDS as COMMON

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "warned": "Said before the launch",
        "findings": "Findings", "chain": "What happened", "since": "What changed", "time": "Over time",
        "used": "How the machine was used", "inventory": "What trained", "witness": "Witness",
        "capsules": "What the processes held", "started": "Started", "took": "Took", "exit": "Exit code",
        "steps": "Last step", "host": "Host", "run": "Command and environment", "blind": "Not judged",
        "since_good": "Compared with {good}, the last good run of this script.",
        "nothing": "No recorded part differs.", "not_compared": "Not compared: {what}.",
        "before": "before", "after": "now", "what": "what", "metric": "metric", "from": "departs from step",
        "no_good": "This folder has no earlier good run of this script.",
        "time_hint": "One time axis for all plots. Drag to zoom, double-click to zoom out. Colours behind the lines "
        "are phases; dashed lines are findings and events.",
        "nobody": "The guard watched no trainer: metrics have no times and are drawn by step.",
        "rounds": "{count} rounds; all that they compared agreed or is reported above.", "off": "Off: {reason}.",
        "stopped": "stopped by the guard",
        "versions": "Versions", "variables": "Variables", "settings": "Settings", "code": "Code",
        "files": "Files of the command", "and_more": "and {count} more",
    },
    "zh": {
        "warned": "启动之前已指出",
        "findings": "发现", "chain": "事情经过", "since": "有何变化", "time": "随时间变化",
        "used": "机器的使用情况", "inventory": "实际训练的内容", "witness": "见证", "capsules": "各进程当时持有的内容",
        "started": "开始", "took": "用时", "exit": "退出码", "steps": "最后一步", "host": "主机",
        "run": "命令与环境", "blind": "未判断", "since_good": "与 {good}(该脚本最近一次正常的运行)比较。",
        "nothing": "保存的内容没有差异。", "not_compared": "未比较:{what}。", "before": "之前", "after": "现在",
        "what": "内容", "metric": "指标", "from": "出现分歧的步",
        "no_good": "旁边没有该脚本更早且正常的运行。",
        "time_hint": "所有图共用一条时间轴。拖动放大,双击还原。线后的颜色是阶段;虚线是发现与事件。",
        "nobody": "guard 没有监视任何 trainer:指标没有时间,按步绘制。",
        "rounds": "{count} 轮,比较结果一致或已在上文说明。", "off": "关闭:{reason}。",
        "stopped": "被 guard 停止",
        "versions": "版本", "variables": "环境变量", "settings": "设置", "code": "代码", "files": "命令中的文件",
        "and_more": "另有 {count} 项",
    },
}  # fmt: skip

Plots = tuple[Sequence[Lines], Sequence[Band], Sequence[Moment]]

_MOST_ROWS = 40
#: share of a run that its steps take, from which on all of it is shown first
_SMALL = 0.3

STYLE = """
main { max-width: 72rem; }
.top { border-radius: 14px; padding: 1.3rem 1.5rem 1.1rem; background: var(--card); border: 1px solid var(--line);
  border-top: 5px solid var(--info); }
.top.error { border-top-color: var(--error); } .top.warning { border-top-color: var(--warning); }
.top.good { border-top-color: var(--good); }
.top .name { font: .85rem ui-monospace, monospace; color: var(--soft); overflow-wrap: anywhere; }
.top .verdict { font-size: 1.35rem; line-height: 1.35; margin: .35rem 0 .5rem; }
.top .lead { font-size: 1.02rem; margin: 0 0 .9rem; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: .4rem 0 0; }
.facts div { min-width: 0; } .facts dt { font-size: .74rem; letter-spacing: .04em; color: var(--soft); }
.facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
nav.jump { display: flex; flex-wrap: wrap; gap: .3rem .45rem; margin: .9rem 0 0; }
nav.jump a { color: var(--soft); text-decoration: none; font-size: .84rem; border: 1px solid var(--line);
  border-radius: 99px; padding: .12rem .7rem; background: var(--card); }
nav.jump a:hover { color: var(--ink); border-color: var(--soft); }
section.part { margin-top: 2.2rem; scroll-margin-top: 1rem; }
section.part > h2 { font-size: 1.12rem; margin: 0 0 .7rem; padding-bottom: .35rem;
  border-bottom: 1px solid var(--line); }

.sheet + .sheet, .usage + .usage, .usage + p { margin-top: 1.1rem; }
.soft { color: var(--soft); font-size: .88rem; } .sheet { overflow-x: auto; }
.sheet table { border-collapse: collapse; width: 100%; }
.sheet th { text-align: left; font-size: .78rem; color: var(--soft); font-weight: 600; padding: .25rem 1rem .25rem 0; }
.sheet td { border-top: 1px solid var(--line); padding: .3rem 1rem .3rem 0; }
.sheet td:first-child { font-family: ui-monospace, monospace; font-size: .84rem; }
.sheet td:not(:first-child) { overflow-wrap: normal; }
.sheet td:first-child { overflow-wrap: break-word; }
.gone { color: var(--error); } .came { color: var(--good); }
pre.diff { max-height: 22rem; } pre.diff span { display: block; }
dl.pairs { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .15rem 1.2rem; margin: 0; }
dl.pairs dt { color: var(--soft); font-size: .88rem; } dl.pairs dd { margin: 0; overflow-wrap: anywhere; }
dl.pairs dd, dl.pairs dt { padding: .1rem 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.4rem 2.4rem; }
.columns h3 { font-size: .92rem; margin: 0 0 .4rem; }
@media (max-width: 36rem) { .top { padding: 1rem; } .top .verdict { font-size: 1.15rem; }
  dl.pairs { grid-template-columns: minmax(0, 45%) 1fr; } dl.pairs dt { overflow-wrap: anywhere; } }
@media print { nav.jump { display: none; } main { max-width: none; } .top, .time, .plot { break-inside: avoid; } }
"""


def render(report: Mapping[str, Any], plots: Plots, language: str = "en") -> str:
    """The page.

    Args:
        report: of a run folder, with `run` in it, redacted.
        plots: what is drawn over time (`doctor.render.run_plots`).
        language: `en` or `zh`.

    """
    words, common, run = WORDS[language], COMMON[language], report["run"]
    parts = [
        ("findings", _findings(report, common)), ("warned", _warned(run.get("warned", ()))),
        ("chain", _chain(report, common)),
        ("since", _since(run, words, language)), ("time", _time(report, plots, words, language)),
        ("used", usage_page.tables(report["usage"], language) if report.get("usage") else ""),
        ("inventory", _inventory(run.get("inventory", {}), words)),
        ("witness", _witness(run.get("witness", {}), words)),
        ("capsules", _capsules(run.get("capsules", ()))), ("run", _run(run, words)),
        ("blind", _blind(report, common)),
    ]  # fmt: skip
    kept = [(name, body) for name, body in parts if body]
    jump = "".join(f'<a href="#part-{name}">{escape(words[name])}</a>' for name, _ in kept)
    body = "\n".join(
        f'<section class="part" id="part-{name}"><h2>{escape(words[name])}</h2>\n{text}\n</section>'
        for name, text in kept
    )
    top = _top(report, words, common)
    return html.bare(
        f'{top}\n<nav class="jump">{jump}</nav>\n{body}', f"doctor · {run['name']}", usage_page.STYLE + STYLE, language
    )


def _top(report: Mapping[str, Any], words: Mapping[str, str], common: Mapping[str, str]) -> str:
    run, wrong = report["run"], [each for each in report["findings"] if each["severity"] != "info"]
    lead = f'<p class="lead">{prose(wrong[0]["headline"])}</p>' if wrong else ""
    facts = {
        "started": (run.get("started") or "").replace("T", " ").replace("Z", " UTC"),
        "took": None if run.get("seconds") is None else duration(run["seconds"]),
        "exit": _exit(run, words), "steps": run.get("guard", {}).get("last_step"), "host": run.get("host"),
        "best": None,
    }  # fmt: skip
    told = [(words[name], str(value)) for name, value in facts.items() if name in words and value not in (None, "")]
    if best := run.get("best"):
        told.append((best["name"], f"{best['value']:.4g}"))
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in told)
    judged = "".join(f'<p class="soft">{escape(line)}</p>' for line in judged_of(report, common))
    level = level_of(report)
    title = verdict_of(report, common) or common["healthy_figures"]
    return (
        f'<header class="top {level}"><div class="name">{escape(run["name"])}</div>'
        f'<p class="verdict {level}">{escape(title)}</p>{lead}{judged}<dl class="facts">{cells}</dl>'
        f'<p class="soft">{escape(counted(report, common))}</p></header>'
    )


def _exit(run: Mapping[str, Any], words: Mapping[str, str]) -> str | None:
    """The exit code, and that the guard stopped the run: its program then ends with 0."""
    if run.get("exit") is None:
        return None
    return f"{run['exit']}, {words['stopped']}" if run.get("state") == "stopped" else str(run["exit"])


def _findings(report: Mapping[str, Any], common: Mapping[str, str]) -> str:
    return "\n".join(
        html.finding(each, common, echoes_of(echoes, common)) for each, echoes in told_once(report["findings"])
    )


def _chain(report: Mapping[str, Any], common: Mapping[str, str]) -> str:
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in step)}</tr>" for step in chain_of(report, common)
    )
    return f'<table class="chain">{rows}</table>' if rows else ""


def _warned(warned: Sequence[Mapping[str, Any]]) -> str:
    """What `doctor check` said before the launch and nothing of the run's end repeats."""
    rows = [[_code(each["id"]), prose(each["headline"]), escape(place_of(each["where"]))] for each in warned]
    return _table(["", "", ""], rows) if rows else ""


def _since(run: Mapping[str, Any], words: Mapping[str, str], language: str) -> str:
    since = run.get("since")
    if not since:
        return f'<p class="soft">{escape(words["no_good"])}</p>' if run.get("state") != "good" else ""
    rows = []
    for each in since["changes"]:
        lines = "".join(
            f'<span class="{"gone" if line[:1] == "-" else "came"}">{escape(line)}</span>'
            for line in each.get("lines", ())
        )
        told = f'<pre class="diff">{lines}</pre>' if lines else ""
        rows.append([_code(each["name"]), escape(each["old"] or "·"), escape(each["new"] or "·") + told])
    table = _table([words["what"], words["before"], words["after"]], rows) if rows else f"<p>{words['nothing']}</p>"
    departed = [
        [_code(each["name"]), str(each["step"]), f"{each['old']:.4g} → {each['new']:.4g}"] for each in since["departed"]
    ]
    more = (
        _table([words["metric"], words["from"], f"{words['before']} → {words['after']}"], departed) if departed else ""
    )
    parts_of: dict[str, list[str]] = {}
    for part, why in since["unknown"].items():
        parts_of.setdefault(translated(why, language), []).append(PARTS[language][part])
    unknown = "; ".join(f"{', '.join(parts)} ({why})" for why, parts in parts_of.items())
    below = f'<p class="soft">{escape(words["not_compared"].format(what=unknown))}</p>' if unknown else ""
    head = f'<p class="soft">{escape(words["since_good"].format(good=since["good"]))}</p>'
    return head + table + more + below


def _time(report: Mapping[str, Any], plots: Plots, words: Mapping[str, str], language: str) -> str:
    """Everything with a time on one axis; metrics without one over their steps."""
    lines, bands, moments = plots
    timed = {each.title for each in lines}
    over_steps = html.over_steps(report, language, without=timed)
    parts = []
    if lines:
        parts.append(f'<p class="soft">{escape(words["time_hint"])}</p>')
        parts.append(usage_page.over_time(lines, bands, moments, _focus(report, lines)))
    if over_steps:
        parts += [f'<p class="soft">{escape(words["nobody"])}</p>' if lines else "", over_steps]
    return "\n".join(parts)


def _focus(report: Mapping[str, Any], lines: Sequence[Lines]) -> tuple[float, float] | None:
    """The steps with some room beside them, where they are a small part of the run: a start of minutes hides them."""
    metrics = {each["name"] for each in report.get("series", ())}
    ends = [(t[0], t[-1]) for each in lines for _, t, _ in each.lines if t]
    steps = [(t[0], t[-1]) for each in lines if each.title in metrics for _, t, _ in each.lines if t]
    if not steps:
        return None
    begin, end = min(first for first, _ in ends), max(last for _, last in ends)
    first, last = min(first for first, _ in steps), max(last for _, last in steps)
    room = max(0.25 * (last - first), 0.5)
    if last - first > _SMALL * (end - begin):
        return None
    return max(begin, first - room), min(end, last + room)


def _inventory(inventory: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if not inventory:
        return ""
    rows = {
        name: _flat(inventory[name])
        for name in ("trainer", "model", "attention", "optimizer", "trainable", "frozen", "tensors", "with_gradient",
                     "without_gradient", "reference", "active_adapters", "adapters", "rates", "batch")
        if inventory.get(name)
    }  # fmt: skip
    settings = {name: _flat(value) for name, value in (inventory.get("arguments") or {}).items()}
    return (
        f'<div class="columns"><div>{_pairs(rows)}</div>'
        f"<div><h3>{escape(words['settings'])}</h3>{_pairs(settings)}</div></div>"
    )


def _witness(witness: Mapping[str, Any], words: Mapping[str, str]) -> str:
    parts = []
    if rounds := witness.get("rounds"):
        parts.append(f"<p>{escape(words['rounds'].format(count=len(rounds)))}</p>")
        rows = [[str(each.get("step")), escape(_flat(each.get("verdicts")))] for each in rounds[:_MOST_ROWS]]
        parts.append(_table(["step", words["what"]], rows))
    if witness.get("off"):
        parts.append(f"<p>{escape(words['off'].format(reason=witness['off']))}</p>")
    return "\n".join(parts)


def _capsules(capsules: Sequence[Mapping[str, Any]]) -> str:
    parts: list[str] = []
    for each in capsules:
        title = " · ".join(part for part in (each["who"], each.get("type"), each["file"]) if part)
        body = f"<p>{escape(each['message'])}</p>" if each.get("message") else ""
        for frame in each.get("frames", ()):
            values = _pairs({name: value for name, value in frame["values"].items() if value})
            body += (
                f'<p class="place">{escape(frame["place"])}</p><pre><code>{escape(frame["code"])}</code></pre>{values}'
            )
        parts.append(f"<details{' open' if not parts else ''}><summary>{escape(title)}</summary>{body}</details>")
    return "\n".join(parts)


def _run(run: Mapping[str, Any], words: Mapping[str, str]) -> str:
    environment, code = run.get("environment", {}), run.get("code", {})
    machine = {name: _flat(environment[name]) for name in ("python", "host", "driver", "gpus") if environment.get(name)}
    told = {
        "cwd": run.get("cwd"),
        "git": " ".join(str(code.get(each) or "") for each in ("revision", "branch", "subject")),
    }
    files = [[_code(each["word"]), f"{each['bytes']:,}" if each.get("bytes") is not None else "·",
              escape(str(each.get("print") or "·")[:12])] for each in run.get("files", ())]  # fmt: skip
    columns = [
        _column("", _pairs({name: value for name, value in {**told, **machine}.items() if value and value.strip()})),
        _column(words["versions"], _pairs(environment.get("packages", {}))),
        _column(words["files"], _table(["", "bytes", "print"], files) if files else ""),
        _column(words["variables"], _pairs(environment.get("variables", {}))),
    ]
    argv = f"<pre><code>{escape(shlex.join(run.get('argv', ())))}</code></pre>"
    return f'{argv}<div class="columns">{"".join(columns)}</div>'


def _blind(report: Mapping[str, Any], common: Mapping[str, str]) -> str:
    items = "".join(f"<li>{count} × {escape(reason)}</li>" for reason, count in folded_reasons(report["skipped"]))
    crashed = "".join(
        f"<p>{escape(common['crashed'].format(id=each['id'], error=each['error']))}</p>" for each in report["crashed"]
    )
    return f"{crashed}<ul>{items}</ul>" if items or crashed else ""


def _column(title: str, body: str) -> str:
    head = f"<h3>{escape(title)}</h3>" if title else ""
    return f"<div>{head}{body}</div>" if body else ""


def _pairs(rows: Mapping[str, Any]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd>" for name, value in rows.items())
    return f'<dl class="pairs">{cells}</dl>'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are HTML already, the heads are not."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[:_MOST_ROWS])
    return f'<div class="sheet"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _code(text: str) -> str:
    return escape(str(text))


def _flat(value: Any) -> str:
    """A nested value on one line: `r 16, targets q_proj, v_proj`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_flat(each)}" for name, each in list(value.items())[:_MOST_ROWS])
    if isinstance(value, (list, tuple)):
        return ", ".join(_flat(each) for each in value[:_MOST_ROWS])
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
