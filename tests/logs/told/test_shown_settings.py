"""Settings that a log shows as YAML, as JSON or side by side: what is set there is not advised again."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare

RAN_OUT = """\
Traceback (most recent call last):
  File "/home/u/grpo/train.py", line 30, in <module>
    trainer.train()
  File "/home/u/env/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py", line 900, in compute_loss
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.33 GiB of which \
1.00 GiB is free.
"""
#: name -> how the run shows that it checkpoints, with batches of one row
SHOWN = {
    "YAML": "model: a\nper_device_train_batch_size: 1  # least\ngradient_checkpointing: true\nbf16: true\n",
    "YAML in a log": "".join(
        f"2026-01-01 10:00:00,001 - run - INFO - {each}\n"
        for each in ("lr: 1e-6", "per_device_train_batch_size: 1", "gradient_checkpointing: True")
    ),
    "JSON of one line": '{"lr": 1e-6, "per_device_train_batch_size": 1, "gradient_checkpointing": true, "a": {"b": 1}}\n',
    "JSON in a log": 'INFO - args: {"gradient_checkpointing": true, "per_device_train_batch_size": 1}\n',
    "a dictionary": "config {'per_device_train_batch_size': 1, 'gradient_checkpointing': True}\n",
    "assignments": "config: per_device_train_batch_size=1 gradient_checkpointing=True bf16=True\n",
    "assignments with commas": "run(per_device_train_batch_size=1, bf16=True, gradient_checkpointing=True)\n",
}
#: what somebody advises, or says of another run
SAID = {
    "one line of YAML": "Try this:\ngradient_checkpointing: true\nand tell us\n",
    "a sentence": "You should set gradient_checkpointing=True and use_cache=False here\n",
    "an object with one": 'Use {"gradient_checkpointing": true} for that\n',
    "prose of YAML's form": "gradient_checkpointing: true is what I would try, or\nper_device_train_batch_size: 1 or so\n",
    "off": "lr: 1\nper_device_train_batch_size: 4\ngradient_checkpointing: false\n",
}


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def remedy(prepared: Prepared, tmp_path: Path, shown: str) -> str:
    path = tmp_path / "run.log"
    path.write_text(shown + RAN_OUT)
    first = examine([str(path)], prepared=prepared).diagnosis.outcome.findings[0]
    assert first.problem.id.startswith("MEM")
    return " ".join(first.words().remedy.split())


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_not_advised_again(prepared: Prepared, tmp_path: Path, name: str) -> None:
    told = remedy(prepared, tmp_path, SHOWN[name])
    assert "`gradient_checkpointing=True` is already set" in told
    assert "`per_device_train_batch_size` is 1 already" in told


@pytest.mark.parametrize("name", SAID)
def test_what_is_only_said_is_advised(prepared: Prepared, tmp_path: Path, name: str) -> None:
    told = remedy(prepared, tmp_path, SAID[name])
    assert "already" not in told
    assert "gradient_checkpointing=True" in told
