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
    host_rows,
    hours_line,
    lacks_truth,
    machine_rows,
    phase_cells,
    phase_heads,
    shown,
)


@dataclass(frozen=True)
class Lines:
    """One plot: a line a GPU, each with its own times (s since the epoch) and values, finite only."""

    title: str
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]]
    broken: tuple[float, float | None] | None = None  # from and to when the values are no numbers


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
    severity: str = "error"


STYLE = """
.usage { overflow-x: auto; } .usage + .usage { margin-top: 1rem; }
.usage table { border-collapse: collapse; width: 100%; }
.usage th { text-align: right; font-size: .8rem; color: var(--soft); font-weight: 600; padding: .2rem .6rem; }
.usage td { text-align: right; font-variant-numeric: tabular-nums; padding: .2rem .6rem; white-space: nowrap;
  border-top: 1px solid var(--line); }
.usage th:first-child, .usage td:first-child { text-align: left; padding-left: 0; }
@media (max-width: 36rem) { .usage th, .usage td { font-size: .78rem; padding: .18rem .35rem; } }
.times { display: grid; gap: .55rem; }
.time { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .45rem .3rem .1rem;
  min-width: 0; }
.time h3 { font: 600 .8rem ui-monospace, monospace; margin: 0 .6rem .1rem; display: flex; gap: 1rem;
  justify-content: space-between; overflow-wrap: anywhere; }
.time h3 span { font-weight: 400; color: var(--soft); white-space: nowrap; }
.time .u-legend { font-size: .75rem; color: var(--soft); }
.time:not(:hover) .u-legend :is(.u-value, .u-series:first-child), .time:not(:hover) .u-legend th::after {
  display: none; } .keys { font-size: .82rem; color: var(--soft); }
.keys span { display: inline-block; margin-right: .9rem; } .keys i { display: inline-block; width: .8em; height: .8em;
  border-radius: 2px; margin-right: .3em; vertical-align: -.05em; }
"""

