"""Collects the fact `model`."""

from __future__ import annotations

from pathlib import Path

from doctor.base.evidence import Observed
from doctor.base.fact import NO_COMMAND, Context, DoesNotApply, Unavailable, fact
from doctor.facts.environment import Environment
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

#: framework -> settings that name the model which it trains
_OF_FRAMEWORKS = {
    "llamafactory": ("model_name_or_path",), "axolotl": ("base_model",),
    "openrlhf": ("pretrain", "actor.model_name_or_path"),
    "oumi": ("model.model_name",), "skyrl": ("trainer.policy.model.path",), "areal": ("actor.path",),
    "nemo_rl": ("policy.model_name",), "prime_rl": ("model.name", "trainer.model.name"), "slime": ("hf_checkpoint",),
}  # fmt: skip
_VERL_KEY = "actor_rollout_ref.model.path"
_TRINITY_KEY = "model.model_path"


@fact(about="command")
def collect(
    context: Context,
    launch: Launch | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    framework_config: FrameworkConfig | None,
    environment: Environment | None,
) -> Model:
    """Read the model's files where the program would look for them, else what is known of a model of that name.

    Raises:
        Unavailable: the command names no model, or one that would have to be downloaded and is not well known.

    """
    from doctor.readers.files import model_files

    name = (
        _name(training, serving, verl_config, trinity_config) or _of_sglang(launch) or _of_framework(framework_config)
    )
    if launch is not None and launch.kind == "ray" and launch.not_understood is None:
        raise DoesNotApply("the command starts a node of Ray, which loads no model")
    if name is None:
        raise Unavailable(NO_COMMAND if not context.argv else "the command names no model that can be determined")
    arguments = training.model_arguments if training is not None else {}
    variables = {**context.environ, **(environment.variables if environment else {})}
    folder = model_files.find(
        name,
        Path(launch.folder) if launch is not None and launch.folder else context.cwd,
        variables,
        revision=_text(arguments.get("revision")),
        cache_dir=_text(arguments.get("cache_dir")),
        expand_home=verl_config is not None or trinity_config is not None,
    )
    if folder is not None:
        return model_files.read(name, Path(folder))
    revision = arguments.get("revision")
    known = model_files.well_known(name) if revision is None or revision.value in {None, "main"} else None
    if known is None:
        raise Unavailable(f"model `{name}` is not on this machine")
    return known


def _name(
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> str | None:
    """Name or path of the model, from whichever program the command starts."""
    candidates: list[object] = []
    if training is not None and training.model is not None and training.model.known:
        candidates.append(training.model.value)
    if serving is not None:
        candidates.append(serving.model)
    if verl_config is not None and (setting := verl_config.get(_VERL_KEY)) is not None:
        candidates.append(setting.value)
    if trinity_config is not None and _TRINITY_KEY in trinity_config.settings:
        candidates.append(trinity_config.settings[_TRINITY_KEY].value)
    return next((each for each in candidates if isinstance(each, str) and each.strip()), None)


def _of_framework(config: FrameworkConfig | None) -> str | None:
    """The policy's model among the settings of a framework, where one setting names it."""
    if config is None:
        return None
    found = (config.settings.get(key) for key in _OF_FRAMEWORKS[config.framework])
    named = next((each.value for each in found if each is not None and each.known), None)
    return named if isinstance(named, str) and named.strip() else None


def _of_sglang(launch: Launch | None) -> str | None:
    """What `python -m sglang.launch_server --model-path` names."""
    words = launch.argv if launch is not None and "sglang.launch_server" in launch.argv else ()
    for word, following in zip(words, words[1:]):  # noqa: B905, RUF007 - Python 3.9
        name, equals, text = word.partition("=")
        if name in {"--model-path", "--model"}:
            return text if equals else following
    return None


def _text(setting: Observed | None) -> str | None:
    return setting.value if setting is not None and isinstance(setting.value, str) else None
