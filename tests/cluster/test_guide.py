"""The Kubernetes Job of docs/cluster.md: its command, run as its pods would be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from doctor.cluster.gathered import read

pytestmark = pytest.mark.process

_GUIDE = Path(__file__).parents[2] / "docs" / "cluster.md"


def _job() -> dict[str, Any]:
    (text,) = re.findall(r"^### Kubernetes\n.*?```yaml\n(.*?)```", _GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    job: dict[str, Any] = YAML(typ="safe").load(text)
    return job


def test_pods_of_the_job_are_told_apart_and_the_absent_are_missed(tmp_path: Path) -> None:
    spec = _job()["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    words = [sys.executable, "-m", *container["command"][:-1], str(tmp_path / "facts")]
    assert container["command"][-1].startswith(container["volumeMounts"][0]["mountPath"])
    variables = {each["name"]: each["value"] for each in container["env"]}
    for pod in (0, 2):
        environ = {**os.environ, **variables, "JOB_COMPLETION_INDEX": str(pod)}
        subprocess.run(words, env=environ, check=True, capture_output=True, timeout=120)
    cluster = read([tmp_path / "facts"]).cluster
    assert cluster.expected == spec["completions"] == spec["parallelism"] == 4
    assert [(node.rank, node.state) for node in cluster.nodes] == [
        (0, "ok"), (1, "missing"), (2, "ok"), (3, "missing")
    ]  # fmt: skip
