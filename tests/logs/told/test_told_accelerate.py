"""accelerate's configuration, printed or pasted, as the fact that `doctor check` judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.opened import NotSeen
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.logs.postmortem import examine
from doctor.logs.told.judged import world_in
from tests.prepared import prepared_once

YAML = """compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  gradient_accumulation_steps: 4
  zero_stage: 3
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 8
use_cpu: false
"""
LISTED = """- `Accelerate` version: 1.6.0
- `Accelerate` default config:
\t- compute_environment: LOCAL_MACHINE
\t- distributed_type: DEEPSPEED
\t- mixed_precision: bf16
\t- num_processes: 8
\t- deepspeed_config: {'gradient_accumulation_steps': 4, 'zero_stage': 3}
"""
END = 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    go()\nValueError: no way on\n'


def _config(tmp_path: Path, log: str, context: str = "") -> AccelerateConfig | None:
    (tmp_path / "train.log").write_text(log)
    (tmp_path / "context.txt").write_text(context)
    given = [tmp_path / "context.txt"] if context else []
    result = examine([str(tmp_path / "train.log")], context=given, prepared=prepared_once())
    assert not result.diagnosis.outcome.crashed
    found = world_in(result.case).value("accelerate_config")
    assert found is None or isinstance(found, AccelerateConfig)
    return found


@pytest.mark.parametrize(
    ("log", "context"),
    [(f"$ cat zero3.yaml\n{YAML}\n{END}", ""), (LISTED + END, ""), (END, f"zero3.yaml:\n{YAML}"), (END, LISTED)],
    ids=["yaml", "env", "context", "context-env"],
)
def test_what_is_printed_is_known(tmp_path: Path, log: str, context: str) -> None:
    config = _config(tmp_path, log, context)
    assert config is not None
    assert config.settings["deepspeed_config.zero_stage"].value == 3
    assert config.settings["num_processes"].value == 8
    assert config.settings["distributed_type"].value == "DEEPSPEED"


def test_of_an_excerpt_the_rest_is_not_known(tmp_path: Path) -> None:
    whole = _config(tmp_path, YAML + END)
    assert whole is not None
    assert "num_processes" in whole.settings
    cut = _config(tmp_path, YAML.partition("num_processes")[0] + END)
    assert cut is not None
    with pytest.raises(NotSeen):
        bool("use_cpu" in cut.settings)


def test_a_word_of_prose_is_no_configuration(tmp_path: Path) -> None:
    assert _config(tmp_path, f"compute_environment: whatever you use\n{END}") is None
