"""Plots in the HTML report: drawn by a real browser, without an error and without a request."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.report import Diagnosis, Subject, as_dict
from doctor.render import html
from doctor.render.plots import Mark, Plot, fragment


def report(step: int | None = 40) -> dict[str, Any]:
    data = as_dict(Diagnosis("check", Subject(), Outcome((), (), (), 1, 0.1)))
    where = {} if step is None else {"step": step}
    finding = {
        "id": "NUM005", "name": "made-up", "severity": "error", "confidence": "confirmed", "role": "cause",
        "headline": "loss is NaN", "explanation": "It is.", "remedy": {"text": "Stop.", "commands": [], "fix": None},
        "where": where, "evidence": [], "links": [], "affects": {},
    }  # fmt: skip
    return {**data, "findings": [finding], "summary": {**data["summary"], "errors": 1}}


SERIES = {
    "name": "reward", "source": "a.log", "x": "step", "count": 9, "span": [1, 9], "first": None, "last": None,
    "findings": ["NUM005"], "points": [], "not_finite_from": 1,
}  # fmt: skip
PLOTS = [
    Plot("loss", [(step, math.sin(step / 50)) for step in range(2000)]),
    Plot("</script><b>grad_norm", [(step, step**0.5) for step in range(0, 2000, 10)]),
]


def test_no_series_no_script() -> None:
    assert "<script" not in html.render(report())
    assert fragment([], [], title="", step="", value="") == ""


def test_data_cannot_leave_their_element() -> None:
    page = html.render(report(), series=PLOTS)
    assert page.count("</script>") == 3
    assert "&lt;/script&gt;&lt;b&gt;grad_norm" in page
    assert not re.search(r'(src|href)="', page)
    assert "The MIT License" in page


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        fragment([Plot("loss", [(1, math.nan)])], [Mark(1, ("x",))], title="", step="", value="")


def test_metrics_of_the_report_are_drawn_over_the_same_steps() -> None:
    falling = {**SERIES, "points": [[1, 0.5], [4, 0.25]], "not_finite_from": 5, "name": "kl", "findings": []}
    page = html.render({**report(4), "series": [SERIES, falling, {**SERIES, "x": "sample", "span": [1, 99]}]})
    found = re.search(r'id="doctor-series">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    assert [plot["xs"] for plot in data["plots"]] == [[1, 9], [1, 4, 9], [1, 99]]
    assert [plot["ys"] for plot in data["plots"]] == [[None, None], [0.5, 0.25, None], [None, None]]
    assert [plot["broken"] for plot in data["plots"]] == [[1, None], [5, None], [1, None]]
    assert [plot["group"] for plot in data["plots"]] == ["", "", "sample"]
    assert data["plots"][0]["judged"] == ["NUM005"]
    assert data["marks"] == [{"step": 4, "labels": ["NUM005"], "severity": "error"}]


@pytest.mark.process
def test_browser_draws_them(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    page = tmp_path / "report.html"
    probe = (
        "<script>addEventListener('load', () => setTimeout(() => { const c = document.querySelectorAll('canvas');"
        "let ink = 0; for (const x of c) { const d = x.getContext('2d').getImageData(0, 0, x.width, x.height).data;"
        "for (let i = 3; i < d.length; i += 4) if (d[i]) { ink++; break; } }"
        "document.title = `canvases ${c.length} inked ${ink}`; }, 300));</script>"
    )
    spike = [*PLOTS, Plot("kl", [(1, 0.1), (2, 9e5)], (1, 9), (3, None), logarithmic=True, judged=("NUM005",))]
    page.write_text(html.render({**report(), "series": [SERIES]}, series=spike).replace("</body>", probe + "</body>"))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-quic", "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--window-size=390,900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert "<title>canvases 4 inked 4</title>" in done.stdout
    assert "CONSOLE" not in done.stderr


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="no node to run the page's script with")
@pytest.mark.parametrize(
    ("values", "step", "expected"),
    [
        ([5.546, 5.5465, 5.547], 0.0005, ["5.5460", "5.5465", "5.5470"]),
        ([5.5460, 5.5462, 5.5464], 0.0002, ["5.5460", "5.5462", "5.5464"]),
        ([0, 25, 50], 25, ["0", "25", "50"]),
        ([1e-6, 2e-6], 1e-6, ["1.0e-6", "2.0e-6"]),
        ([None, 1, None, 10], 0.1, ["", "1", "", "10"]),
    ],
)
def test_ticks_that_lie_close_together_read_differently(values: list[Any], step: float, expected: list[str]) -> None:
    page = html.render(report(), series=PLOTS)
    script = page[page.index("  const short") : page.index("  const tens")]
    told = f"{script}; console.log(JSON.stringify(ticks(null, {json.dumps(values)}, 0, 0, {step})))"
    done = subprocess.run(["node", "-e", told], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == expected


def test_one_value_is_a_figure_and_no_curve() -> None:
    one = {**SERIES, "name": "learning_rate", "points": [[1, 1e30]], "span": [1, 1], "not_finite_from": None}
    page = html.render({**report(), "series": [one, {**one, "name": "kl", "points": [[1, 0.25]]}]})
    assert "<script" not in page
    assert "<h2>metrics of step 1</h2>" in page
    assert "<tr><td>learning_rate</td><td>1e+30</td></tr><tr><td>kl</td><td>0.25</td></tr>" in page
    chinese = html.render({**report(), "series": [one, {**one, "points": [[7, 2.0]]}]}, "zh")
    assert "<h2>只出现一次的指标</h2>" in chinese


def test_a_value_that_is_lost_is_still_drawn() -> None:
    lost = {**SERIES, "points": [[1, 0.5]], "span": [1, 9], "not_finite_from": 2}
    assert '"broken": [2, null]' in html.render({**report(), "series": [lost]})


def test_a_quote_stands_below_its_place_and_is_folded() -> None:
    quoted = report()
    quoted["findings"][0]["evidence"] = [{"source": "a.log", "line": 3, "text": "x < y\n  z"}]
    page = html.render(quoted)
    assert '<pre class="seen"><span>a.log:3</span><code>x &lt; y\n  z</code></pre>' in page
    assert "pre.seen { white-space: pre-wrap" in page
