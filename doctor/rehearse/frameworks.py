"""Frameworks whose workers no trainer of Transformers enters: recognised, and given a rehearsal's values or left alone.

veRL takes Hydra overrides, in which `++` sets a key whether it is there or not
(https://hydra.cc/docs/advanced/override_grammar/basic/); its keys:
https://verl.readthedocs.io/en/latest/examples/config.html. Its workers inherit the start-up hook with the
environment of the Ray that the command starts itself. Where its workers cannot run, `doctor.rehearse.parts` rehearses
data and reward.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doctor.base.record import record

#: a word of the command -> framework
_WORDS = (
    (re.compile(r"(?:^|[./])verl\.(?:trainer|recipe|experimental)\b|(?:^|/)verl/trainer/"), "veRL"),
    (re.compile(r"(?:^|/)trinity$|^trinity\.cli"), "Trinity-RFT"),
    (re.compile(r"^openrlhf\.cli\."), "OpenRLHF"),
    (re.compile(r"^skyrl_train\.|(?:^|/)skyrl"), "SkyRL"),
    (re.compile(r"^megatron\.|(?:^|/)pretrain_gpt\.py$"), "Megatron-LM"),
)
_ADAPTED = ("veRL",)


@record
class Adapted:
    """What is started in a command's place.

    Args:
        argv: with a rehearsal's values; empty where nothing is started.
        framework: its name, "" for what Transformers' trainers and loops of one's own do.

    """

    argv: tuple[str, ...]
    framework: str = ""


def framework_of(argv: Sequence[str]) -> str:
    """Name of the framework that a command starts; "" of any other command."""
    return next((name for pattern, name in _WORDS if any(pattern.search(each) for each in argv)), "")


def adapted(argv: Sequence[str], root: Path, wishes: Any, *, gpu: bool) -> Adapted:
    """The command as it is rehearsed.

    Args:
        argv: the user's.
        root: the rehearsal's own folder.
        wishes: what is asked of it.
        gpu: whether this machine has one; without it none of the frameworks starts.

    """
    framework = framework_of(argv)
    if not framework:
        return Adapted(tuple(argv))
    if framework not in _ADAPTED or not gpu:
        return Adapted((), framework)
    return Adapted((*argv, *_of_verl(argv, root, wishes.steps)), framework)


def _of_verl(argv: Sequence[str], root: Path, steps: int) -> list[str]:
    """Overrides that end a run after its first steps and keep what it writes in the rehearsal's folder."""
    out = root / "out" / "verl"
    values = {
        "trainer.total_training_steps": steps, "trainer.logger": "[console]", "trainer.resume_mode": "disable",
        "trainer.default_local_dir": out, "trainer.val_before_train": False,
        "data.train_max_samples": 64, "data.val_max_samples": 16,
    }  # fmt: skip
    for name in ("trainer.save_freq", "trainer.test_freq"):
        if _is_on(argv, name):
            values[name] = steps
    return [f"++{name}={value}" for name, value in values.items()]


def _is_on(argv: Sequence[str], name: str) -> bool:
    """Whether a frequency is set to something above 0; veRL's own default is off."""
    found = [each.lstrip("+").partition("=")[2] for each in argv if each.lstrip("+").startswith(f"{name}=")]
    return bool(found) and found[-1].isdecimal() and int(found[-1]) > 0
