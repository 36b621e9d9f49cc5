"""Collects the fact `training`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import NO_COMMAND, Context, DoesNotApply, Unavailable, fact
from doctor.base.record import replace
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.script import Script
from doctor.facts.training import Training

#: programs with arguments of their own
_OTHERS = {"verl": "veRL", "trinity": "Trinity-RFT"}


@fact(about="command")
def collect(
    context: Context, launch: Launch, script: Script | None, framework_config: FrameworkConfig | None = None
) -> Training:
    """Read what the launch command trains.

    Raises:
        Unavailable: it trains nothing, or trains with something else than TRL or Transformers.

    """
    if not context.argv and launch.kind == "unknown":
        raise Unavailable(NO_COMMAND)
    if framework_config is not None and framework_config.framework == "llamafactory" and framework_config.files:
        from doctor.readers.command.training_llamafactory import of_llamafactory

        return of_llamafactory(framework_config, {**context.environ, **launch.environment})
    if not launch.trains:
        raise DoesNotApply("the command starts no training")
    if launch.kind in _OTHERS:
        raise DoesNotApply(f"the command trains with {_OTHERS[launch.kind]}")
    from doctor.readers.command import swift, training_command

    if swift.is_swift(launch):
        from doctor.readers.command.training_swift import of_swift

        return of_swift(launch)
    folder = launch.folder or str(context.cwd)
    if launch.kind == "trl":
        return _with_absent_data(training_command.of_trl(launch, folder), folder)
    if script is None and framework_config is not None:
        raise DoesNotApply(f"the command trains with {framework_config.framework}")
    if script is None:
        raise Unavailable("the command names no script that can be read")
    if script.broken is not None:
        line = f", line {script.broken.place.line}" if script.broken.place.line else ""
        raise Unavailable(f"the script cannot be read{line}: {script.broken.message}")
    return _with_absent_data(training_command.of_script(launch, script, folder), folder)


#: what nobody would call a repository of the hub
_DATA = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".json.gz", ".arrow")


def _with_absent_data(training: Training, folder: str) -> Training:
    """The same with the data files that are named and not there; patterns, addresses and folders are left alone."""
    setting = training.dataset
    if setting is None or not setting.known:
        return training
    absent = tuple(each for each in _named_files(setting.value) if not os.path.exists(os.path.join(folder, each)))  # noqa: PTH110, PTH118
    return replace(training, data_absent=absent) if absent else training


def _named_files(value: Any) -> Iterator[str]:
    """Files of `"a.jsonl"`, a list, or `{"train": ...}`."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value[:16]:
            yield from _named_files(each)
    elif (
        isinstance(value, str)
        and value.lower().endswith(_DATA)
        and not any(sign in value for sign in ("://", "*", "?", "[", "{", "~", "\0"))
    ):
        yield value


# --- what an argument will be ----------------------------------------------------------------------------------------


def effective(training: Training, name: str, default: Any) -> Observed | None:
    """The explicit setting of an argument, else `default`; None when neither can be told."""
    explicit = training.get(name)
    if explicit is not None:
        return explicit if explicit.known else None
    return Observed.written(name, default, text="default") if training.complete else None
