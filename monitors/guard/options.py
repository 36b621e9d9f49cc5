"""What the guard may be told: by keyword, by DOCTOR_GUARD_* variables, by `[guard]` in doctor.toml."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Mapping, Optional

from doctor.base.record import replace
from doctor.monitors.guard.policy import Policies
from doctor.run.patience import touch

#: `DOCTOR_GUARD_POLICY="NUM006=stop,RLX=warn"`, `DOCTOR_GUARD_LOCATE_S=10` ...
PREFIX = "DOCTOR_GUARD_"

#: file in the working directory or above whose section `[guard]` counts
SETTINGS = "doctor.toml"

_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


@dataclass(frozen=True)
class Options:
    """Settings of one guard.

    Args:
        policy: problem id, area or `*` -> policy (see `Policies`).
        locate_s: seconds that the search for the module in which a NaN was born may take.
        hang_factor: no step for this many times the median step means that the run is stuck.
        hang_at_least_s: and for no less than this many seconds.
        witness: whether a trainer's rollout engine is asked what the trained policy is asked, too.
        witness_every: updates between two rounds of the witness after the first ones; 0: no more of them.
        trackers: whether alarms go to wandb, tensorboard and trackio where those are active.
        lang: "en" or "zh"; None: the locale's.

    """

    policy: Mapping[str, str] = field(default_factory=dict)
    locate_s: float = 30.0
    hang_factor: float = 10.0
    hang_at_least_s: float = 120.0
    witness: bool = True
    witness_every: float = 50.0
    trackers: bool = True
    lang: Optional[str] = None

    @property
    def policies(self) -> Policies:
        """The policies, checked.

        Raises:
            ValueError: one is unknown.

        """
        return Policies(self.policy)

    @property
    def language(self) -> str:
        """Language of the alarms."""
        if self.lang:
            return self.lang
        locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
        return "zh" if locale.startswith("zh") else "en"


def options(**keywords: Any) -> Options:
    """Settings from doctor.toml, over them the variables, over them the keywords; what is wrong there is told.

    Raises:
        ValueError: a keyword is unknown or has a wrong value: the caller's own code, before the run begins. What is
            wrong in a file or a variable is told on standard error and left out.

    """
    made = Options()
    for source, values in (("doctor.toml", _of_file()), ("the environment", _of_variables())):
        for name, value in values.items():
            try:
                made = _with(made, name, value)
            except ValueError as error:
                sys.stderr.write(f"doctor: guard: `{name}` of {source} is left out: {error}\n")
    for name, value in keywords.items():
        if value is not None:
            made = _with(made, name, value)
    return made


def _with(made: Options, name: str, value: Any) -> Options:
    """The settings with one more; policies are added to those known."""
    known = {each.name: each for each in fields(Options)}
    if name not in known:
        raise ValueError(f"no such setting; known are {', '.join(known)}")
    if name == "policy":
        given = _pairs(value) if isinstance(value, str) else dict(value)
        Policies(given)
        return replace(made, policy={**made.policy, **given})
    if name in ("trackers", "witness"):
        truths: dict[str, Any] = {name: _truth(value)}
        return replace(made, **truths)
    if name == "lang":
        if value not in ("en", "zh"):
            raise ValueError(f"`{value}` is neither en nor zh")
        return replace(made, lang=str(value))
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(f"`{value}` is not a number of this kind")
    numbers: dict[str, Any] = {name: number}
    return replace(made, **numbers)


def _pairs(text: str) -> dict[str, str]:
    """`NUM006=stop,RLX=warn` as pairs; a policy alone is meant for all problems."""
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, sign, name = part.partition("=")
        found[key if sign else "*"] = name if sign else key
    return found


def _truth(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        raise ValueError(f"`{value}` is neither yes nor no")
    return text in _YES


def _of_variables() -> dict[str, Any]:
    names = {each.name for each in fields(Options)}
    found = {name: os.environ.get(PREFIX + name.upper()) for name in names}
    return {name: value for name, value in found.items() if value}


def _of_file() -> dict[str, Any]:
    """`[guard]` of the nearest doctor.toml, where this Python can read TOML (3.11 and newer, or with tomli)."""
    return touch(_read, {})


def _read() -> dict[str, Any]:
    path = next((each / SETTINGS for each in _folders() if (each / SETTINGS).is_file()), None)
    reader = next((each for each in map(_module, ("tomllib", "tomli")) if each is not None), None)
    if path is None or reader is None:
        return {}
    try:
        section = reader.loads(path.read_text(encoding="utf-8")).get("guard", {})
    except (OSError, ValueError) as error:
        sys.stderr.write(f"doctor: guard: {path} is left out: {error}\n")
        return {}
    return dict(section) if isinstance(section, dict) else {}


def _folders() -> list[Path]:
    here = Path.cwd()
    return [here, *here.parents]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
