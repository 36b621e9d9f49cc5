"""Plots in the HTML report: drawn by a real browser, without an error and without a request."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from doctor.core.outcome import Outcome
from doctor.core.report import Diagnosis, Target, as_dict
from doctor.render import html
from doctor.render.plots import Mark, Plot, fragment


def report(step: int | None = 40) -> dict[str, Any]:
    data = as_dict(Diagnosis("check", Target(), Outcome((), (), (), 1, 0.1)))
    where = {} if step is None else {"step": step}
    finding = {
        "id": "NUM005", "name": "made-up", "severity": "error", "confidence": "confirmed", "role": "cause",
        "headline": "loss is NaN", "explanation": "It is.", "remedy": {"text": "Stop.", "commands": [], "fix": None},
        "where": where, "evidence": [], "links": [], "affects": {},
    }  # fmt: skip
    return {**data, "findings": [finding], "summary": {**data["summary"], "errors": 1}}


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
    page.write_text(html.render(report(), series=PLOTS).replace("</body>", probe + "</body>"))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-quic", "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--window-size=390,900", "--virtual-time-budget=3000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert "<title>canvases 2 inked 2</title>" in done.stdout
    assert "CONSOLE" not in done.stderr
