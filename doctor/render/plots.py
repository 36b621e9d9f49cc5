"""Interactive plots of metric series for the HTML report: uPlot, inlined with its licence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

_VENDOR = Path(__file__).parent / "vendor"


@dataclass(frozen=True)
class Plot:
    """One metric over the steps.

    Args:
        name: of the metric.
        points: (step, value) in order of step, finite values only.
        span: first and last step that the plot must show, beyond the points where there are values that are no numbers.
        broken: steps from and to which the values are no numbers; `to` is None where they stay so.
        logarithmic: whether the vertical axis is; all values must be positive.
        group: plots of one group share cursor and marks; "" is the group of the marks.
        judged: labels of the marks that concern this metric; the others are drawn faintly.

    """

    name: str
    points: Sequence[tuple[float, float]]
    span: tuple[float, float] | None = None
    broken: tuple[float, float | None] | None = None
    logarithmic: bool = False
    group: str = ""
    judged: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """What the page's script draws; a gap stands where the span reaches beyond the points."""
        first, last = self.span or (0.0, 0.0)
        pairs: list[tuple[float, float | None]] = list(self.points)
        if self.span and (not pairs or pairs[0][0] > first):
            pairs.insert(0, (first, None))
        if self.span and pairs[-1][0] < last:
            pairs.append((last, None))
        return {
            "xs": [x for x, _ in pairs],
            "ys": [y for _, y in pairs],
            "broken": self.broken,
            "log": self.logarithmic,
            "group": self.group,
            "judged": self.judged,
        }


@dataclass(frozen=True)
class Mark:
    """A step that a finding names, drawn as a vertical line in every plot of its group."""

    step: int
    labels: tuple[str, ...]
    severity: str = "error"


@lru_cache
def library() -> tuple[str, str]:
    """Script and style of uPlot, with its licence."""
    script = (_VENDOR / "uPlot.iife.min.js").read_text(encoding="utf-8")
    licence = (_VENDOR / "LICENSE.uPlot").read_text(encoding="utf-8").replace("*/", "* /")
    return f"/* uPlot\n{licence}*/\n{script}", (_VENDOR / "uPlot.min.css").read_text(encoding="utf-8")


_STYLE = """
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
.plot { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .4rem .2rem;
  min-width: 0; }
.plot h3 { font: 600 .85rem ui-monospace, monospace; margin: 0 .5rem .3rem; overflow-wrap: anywhere; }
.u-legend { font-size: .78rem; color: var(--soft); } .plot:not(:hover) .u-legend { visibility: hidden; }
.u-select { background: color-mix(in srgb, var(--info) 20%, transparent); }
.hint { color: var(--soft); font-size: .85rem; margin: -.5rem 0 .8rem; }
"""

