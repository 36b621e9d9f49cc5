"""A report as one self-contained HTML page: no script, no request to anywhere, light and dark, readable on a phone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from doctor.render import matrix, plots, rehearsal, sparkline
from doctor.render.words import (
    WORDS,
    chain_of,
    commands_of,
    counted,
    echoes_of,
    folded_reasons,
    judged_of,
    level_of,
    notes_of,
    place_in,
    quiet_of,
    source_of,
    told_once,
    verdict_of,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6577; --paper: #f6f7f9; --card: #ffffff; --line: #dfe3ea;
  --error: #c42b3a; --warning: #a86400; --info: #2766c4; --code: #eef1f5; --good: #1d7f4c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #98a3b5; --paper: #12161d; --card: #1a2029;
  --line: #2c3543; --error: #ff6b77; --warning: #f0b146; --info: #74a9ff; --code: #11151c; --good: #5fd39a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", "PingFang SC", sans-serif; }
main { max-width: 54rem; margin: auto; padding: 2rem 1rem 4rem; }
header p { color: var(--soft); margin: .25rem 0; overflow-wrap: anywhere; }
.chain td:nth-child(-n+2) { white-space: nowrap; }
h1 { font-size: 1.5rem; margin: 0; }
.verdict { font-size: 1.1rem; font-weight: 600; margin: 1.2rem 0; }
.verdict.error { color: var(--error); }
.verdict.warning { color: var(--warning); } .verdict.good { color: var(--good); }
article { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--info);
  border-radius: 8px; padding: 1rem 1.2rem; margin: 1rem 0; }
article.error { border-left-color: var(--error); } article.warning { border-left-color: var(--warning); }
main > h2, section > h2 { font-size: 1.08rem; margin: 2rem 0 .8rem; }
article h2 { font-size: 1.08rem; line-height: 1.4; margin: .2rem 0 .6rem; overflow-wrap: anywhere; }
article p b { color: var(--soft); font-weight: 600; font-size: .85rem; margin-right: .6rem; }
.tag { font-size: .82rem; color: var(--soft); display: flex; flex-wrap: wrap; gap: .2rem .9rem; }
.tag b { color: var(--info); }
.error .tag b { color: var(--error); } .warning .tag b { color: var(--warning); }
code { background: var(--code); border-radius: 4px; padding: .08em .3em; font-size: .92em; overflow-wrap: anywhere;
  display: inline-block; max-width: 100%; box-sizing: border-box; } /* breaks before `--option`, not in it */
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  overflow-x: auto; font-size: .88rem; margin: .6rem 0; }
pre code { display: inline; background: none; padding: 0; overflow-wrap: normal; }
pre.seen { white-space: pre-wrap; overflow-wrap: anywhere; }
pre.seen span { display: block; color: var(--soft); font-size: .92em; }
pre.seen code { display: block; overflow-wrap: anywhere; margin-bottom: .4rem; }
pre.seen code:last-child { margin-bottom: 0; }
details summary { color: var(--soft); cursor: pointer; font-size: .9rem; }
.place { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
td { padding: .1rem 1rem .1rem 0; font-size: .9rem; vertical-align: top; overflow-wrap: anywhere; }
.chain td:last-child { color: var(--soft); }
.figures td:first-child { font-family: ui-monospace, monospace; }
.figures td:last-child { text-align: right; font-variant-numeric: tabular-nums; }
ul { padding-left: 1.2rem; color: var(--soft); }
@media (max-width: 36rem) {
  .chain tr { display: block; margin: 0 0 .7rem; } .chain td { display: inline; padding-right: .6rem; }
  .chain td:last-child { display: block; } .chain td:empty { display: none; } }
@media print {
  :root { color-scheme: light; --ink: #111; --soft: #555; --paper: #fff; --card: #fff; --line: #ccc; --code: #f3f3f3;
    --error: #c42b3a; --warning: #a86400; --info: #2766c4; --good: #1d7f4c; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } article { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; } pre { white-space: pre-wrap; } }
"""


def prose(text: str) -> str:
    """Escaped text with `names` as code."""
    return "".join(
        f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(text.split("`"))
    )