_DRAW = """
(() => {
  const data = JSON.parse(document.getElementById('doctor-usage').textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const hues = {generation: 210, reward: 42, reference: 172, update: 268, weight_sync: 328, checkpoint: 128, eval: 18,
    active: 150};
  const names = [...new Set(data.bands.map(b => b[0]))];
  const tint = (name, strength = .17) => name in {idle: 1, other: 1} ? 'hsl(220 8% 50% / .14)'
    : `hsl(${hues[name] ?? (names.indexOf(name) * 67 + 95) % 360} 70% 50% / ${strength})`;
  const line = k => k ? `hsl(${(k * 47 + 215) % 360} 70% 52%)` : css('--info');
  const all = data.plots.flatMap(plot => plot.lines.flatMap(([, x]) => x.length ? [x[0], x[x.length - 1]] : []));
  const begin = data.begin ?? Math.min(...all), last = Math.max(...all);
  const clock = (s, step = 1) => {
    const sign = s < 0 ? '-' : '', whole = Math.abs(s) + 1e-6, pad = v => String(v).padStart(2, '0');
    if (step < 1) return sign + +whole.toFixed(step < .1 ? 2 : 1) + ' s';
    const h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, t = pad(Math.floor(whole % 60));
    return sign + (h ? `${h}:${pad(m)}:${t}` : `${m}:${t}`);
  };
  const short = v => v == null ? '' : v !== 0 && (Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3)
    ? v.toExponential(1) : (+v.toPrecision(4)).toLocaleString('en');
  // of values that lie close together four digits would all read the same
  const ticks = (u, values, axis, space, step) => {
    const told = values.map(short), shown = told.filter(each => each !== '');
    if (new Set(shown).size === shown.length) return told;
    return values.map(each => each == null ? '' : Math.abs(each) < 1e-3 && each ? each.toExponential(2)
      : each.toFixed(Math.min(8, Math.max(0, Math.ceil(-Math.log10(step || 1))))));
  };
  const focus = data.focus ? data.focus.map(each => each - begin) : [0, last - begin || 1];
  const drawn = [];
  const clip = (u, t) => Math.min(Math.max(u.valToPos(t, 'x', true), u.bbox.left), u.bbox.left + u.bbox.width);
  // the same for all, so that moments stand below each other
  const left = 62;
  const bands = (u, plot) => {
    u.ctx.save();
    for (const [name, from, to] of data.bands) {
      const a = clip(u, from - begin), b = clip(u, to - begin);
      if (b - a < .5) continue;
      u.ctx.fillStyle = tint(name); u.ctx.fillRect(a, u.bbox.top, b - a, u.bbox.height);
    }
    if (plot.broken) {
      const a = clip(u, plot.broken[0] - begin), b = clip(u, (plot.broken[1] ?? last) - begin);
      u.ctx.globalAlpha = .2; u.ctx.fillStyle = css('--error');
      u.ctx.fillRect(a, u.bbox.top, Math.max(b - a, 3), u.bbox.height);
      u.ctx.globalAlpha = 1; u.ctx.font = `600 ${11 * devicePixelRatio}px system-ui`; u.ctx.textBaseline = 'bottom';
      u.ctx.textAlign = a > u.bbox.left + u.bbox.width - 40 * devicePixelRatio ? 'right' : 'left';
      u.ctx.fillText('NaN', a + (u.ctx.textAlign === 'right' ? -4 : 4) * devicePixelRatio,
        u.bbox.top + u.bbox.height - 2 * devicePixelRatio);
    }
    u.ctx.restore();
  };
  const marks = (u, first) => {
    const size = 10.5 * devicePixelRatio, right = u.bbox.left + u.bbox.width, ends = [];
    u.ctx.save();
    u.ctx.setLineDash([4, 4]); u.ctx.lineWidth = devicePixelRatio;
    u.ctx.font = `600 ${size}px system-ui`; u.ctx.textBaseline = 'top'; u.ctx.textAlign = 'left';
    for (const [at, label, severity] of data.moments) {
      const x = Math.round(u.valToPos(at - begin, 'x', true));
      if (x < u.bbox.left - 1 || x > right + 1) continue;
      u.ctx.strokeStyle = u.ctx.fillStyle = css('--' + severity);
      u.ctx.globalAlpha = first ? 1 : .55;
      u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
      if (!first) continue;
      const wide = u.ctx.measureText(label).width, back = x + wide + 8 * devicePixelRatio > right;
      const from = back ? x - wide - 4 * devicePixelRatio : x + 4 * devicePixelRatio;
      let row = ends.findIndex(each => from > each);  // the first row that is free here
      if (row < 0) row = ends.length;
      ends[row] = from + wide + 6 * devicePixelRatio;
      u.ctx.fillText(label, from, u.bbox.top + (2 + 13 * row) * devicePixelRatio);
    }
    u.ctx.restore();
  };
  const range = (plot, low, high) => {
    if (low == null) return [0, 1];
    if (plot.title.includes('%') && low >= 0 && high <= 101) return [0, 104];
    const room = (high - low) * .08 || Math.abs(high) * .1 || 1;
    return [low >= 0 && low - room < 0 ? Math.min(0, low) : low - room, high + room];
  };
  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    document.querySelectorAll('.time').forEach((box, i) => {
      const plot = data.plots[i], rule = {stroke: css('--line'), width: 1}, several = plot.lines.length > 1;
      const axis = {stroke: css('--soft'), grid: rule, ticks: rule, font: '11px system-ui'};
      const lines = plot.lines.map(([label, x], k) =>
        ({label, stroke: line(k), width: 1.5, spanGaps: true, points: {show: x.length < 40, size: 4}}));
      const value = box.querySelector('h3 span');
      drawn.push(new uPlot({
        width: box.clientWidth - 8, height: i ? 132 : 158, legend: {show: several},
        cursor: {sync: {key: 'doctor-usage'}, drag: {x: true, y: false}}, padding: [11, 12, 0, 0],
        scales: {x: {time: false, range: (u, low, high) => u.zoomed ? [low, high] : focus},
          y: {range: (u, low, high) => range(plot, low, high)}},
        axes: [{...axis, size: 26, values: (u, values, i, space, step) => values.map(v => clock(v, step))},
          {...axis, size: left, values: ticks}],
        series: [{label: data.words[0], value: (u, v) => v == null ? '--' : clock(v)}, ...lines],
        hooks: {drawClear: [u => bands(u, plot)], draw: [u => marks(u, i === 0)],
          setSelect: [u => { u.zoomed = u.select.width > 0; }],
          setCursor: [u => { const at = u.cursor.idx; if (value) value.textContent = several || at == null ? ''
            : `${clock(u.data[0][at])} · ${short(u.data[1][at])}`; }]},
      }, uPlot.join(plot.lines.map(([, x, y]) => [x.map(each => each - begin), y])), box.querySelector('div')));
      drawn[i].root.addEventListener('dblclick', () => drawn.forEach(u => {
        u.zoomed = true; u.setScale('x', {min: 0, max: last - begin || 1}); }));
    });
  };
  document.querySelectorAll('.keys i').forEach(key => { key.style.background = tint(key.dataset.name, .55); });
  draw();
  window.doctorPlots = drawn;
  // again whenever the plots' width differs, which a print or a zoom changes as well as the window
  const first = document.querySelector('.time');
  let width = first ? first.clientWidth : 0;
  if (first) new ResizeObserver(() => {
    if (first.clientWidth !== width) { width = first.clientWidth; requestAnimationFrame(draw); }
  }).observe(first);
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
    roles = any(gpu["roles"] for gpu in gpus)
    rows = [
        [gpu["label"], *(shown(gpu[key], form) for _, key, form in columns), *([", ".join(gpu["roles"])] * roles)]
        for gpu in gpus
    ]
    heads = [words["gpu"], *(words[head] for head, _, _ in columns), *([words["roles"]] * roles)]
    return _table(heads, rows) if gpus else ""


def _phases(usage: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if not usage["phases"]:
        return ""
    rows = [[each["name"], *phase_cells(each, gpus=bool(usage["gpus"]))] for each in usage["phases"]]
    heads = [words[each] for each in ("phase", *phase_heads(gpus=bool(usage["gpus"])))]
    note = words["marks" if usage["phases_from"] == "marks" else "activity_from"]
    return f"{_table(heads, rows)}<p>{escape(note)}</p>"


def over_time(
    plots: Sequence[Lines],
    bands: Sequence[Band],
    moments: Sequence[Moment],
    focus: tuple[float, float] | None = None,
) -> str:
    """Plots over one axis of time, with all they need; phases behind them, moments across.

    Args:
        plots: one below the other.
        bands: behind all of them.
        moments: across all of them.
        focus: stretch that is shown first (s since the epoch); None for all.

    """
    script, style = library()
    data: dict[str, Any] = {
        "plots": [
            {
                "title": plot.title,
                "broken": plot.broken,
                "lines": [[name, list(t), list(v)] for name, t, v in plot.lines],
            }
            for plot in plots
        ],
        "words": ["time"],
        "bands": [[each.name, each.begin_s, each.end_s] for each in bands],
        "moments": [[each.at_s, each.label, each.severity] for each in moments],
    }
    if focus is not None:
        data["focus"] = list(focus)
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    keys = "".join(
        f'<span><i data-name="{escape(name)}"></i>{escape(name)}</span>'
        for name in dict.fromkeys(each.name for each in bands)
    )
    boxes = "".join(f'<div class="time"><h3>{escape(plot.title)}<span></span></h3><div></div></div>' for plot in plots)
    return (
        f'<style>{style}</style>\n<p class="keys">{keys}</p>\n<section class="times">{boxes}</section>\n'
        f'<script type="application/json" id="doctor-usage">{text}</script>\n'
        f"<script>{script}</script>\n<script>{_DRAW}</script>"
    )
