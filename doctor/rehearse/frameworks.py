"""Frameworks whose workers no trainer of Transformers enters: recognised, and started only where they take the hook.

veRL's driver is entered by `doctor.monitors.rehearse.verl`, its workers inherit the hook with the Ray that the command
starts itself. Where it is not installed, and of all others, `doctor.rehearse.parts` rehearses data and reward.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from doctor.base.asking import asked
from doctor.base.record import record

#: a word of the command -> framework
_WORDS = (
    (re.compile(r"(?:^|[./])verl\.(?:trainer|recipe|experimental)\b|(?:^|/)verl/trainer/"), "veRL"),
    (re.compile(r"(?:^|/)trinity$|^trinity\.cli"), "Trinity-RFT"),
    (re.compile(r"^openrlhf\.cli\."), "OpenRLHF"),
    (re.compile(r"^skyrl_train\.|(?:^|/)skyrl"), "SkyRL"),
    (re.compile(r"^megatron\.|(?:^|/)pretrain_gpt\.py$"), "Megatron-LM"),
)
#: framework that is started -> its package
_ENTERED = {"veRL": "verl"}
_ASK_S = 20.0


@record
class Adapted:
    """What is started in a command's place.

    Args:
        argv: the command; empty where nothing is started.
        framework: its name, "" for what Transformers' trainers and loops of one's own do.

    """

    argv: tuple[str, ...]
    framework: str = ""


def framework_of(argv: Sequence[str]) -> str:
    """Name of the framework that a command starts; "" of any other command."""
    return next((name for pattern, name in _WORDS if any(pattern.search(each) for each in argv)), "")


def adapted(argv: Sequence[str], python: str | None, named: str = "") -> Adapted:
    """The command as it is rehearsed.

    Args:
        argv: the user's.
        python: the interpreter that it uses; None where that is not known.
        named: the framework that the command's script starts, where its own words do not say so.

    """
    framework = framework_of(argv) or named
    entered = _ENTERED.get(framework)
    if not framework or (entered and python and has_package(python, entered)):
        return Adapted(tuple(argv), framework)
    return Adapted((), framework)


def has_package(python: str, name: str) -> bool:
    """Whether an interpreter finds a package; the package is not imported."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    with suppress(OSError):
        return asked([python, "-c", code], seconds=_ASK_S).code == 0
    return False
