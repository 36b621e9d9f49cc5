"""DeepSpeed's JSON, from a file or from a dictionary in the script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field

from doctor.core.record import record
from doctor.facts import _swift
from doctor.facts._trl_config import launcher_options
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.base import BrokenFile, Context, DoesNotApply, Place, Setting, Settings, Unavailable, fact
from doctor.facts.launch import Launch
from doctor.facts.training import Training


@record
class DeepspeedConfig:
    """Keys dotted (`zero_optimization.stage`), each with its place. Values "auto" are kept as the text "auto".

    `named_by`: where the path was written (accelerate YAML, training argument, command line: None).
    """

    path: str | None
    settings: Settings = field(default_factory=dict)
    named_by: Place | None = None
    broken: BrokenFile | None = None
    duplicate_keys: Mapping[str, int] = field(default_factory=dict)  # key -> line of the second one

    @property
    def zero_stage(self) -> int | None:
        """ZeRO stage that the file states; 0 where it has no `zero_optimization`, None when it cannot be read."""
        if self.broken:
            return None
        stage = self.settings.get("zero_optimization.stage")
        if stage is None:
            return 0
        return stage.value if isinstance(stage.value, int) else None

    def offload(self, what: str) -> str:
        """Device that "optimizer" or "param" is offloaded to: "none", "cpu" or "nvme"."""
        device = self.settings.get(f"zero_optimization.offload_{what}.device")
        if device is not None:
            return device.value if device.value in {"cpu", "nvme"} else "none"
        name = "cpu_offload" if what == "optimizer" else "cpu_offload_params"  # before DeepSpeed 0.4
        old = self.settings.get(f"zero_optimization.{name}")
        return "cpu" if old is not None and old.value is True else "none"

    @property
    def precision(self) -> str | None:
        """What is switched on: "fp16" or "bf16"; "no" where both are off by name, else None."""
        states = {name: self.settings.get(f"{name}.enabled") for name in ("bf16", "bfloat16", "fp16")}
        for name, state in states.items():
            if state is not None and state.value is True:
                return "fp16" if name == "fp16" else "bf16"
        known = [state for state in states.values() if state is not None]
        return "no" if len(known) >= 2 and all(state.value is False for state in known) else None


@fact(about="command")
def collect(
    context: Context, launch: Launch, accelerate_config: AccelerateConfig | None, training: Training | None
) -> DeepspeedConfig:
    """Read the DeepSpeed configuration that the training would use.

    The training argument `deepspeed` wins over what accelerate was told
    (https://github.com/huggingface/transformers/blob/main/src/transformers/training_args.py, `__post_init__`).

    Raises:
        Unavailable: none is named, or the script computes it.

    """
    if not launch.trains:
        raise DoesNotApply("the command starts no training")
    if _swift.is_swift(launch) and (preset := _swift.preset_of(launch)) is not None:
        raise Unavailable(f"`{preset}` is a DeepSpeed configuration inside ms-swift, which was not read")
    setting = _named(launch, accelerate_config, training)
    if setting is None:
        seen = launch.kind in {"verl", "trinity", "swift"} or _everything_was_seen(accelerate_config, training)
        raise (DoesNotApply if seen else Unavailable)("no DeepSpeed configuration file is named")
    if not setting.known:
        raise Unavailable("the script computes its DeepSpeed configuration")
    if isinstance(setting.value, Mapping):
        from doctor.facts.located import settings_of

        return DeepspeedConfig(None, settings_of(setting.value, setting.place), setting.place)
    text = str(setting.value)
    if text.lstrip().startswith("{"):
        return _from_text(text, setting)
    return _from_file(os.path.normpath(os.path.join(launch.folder or str(context.cwd), text)), setting)  # noqa: PTH118


def _named(launch: Launch, accelerate_config: AccelerateConfig | None, training: Training | None) -> Setting | None:
    """The setting that names the configuration, None when nothing does."""
    candidates = [training.get("deepspeed") if training is not None else None]
    given = _swift.settings_of(launch) if _swift.is_swift(launch) else launch.arguments
    candidates += [given.get(name) for name in ("deepspeed", "deepspeed_config")]
    options = launcher_options(launch)
    candidates.append(options.get("deepspeed_config_file"))
    if accelerate_config is not None and "deepspeed_config_file" not in options:
        candidates.append(accelerate_config.settings.get("deepspeed_config.deepspeed_config_file"))
    for each in candidates:
        if each is not None and not (each.known and each.value in (None, True, False, "", "none", "None")):
            return each
    return None


def _everything_was_seen(accelerate_config: AccelerateConfig | None, training: Training | None) -> bool:
    """Whether a configuration would have shown: all arguments were read, and no file was unreadable."""
    if accelerate_config is not None and accelerate_config.broken is not None:
        return False
    return training is not None and training.complete and training.broken is None


def _from_text(text: str, setting: Setting) -> DeepspeedConfig:
    from doctor.facts._json_positions import parse_json

    file = setting.place.file if setting.place else "--deepspeed"
    found = parse_json(text, file)
    place = setting.place or Place(file)
    settings = {name: Setting(name, each.value, True, each.text, place) for name, each in found.settings.items()}
    broken = BrokenFile(place, found.broken.message) if found.broken else None
    return DeepspeedConfig(None, settings, setting.place, broken, found.duplicate_keys)


def _from_file(path: str, setting: Setting) -> DeepspeedConfig:
    from doctor.facts.located import load_json

    found = load_json(path)
    return DeepspeedConfig(path, found.settings, setting.place, found.broken, found.duplicate_keys)
