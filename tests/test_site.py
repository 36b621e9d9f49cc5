"""The documentation site is built from docs/ and the catalogue, a page a problem, and no link in it leads nowhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.catalogue.index import problems

ROOT = Path(__file__).parents[1]


@pytest.mark.process
@pytest.mark.slow
def test_the_site_has_a_page_for_every_problem_and_fetches_nothing() -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("MkDocs Material is not installed (extra `docs`)")
    done = subprocess.run(
        [sys.executable, "tools/make_site.py"], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    site = ROOT / "site"
    assert [each.id for each in problems() if not (site / "problems" / f"{each.id}.html").is_file()] == []
    found = {each["location"].partition("#")[0] for each in _index(site)["docs"]}
    assert {"check.html", "check.zh.html", "problems/VLL001.html"} <= found
    for page in ("index.html", "agents.html", "problems/VLL001.html"):
        fetched = re.findall(
            r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:[^"]+)"', (site / page).read_text()
        )
        assert fetched == []


def _index(site: Path) -> dict[str, list[dict[str, str]]]:
    data: dict[str, list[dict[str, str]]] = json.loads((site / "search" / "search_index.json").read_text())
    return data