_DRAW = """
(() => {
  const data = JSON.parse(document.getElementById('doctor-series').textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = v => v == null ? '' : v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3)
    ? v.toExponential(1) : String(+v.toPrecision(4));
  // of values that lie close together four digits would all read the same
  const ticks = (u, all, axis, space, step) => {
    const told = all.map(short), shown = told.filter(each => each !== '');
    if (new Set(shown).size === shown.length || !(step < 1)) return told;
    const digits = Math.min(8, Math.ceil(-Math.log10(step)));
    return all.map(each => each == null ? '' : each.toFixed(digits));
  };
  // as wide as the longest label needs
  const wide = (u, told) => Math.max(44, 18 + 6.8 * Math.max(0, ...(told || []).map(each => each.length)));
  const tens = plot => (u, all) => plot.log ? all.map(v => Math.abs(Math.log10(v) % 1) < 1e-6 ? v : null) : all;
  // a value that never changes is drawn in the middle, not at the bottom of 0 to 100
  const range = (u, low, high) => low == null ? [null, null] : low < high ? uPlot.rangeNum(low, high, .1, true)
    : [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
  const drawn = [];
  const between = (u, from, to) => [from, to ?? u.scales.x.max]
    .map(x => Math.min(Math.max(u.valToPos(x, 'x', true), u.bbox.left), u.bbox.left + u.bbox.width));
  const shade = (u, plot) => {
    if (!plot.broken) return;
    const [from, to] = between(u, ...plot.broken);
    u.ctx.save();
    u.ctx.globalAlpha = .16; u.ctx.fillStyle = css('--error');
    u.ctx.fillRect(from, u.bbox.top, Math.max(to - from, 2), u.bbox.height);
    u.ctx.globalAlpha = 1; u.ctx.font = `${11 * devicePixelRatio}px system-ui`; u.ctx.textBaseline = 'bottom';
    u.ctx.fillText('NaN', from + 4 * devicePixelRatio, u.bbox.top + u.bbox.height - 3 * devicePixelRatio);
    u.ctx.restore();
  };
  const marks = (u, plot) => {
    if (plot.group) return;
    u.ctx.save();
    u.ctx.setLineDash([4, 4]); u.ctx.lineWidth = devicePixelRatio;
    u.ctx.font = `600 ${10.5 * devicePixelRatio}px system-ui`; u.ctx.textBaseline = 'top';
    let row = 0;
    for (const mark of data.marks) {
      const x = Math.round(u.valToPos(mark.step, 'x', true)), right = u.bbox.left + u.bbox.width;
      const mine = mark.labels.filter(each => plot.judged.includes(each)).join(', ');
      if (x < u.bbox.left || x > right) continue;
      u.ctx.strokeStyle = u.ctx.fillStyle = css('--' + mark.severity);
      u.ctx.globalAlpha = mine ? 1 : .3;
      u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
      if (!mine) continue;
      const end = x + u.ctx.measureText(mine).width + 6 * devicePixelRatio > right;
      u.ctx.textAlign = end ? 'right' : 'left';
      const y = u.bbox.top + (2 + 13 * row++) * devicePixelRatio;
      u.ctx.fillText(mine, x + (end ? -4 : 4) * devicePixelRatio, y);
    }
    u.ctx.restore();
  };
  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    document.querySelectorAll('.plot').forEach((box, i) => {
      const plot = data.plots[i], line = {stroke: css('--line'), width: 1};
      const axis = {stroke: css('--soft'), grid: line, ticks: line, values: ticks};
      const ruled = {...line, filter: tens(plot)};
      drawn.push(new uPlot({
        width: box.clientWidth - 8, height: 190,
        cursor: {sync: {key: 'doctor' + plot.group}, drag: {x: true, y: false}},
        scales: {x: {time: false}, y: plot.log ? {distr: 3} : {range}},
        axes: [{...axis, size: 28}, {...axis, size: wide, grid: ruled, ticks: ruled}],
        series: [{label: data.step}, {label: data.value, stroke: css('--info'), width: 1.6, spanGaps: true,
          value: (u, v) => v == null ? '--' : short(v), points: {show: plot.xs.length < 40, size: 4}}],
        hooks: {drawClear: [u => shade(u, plot)], draw: [u => marks(u, plot)]},
      }, [plot.xs, plot.ys], box.querySelector('div')));
    });
  };
  draw();
  // again whenever the section's width differs, which a print or a zoom changes as well as the window
  const section = document.querySelector('.plots');
  let width = section.clientWidth;
  new ResizeObserver(() => {
    if (section.clientWidth !== width) { width = section.clientWidth; requestAnimationFrame(draw); }
  }).observe(section);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
})();
"""


def fragment(plots: Sequence[Plot], marks: Sequence[Mark], *, title: str, step: str, value: str, hint: str = "") -> str:
    """HTML of the plots with all they need; empty without plots. Drag to zoom, double click to zoom out."""
    if not plots:
        return ""
    script, style = library()
    data = {
        "plots": [plot.data() for plot in plots],
        "marks": [vars(mark) for mark in marks],
        "step": step,
        "value": value,
    }
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    boxes = "".join(f'<div class="plot"><h3>{escape(plot.name)}</h3><div></div></div>' for plot in plots)
    below = f'<p class="hint">{escape(hint)}</p>\n' if hint else ""
    return (
        f"<style>{style}{_STYLE}</style>\n<h2>{escape(title)}</h2>\n{below}"
        f'<section class="plots">{boxes}</section>\n'
        f'<script type="application/json" id="doctor-series">{text}</script>\n'
        f"<script>{script}</script>\n<script>{_DRAW}</script>"
    )
