"""Collects the fact `adapters`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.base.fact import Context, DoesNotApply, Settings, fact
from doctor.base.patterns import later
from doctor.facts.adapters import Adapter, Adapters
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig

_FILE = "adapter_config.json"
_PARTS = later(r"[=,]")  # `--lora-modules name=path`, `a,b`
#: words and values that are looked at, and how long a path may be
_MOST, _LONGEST = 400, 300


@fact(about="command")
def collect(
    context: Context,
    launch: Launch,
    training: Training | None,
    framework_config: FrameworkConfig | None,
    verl_config: VerlConfig | None,
    script: Script | None,
) -> Adapters:
    """Look at every path that the command may load.

    Raises:
        DoesNotApply: none of them is an adapter's folder.

    """
    from doctor.readers.files.settings import load_json

    folder = launch.folder or str(context.cwd)
    found: dict[str, Adapter] = {}
    for _, name in zip(range(_MOST), _named(launch, training, framework_config, verl_config, script)):  # noqa: B905
        path = os.path.join(folder, name, _FILE)  # noqa: PTH118
        if name in found or not _is_file(path):
            continue
        located = load_json(path)
        if located.broken is None:
            found[name] = Adapter(name, dict(located.settings))
    if not found:
        raise DoesNotApply("the command names no adapter's folder on this machine")
    return Adapters(tuple(found.values()))


def _named(
    launch: Launch,
    training: Training | None,
    framework: FrameworkConfig | None,
    verl: VerlConfig | None,
    script: Script | None,
) -> Iterator[str]:
    """Texts that may be paths of adapters."""
    for word in launch.argv:
        yield from _PARTS.split(word) if len(word) <= _LONGEST else ()
    groups: list[Settings] = [
        *((training.arguments, training.model_arguments) if training is not None else ()),
        *((framework.settings,) if framework is not None else ()),
        *((verl.overrides, verl.base) if verl is not None else ()),
        *(call.arguments for call in (script.calls if script is not None else ())),
    ]
    for settings in groups:
        yield from filter(None, map(_text, settings.values()))


def _text(setting: Observed) -> str | None:
    value = setting.value if setting.known else None
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST and "\n" not in value else None


def _is_file(path: str) -> bool:
    try:
        return os.path.isfile(path)  # noqa: PTH113
    except ValueError:
        return False
