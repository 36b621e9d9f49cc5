"""Collects the fact `deepspeed_config`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from doctor.base.evidence import Observed, Place
from doctor.base.fact import BrokenFile, Context, DoesNotApply, Unavailable, fact
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.readers.command import swift
from doctor.readers.command.trl_config import launcher_options

#: calls that take a configuration, and their keywords for it
#: (https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.strategies.DeepSpeedStrategy.html)
_TAKE_CONFIG = {
    "initialize": ("config", "config_params"), "DeepSpeedStrategy": ("config",), "DeepSpeedPlugin": ("hf_ds_config",),
}  # fmt: skip


@fact(about="command")
def collect(
    context: Context,
    launch: Launch,
    accelerate_config: AccelerateConfig | None,
    training: Training | None,
    script: Script | None,
) -> DeepspeedConfig:
    """Read the DeepSpeed configuration that the training would use.

    The training argument `deepspeed` wins over what accelerate was told
    (https://github.com/huggingface/transformers/blob/main/src/transformers/training_args.py, `__post_init__`).

    Raises:
        Unavailable: none is named, or the script computes it.

    """
    if not launch.trains and training is None:
        raise DoesNotApply("the command starts no training")
    if swift.is_swift(launch) and (preset := swift.preset_of(launch)) is not None:
        raise Unavailable(f"`{preset}` is a DeepSpeed configuration inside ms-swift, which was not read")
    setting = _named(launch, accelerate_config, training) or _of_calls(script)
    if setting is None:
        seen = launch.kind in {"verl", "trinity", "swift"} or _everything_was_seen(accelerate_config, training)
        raise (DoesNotApply if seen else Unavailable)("no DeepSpeed configuration file is named")
    if not setting.known:
        raise Unavailable("the script computes its DeepSpeed configuration")
    if isinstance(setting.value, Mapping):
        from doctor.readers.files.settings import settings_of

        return DeepspeedConfig(None, settings_of(setting.value, setting.place), setting.place)
    text = str(setting.value)
    if text.lstrip().startswith("{"):
        return _from_text(text, setting)
    return _from_file(os.path.normpath(os.path.join(launch.folder or str(context.cwd), text)), setting)  # noqa: PTH118


def _named(launch: Launch, accelerate_config: AccelerateConfig | None, training: Training | None) -> Observed | None:
    """The setting that names the configuration, None when nothing does."""
    candidates = [training.get("deepspeed") if training is not None else None]
    given = swift.settings_of(launch) if swift.is_swift(launch) else launch.arguments
    candidates += [given.get(name) for name in ("deepspeed", "deepspeed_config")]
    options = launcher_options(launch)
    candidates.append(options.get("deepspeed_config_file"))
    if accelerate_config is not None and "deepspeed_config_file" not in options:
        candidates.append(accelerate_config.settings.get("deepspeed_config.deepspeed_config_file"))
    for each in candidates:
        if each is not None and not (each.known and each.value in (None, True, False, "", "none", "None")):
            return each
    return None


def _of_calls(script: Script | None) -> Observed | None:
    """A file or text that the script itself hands to DeepSpeed, or to what hands it on; several calls tell nothing."""
    calls = script.calls_of(*_TAKE_CONFIG) if script is not None else ()
    given = [call.arguments[name] for call in calls for name in _TAKE_CONFIG[call.name] if name in call.arguments]
    named = [each for each in given if each.known and isinstance(each.value, str)]
    return named[0] if len(given) == len(named) == 1 else None


def _everything_was_seen(accelerate_config: AccelerateConfig | None, training: Training | None) -> bool:
    """Whether a configuration would have shown: all arguments were read, and no file was unreadable."""
    if accelerate_config is not None and accelerate_config.broken is not None:
        return False
    return training is not None and training.complete and training.broken is None


def _from_text(text: str, setting: Observed) -> DeepspeedConfig:
    from doctor.readers.files.json_positions import parse_json

    file = setting.place.file if setting.place else "--deepspeed"
    found = parse_json(text, file)
    place = setting.place or Place(file)
    settings = {
        name: Observed.written(name, each.value, True, each.text, place) for name, each in found.settings.items()
    }
    broken = BrokenFile(place, found.broken.message) if found.broken else None
    return DeepspeedConfig(None, settings, setting.place, broken, found.repeated_keys)


def _from_file(path: str, setting: Observed) -> DeepspeedConfig:
    from doctor.readers.files.settings import load_json

    found = load_json(path)
    return DeepspeedConfig(path, found.settings, setting.place, found.broken, found.repeated_keys)
