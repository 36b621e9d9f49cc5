"""Interactive plots of metric series for the HTML report: uPlot, inlined with its licence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

_VENDOR = Path(__file__).parent / "vendor"


@dataclass(frozen=True)
class Plot:
    """One metric over the steps: `points` are (step, value) in order of step, finite values only."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Mark:
    """A step that a finding names, drawn as a vertical line in every plot."""

    step: int
    label: str


@lru_cache
def _library() -> tuple[str, str]:
    script = (_VENDOR / "uPlot.iife.min.js").read_text(encoding="utf-8")
    licence = (_VENDOR / "LICENSE.uPlot").read_text(encoding="utf-8").replace("*/", "* /")
    return f"/* uPlot\n{licence}*/\n{script}", (_VENDOR / "uPlot.min.css").read_text(encoding="utf-8")


_STYLE = """
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
.plot { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .4rem .2rem;
  min-width: 0; }
.plot h3 { font: 600 .85rem ui-monospace, monospace; margin: 0 .5rem .2rem; overflow-wrap: anywhere; }
.u-legend { font-size: .78rem; color: var(--soft); }
.u-select { background: color-mix(in srgb, var(--info) 20%, transparent); }
"""

_DRAW = """
(() => {
  const data = JSON.parse(document.getElementById('doctor-series').textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawn = [];
  const marks = u => {
    u.ctx.save();
    u.ctx.strokeStyle = css('--error'); u.ctx.setLineDash([4, 4]); u.ctx.lineWidth = 1;
    for (const mark of data.marks) {
      const x = Math.round(u.valToPos(mark.step, 'x', true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
    }
    u.ctx.restore();
  };
  const draw = () => {
    while (drawn.length) drawn.pop().destroy();
    document.querySelectorAll('.plot').forEach((box, i) => {
      const line = {stroke: css('--line'), width: 1};
      const axis = {stroke: css('--soft'), grid: line, ticks: line, size: 44};
      drawn.push(new uPlot({
        width: box.clientWidth - 8, height: 170, cursor: {sync: {key: 'doctor'}, drag: {x: true, y: false}},
        scales: {x: {time: false}}, axes: [{...axis, size: 28}, axis],
        series: [{label: data.step}, {label: data.value, stroke: css('--info'), width: 1.5, points: {show: false}}],
        hooks: {draw: [marks]},
      }, data.plots[i], box.querySelector('div')));
    });
  };
  draw();
  let waiting;
  addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(draw, 120); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
})();
"""


def fragment(plots: Sequence[Plot], marks: Sequence[Mark], *, title: str, step: str, value: str) -> str:
    """HTML of the plots with all they need; empty without plots. Drag to zoom, double click to zoom out."""
    if not plots:
        return ""
    script, style = _library()
    data = {
        "plots": [[[x for x, _ in plot.points], [y for _, y in plot.points]] for plot in plots],
        "marks": [{"step": mark.step, "label": mark.label} for mark in marks],
        "step": step,
        "value": value,
    }
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    boxes = "".join(f'<div class="plot"><h3>{escape(plot.name)}</h3><div></div></div>' for plot in plots)
    return (
        f'<style>{style}{_STYLE}</style>\n<h2>{escape(title)}</h2>\n<section class="plots">{boxes}</section>\n'
        f'<script type="application/json" id="doctor-series">{text}</script>\n'
        f"<script>{script}</script>\n<script>{_DRAW}</script>"
    )
