"""The figures of a monitored run as a part of the HTML report: tables and interactive plots, all inlined."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from doctor.render.plots import library
from doctor.render.usage_report import (
    COLUMNS,
    MOST_GPU_ROWS,
    WORDS,
    duration,
    host_rows,
    hours_line,
    lacks_truth,
    machine_rows,
    shown,
)


@dataclass(frozen=True)
class Lines:
    """One plot: a line a GPU, each with its own times (s since the epoch) and values, finite only."""

    title: str
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]]


@dataclass(frozen=True)
class Band:
    """A phase, drawn behind the lines."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Moment:
    """An event, drawn as a vertical line."""

    at_s: float
    label: str


STYLE = """
.usage { overflow-x: auto; } .usage table { border-collapse: collapse; width: 100%; }
.usage th { text-align: right; font-size: .8rem; color: var(--soft); font-weight: 600; padding: .2rem .6rem; }
.usage td { text-align: right; font-variant-numeric: tabular-nums; padding: .2rem .6rem; white-space: nowrap;
  border-top: 1px solid var(--line); }
.usage th:first-child, .usage td:first-child { text-align: left; padding-left: 0; }
.times { display: grid; gap: 1rem; }
.time { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .4rem .2rem;
  min-width: 0; }
.time h3 { font: 600 .85rem ui-monospace, monospace; margin: 0 .5rem .2rem; }
.time .u-legend { font-size: .75rem; color: var(--soft); } .keys { font-size: .82rem; color: var(--soft); }
.keys span { display: inline-block; margin-right: .9rem; } .keys i { display: inline-block; width: .8em; height: .8em;
  border-radius: 2px; margin-right: .3em; vertical-align: -.05em; }
"""

_DRAW = """
(() => {
  const data = JSON.parse(document.getElementById('doctor-usage').textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const names = [...new Set(data.bands.map(b => b[0]))];
  const tint = name => `hsl(${(names.indexOf(name) * 67 + 205) % 360} 65% 50% / .16)`;
  const line = k => `hsl(${(k * 47 + 215) % 360} 70% 52%)`;
  const drawn = [];
  const clip = (u, t) => Math.min(Math.max(u.valToPos(t, 'x', true), u.bbox.left), u.bbox.left + u.bbox.width);
  const room = (u, labels) => Math.max(50, 18 + 7 * Math.max(0, ...(labels || []).map(each => String(each).length)));
  const bands = u => {
    u.ctx.save();
    for (const [name, from, to] of data.bands) {
      const a = clip(u, from), b = clip(u, to);
      if (b - a < .5) continue;
      u.ctx.fillStyle = tint(name); u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height);
    }
    u.ctx.restore();
  };
  const marks = u => {
    u.ctx.save();
    u.ctx.strokeStyle = u.ctx.fillStyle = css('--error'); u.ctx.setLineDash([4, 4]);
    u.ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    for (const [at, label] of data.moments) {
      const x = u.valToPos(at, 'x', true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
      u.ctx.fillText(label, x + 3, u.bbox.top + 12 * devicePixelRatio);
    }
    u.ctx.restore();
  };
  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    document.querySelectorAll('.time').forEach((box, i) => {
      const plot = data.plots[i], rule = {stroke: css('--line'), width: 1};
      const axis = {stroke: css('--soft'), grid: rule, ticks: rule, size: 50};
      const lines = plot.lines.map(([label], k) =>
        ({label, stroke: line(k), width: 1.2, spanGaps: true, points: {show: false}}));
      drawn.push(new uPlot({
        width: box.clientWidth - 8, height: 190,
        cursor: {sync: {key: 'doctor-usage'}, drag: {x: true, y: false}},
        scales: {x: {time: true}}, axes: [{...axis, size: 30}, {...axis, size: room}], series: [{}, ...lines],
        hooks: {drawClear: [bands], draw: [marks]},
      }, uPlot.join(plot.lines.map(([, x, y]) => [x, y])), box.querySelector('div')));
    });
  };
  document.querySelectorAll('.keys i').forEach(key => { key.style.background = tint(key.dataset.name); });
  draw();
  window.doctorPlots = drawn;
  let waiting;
  addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(draw, 120); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
})();
"""


