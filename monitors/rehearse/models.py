"""Loaders of models: their first argument leads to a tiny folder, and they run as they are.

`PretrainedConfig.get_config_dict` and `PreTrainedModel.from_pretrained` are where every way of loading passes: Auto
classes, reference and reward models, a `model="name"` that a trainer is given, adapters' base models.
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/configuration_utils.py
https://github.com/huggingface/transformers/blob/v4.46.3/src/transformers/modeling_utils.py
"""

from __future__ import annotations

import functools
from typing import Any, Optional

from doctor.monitors.rehearse import journal, kernels, outputs
from doctor.monitors.rehearse.names import redirected
from doctor.monitors.rehearse.relations import frozen

#: arguments of a loader that say which files of a repository are meant
_WHERE = ("revision", "subfolder", "cache_dir", "trust_remote_code", "token", "variant")


def configurations(module: Any) -> None:
    """Have configurations read from tiny folders."""
    owner = getattr(module, "PreTrainedConfig", None) or module.PretrainedConfig
    original = owner.get_config_dict.__func__

    @functools.wraps(original)
    def get_config_dict(cls: Any, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        named = pretrained_model_name_or_path
        return original(cls, _other(named, kwargs), **kwargs)

    owner.get_config_dict = classmethod(get_config_dict)  # type: ignore[arg-type, unused-ignore]


def weights(module: Any) -> None:
    """Have weights read from tiny folders; the whole of a loading is the phase `model`."""
    owner = module.PreTrainedModel
    original = owner.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        kernels.loading(kwargs)
        with journal.phase("model"):
            if "gguf_file" in kwargs:
                journal.left_out("model", "gguf")
                return original(cls, pretrained_model_name_or_path, *args, **kwargs)
            named = _other(pretrained_model_name_or_path, kwargs)
            made = original(cls, named, *args, **kwargs)
        _loaded(made, pretrained_model_name_or_path, named)
        return made

    owner.from_pretrained = classmethod(from_pretrained)
    outputs.attach(module)
    _made_of_configurations(owner)


@journal.shielded
def _loaded(made: Any, asked: Any, named: Any) -> None:
    """Note what was loaded, and its weights; with `output_loading_info` the model is the first of two."""
    if _Policy.name is None and callable(getattr(made, "generate", None)):
        _Policy.name = str(named)
    journal.write("loaded", name=str(asked), tiny=named is not asked and named != asked)
    frozen.loaded(made[0] if isinstance(made, tuple) else made)


def _made_of_configurations(owner: Any) -> None:
    """Have a model that is made of a configuration, and one whose attention is set later, ask for no card either."""
    original = owner._from_config.__func__  # noqa: SLF001 - what every automatic class calls
    later = getattr(owner, "set_attn_implementation", None)

    @functools.wraps(original)
    def from_config(cls: Any, *args: Any, **kwargs: Any) -> Any:
        kernels.configured(args[0] if args else kwargs.get("config"))
        kernels.loading(kwargs)
        return original(cls, *args, **kwargs)

    owner._from_config = classmethod(from_config)  # noqa: SLF001
    if later is not None:
        owner.set_attn_implementation = _set_later(later)


def _set_later(original: Any) -> Any:
    @functools.wraps(original)
    def set_attn_implementation(self: Any, attn_implementation: Any, *args: Any, **kwargs: Any) -> Any:
        asked = {"attn_implementation": attn_implementation}
        kernels.loading(asked)
        return original(self, asked["attn_implementation"], *args, **kwargs) if asked else None

    return set_attn_implementation


class _Policy:
    name: Optional[str] = None


def policy() -> Optional[str]:
    """The folder that the first model was loaded from that generates; None where none was."""
    return _Policy.name


def adapters(module: Any) -> None:
    """Have a saved adapter remade with its rank and targets for the tiny model."""
    _first_argument(module.PeftModel, "from_pretrained", 1)
    _first_argument(module.PeftModel, "load_adapter", 0)


def _first_argument(owner: Any, name: str, place: int) -> None:
    """Replace the argument of a method that names an adapter: the `place`-th after `self` or `cls`, or `model_id`."""
    bound: Any = owner.__dict__[name]
    original = bound.__func__ if isinstance(bound, classmethod) else bound

    @functools.wraps(original)
    def replaced(self: Any, *args: Any, **kwargs: Any) -> Any:
        words = list(args)
        if "model_id" in kwargs:
            kwargs["model_id"] = redirected(kwargs["model_id"], "adapter")
        elif len(words) > place:
            words[place] = redirected(words[place], "adapter")
        with journal.phase("model"):
            return original(self, *words, **kwargs)

    setattr(owner, name, classmethod(replaced) if isinstance(bound, classmethod) else replaced)


def _other(name: Any, kwargs: dict[str, Any]) -> Any:
    return redirected(name, **(_where(kwargs) or {}))


@journal.shielded
def _where(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {key: kwargs[key] for key in _WHERE if kwargs.get(key) not in (None, "")}