def render(report: dict[str, Any], language: str = "en", series: Sequence[plots.Plot] = ()) -> str:
    """The page, with a plot for each of `series`. Everything from outside is escaped."""
    words = WORDS[language]
    counts = counted(report, words)
    level = level_of(report)
    reasons = folded_reasons(report["skipped"])
    argv = " ".join(report["target"]["argv"])
    parts = [
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>doctor {escape(report['command'])}</title>\n<style>{_style(report)}</style>\n</head>\n<body>\n<main>",
        f"<header><h1>doctor {escape(report['command'])}</h1>",
        f"<p>{escape(' · '.join(report['target']['summary']))}</p>",
        f"<p><code>{escape(argv)}</code></p>" if argv else "",
        f"</header>\n{_verdict(report, words, level, counts)}",
        *(finding(each, words, echoes_of(echoes, words)) for each, echoes in told_once(report["findings"])),
        _chain(report, words),
        rehearsal.page(report["rehearsal"], language, prose) if report.get("rehearsal") else "",
        matrix.page(report["nodes"], language) if report.get("nodes") else "",
        over_steps(report, language, series=series),
        "" if report["findings"] or "verdict" in report else f"<p>{escape(quiet_of(report, words))}</p>",
        *(
            f"<p>{escape(words['crashed'].format(id=each['id'], error=each['error']))}</p>"
            for each in report["crashed"]
        ),
        _skips(reasons, words),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(part for part in parts if part)


def over_steps(
    report: Mapping[str, Any], language: str, series: Sequence[plots.Plot] = (), without: Collection[str] = ()
) -> str:
    """Metrics of which there is one value each, and plots of the others but those that are drawn elsewhere."""
    words = WORDS[language]
    drawn = [*series, *(each for each in _plots(report) if each.name not in without)]
    return _figures(report, words) + plots.fragment(
        drawn, _marks(report), title=words["plots_title"], hint=words["plots_hint"], step=words["step"],
        value=words["value"],
    )  # fmt: skip


def bare(body: str, title: str, style: str, language: str) -> str:
    """A page that holds no findings."""
    return "\n".join((
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>",
        body, "</main></body></html>\n",
    ))  # fmt: skip


def _style(report: dict[str, Any]) -> str:
    return _STYLE + (matrix.STYLE if report.get("nodes") else "")


def _plots(report: Mapping[str, Any]) -> list[plots.Plot]:
    """The metrics that the report holds; those that share an axis are shown over the same steps."""
    series = [each for each in report.get("series", ()) if not _is_one_point(each)]
    spans = {kind: _span([each["span"] for each in series if each["x"] == kind]) for kind in ("step", "sample")}
    return [
        plots.Plot(
            each["name"], [(x, y) for x, y in each["points"]], spans[each["x"]], sparkline.not_finite(each),
            sparkline.is_logarithmic(each), "" if each["x"] == "step" else each["x"],
            tuple(each["findings"]),
        )
        for each in series
    ]  # fmt: skip


def _is_one_point(series: Mapping[str, Any]) -> bool:
    """Whether there is no curve to draw: one value, and a number."""
    return len(series["points"]) == 1 and sparkline.not_finite(series) is None


def _figures(report: Mapping[str, Any], words: Any) -> str:
    """Metrics of which there is one value each, as a table."""
    told = [each for each in report.get("series", ()) if _is_one_point(each)]
    if not told:
        return ""
    steps = {each["points"][0][0] for each in told if each["x"] == "step"}
    alike = len(steps) == 1 and all(each["x"] == "step" for each in told)
    title = words["figures_title"].format(step=f"{min(steps):g}") if alike else words["figures_title_mixed"]
    rows = "".join(f"<tr><td>{escape(each['name'])}</td><td>{each['points'][0][1]:.4g}</td></tr>" for each in told)
    return f'<h2>{escape(title)}</h2><table class="figures">{rows}</table>'


def _span(spans: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None


def _marks(report: Mapping[str, Any]) -> list[plots.Mark]:
    """Steps that findings name, each once."""
    found: dict[int, list[dict[str, Any]]] = {}
    for each in report["findings"]:
        if (step := each["where"].get("step")) is not None:
            found.setdefault(step, []).append(each)
    return [
        plots.Mark(step, tuple(each["id"] for each in these), these[0]["severity"])
        for step, these in sorted(found.items())
    ]


def _verdict(report: dict[str, Any], words: Any, level: str, counts: str) -> str:
    """The line that is read first, and the counts."""
    if verdict := verdict_of(report, words):
        judged = "".join(f"<p>{escape(line)}</p>" for line in judged_of(report, words))
        return f'<p class="verdict {level}">{escape(verdict)}</p>{judged}<p>{escape(counts)}</p>'
    return f'<p class="verdict {level}">{escape(counts)}</p>'


def _chain(report: dict[str, Any], words: Any) -> str:
    """What happened, process by process."""
    steps = chain_of(report, words)
    if not steps:
        return ""
    rows = "".join(f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in step)}</tr>" for step in steps)
    return f'<h2>{escape(words["chain_title"])}</h2><table class="chain">{rows}</table>'


def finding(finding: Mapping[str, Any], words: Any, echoes: str) -> str:
    """One finding; `echoes`: what else knows the same words."""
    place = place_in(finding, words)
    severity = finding["severity"]
    tags = [f"<b>{escape(words[severity])}</b>", f"<span>{finding['id']} {escape(finding['name'])}</span>"]
    tags += [f'<span class="place">{escape(place)}</span>'] if place else []
    tags += [f"<i>{escape(words[finding['role']])}</i>"] if finding["role"] != "cause" else []
    tags += [f"<i>{prose(each)}</i>" for each in notes_of(finding, words)]
    lines = [
        f'<article class="{severity}" id="{finding["id"]}"><div class="tag">{"".join(tags)}</div>',
        f"<h2>{prose(finding['headline'])}</h2>",
        *(f"<p>{prose(told)}</p>" for told in finding.get("cards", ())),
        f"<p><b>{escape(words['why'])}</b>{prose(finding['explanation'])}</p>",
        f"<p><b>{escape(words['do'])}</b>{prose(finding['remedy']['text'])}</p>",
    ]
    if commands := commands_of(finding, words):
        lines.append(f"<pre><code>{escape(chr(10).join(commands))}</code></pre>")
    if finding["evidence"]:
        quotes = "".join(
            f"<span>{escape(source_of(each, words))}</span><code>{escape(each['text'])}</code>"
            for each in finding["evidence"]
        )
        opened = " open" if finding["role"] == "cause" else ""
        lines.append(
            f'<details{opened}><summary>{escape(words["seen"])}</summary><pre class="seen">{quotes}</pre></details>'
        )
    lines += [f"<p><small>{escape(echoes)}</small></p>"] if echoes else []
    return "\n".join([*lines, "</article>"])


def _skips(reasons: list[tuple[str, int]], words: Any) -> str:
    if not reasons:
        return ""
    items = "".join(f"<li>{count} × {escape(reason)}</li>" for reason, count in reasons)
    return f"<details><summary>{escape(words['skipped_title'])}</summary><ul>{items}</ul></details>"