def render(page: str, usage: Mapping[str, Any], plots: Sequence[Lines], bands: Sequence[Band],
           moments: Sequence[Moment], language: str) -> str:  # fmt: skip
    """The page of the findings, with the figures put at its end. Drag to zoom, double click to zoom out."""
    parts = [f"<style>{STYLE}</style>", tables(usage, language)]
    if plots:
        parts.append(over_time(plots, bands, moments))
    head, end, tail = page.rpartition("</main>")
    return head + "\n".join(parts) + end + tail


def tables(usage: Mapping[str, Any], language: str) -> str:
    """GPUs, machines, phases."""
    words = WORDS[language]
    rows = machine_rows(usage, words)
    parts = [
        _gpus(usage, words), f"<p>{escape(hours_line(usage, words))}</p>" if usage["gpu_hours"] else "",
        f"<p>{escape(words['no_truth'])}</p>" if lacks_truth(usage) else "",
        _table(rows[0], rows[1:]) if rows else "", _phases(usage, words),
    ]  # fmt: skip
    return "\n".join(each for each in parts if each)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="usage"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _gpus(usage: Mapping[str, Any], words: Mapping[str, str]) -> str:
    gpus = usage["gpus"]
    if len(gpus) > MOST_GPU_ROWS:
        head, *rows_of_hosts = host_rows(usage, words)
        more = words["left_out"].format(count=usage["hosts_left_out"]) if usage["hosts_left_out"] else ""
        return _table(head[1], [row for _, row in rows_of_hosts]) + (f"<p>{escape(more)}</p>" if more else "")
    columns = [each for each in COLUMNS if any(gpu[each[1]] is not None for gpu in gpus)]
    rows = [
        [gpu["label"], *(shown(gpu[key], form) for _, key, form in columns), ", ".join(gpu["roles"])] for gpu in gpus
    ]
    return _table([words["gpu"], *(words[head] for head, _, _ in columns), words["roles"]], rows) if gpus else ""


def _phases(usage: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if not usage["phases"]:
        return ""
    rows = [
        [
            each["name"], duration(each["seconds"]), shown(each["share"], ".0%"), shown(each["activity_pct"], ".1f"),
            shown(each["gpu_hours"], "h"), shown(each["idle_gpu_hours"], "h"),
        ]
        for each in usage["phases"]
    ]  # fmt: skip
    heads = [words[each] for each in ("phase", "time", "share", "activity", "hours", "idle")]
    note = words["marks" if usage["phases_from"] == "marks" else "activity_from"]
    return f"{_table(heads, rows)}<p>{escape(note)}</p>"


def over_time(plots: Sequence[Lines], bands: Sequence[Band], moments: Sequence[Moment]) -> str:
    """Plots over one axis of time, with all they need; phases behind them, moments across."""
    script, style = library()
    data = {
        "plots": [{"lines": [[name, list(t), list(v)] for name, t, v in plot.lines]} for plot in plots],
        "bands": [[each.name, each.begin_s, each.end_s] for each in bands],
        "moments": [[each.at_s, each.label] for each in moments],
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    keys = "".join(
        f'<span><i data-name="{escape(name)}"></i>{escape(name)}</span>'
        for name in dict.fromkeys(each.name for each in bands)
    )
    boxes = "".join(f'<div class="time"><h3>{escape(plot.title)}</h3><div></div></div>' for plot in plots)
    return (
        f'<style>{style}</style>\n<p class="keys">{keys}</p>\n<section class="times">{boxes}</section>\n'
        f'<script type="application/json" id="doctor-usage">{text}</script>\n'
        f"<script>{script}</script>\n<script>{_DRAW}</script>"
    )
