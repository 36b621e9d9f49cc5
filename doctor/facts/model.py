"""The model named by the command, as far as its files lie on this machine."""

from __future__ import annotations

from pathlib import Path

from doctor.core.record import record
from doctor.facts.base import NO_COMMAND, BrokenFile, Context, DoesNotApply, Setting, Unavailable, fact
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

_VERL_KEY = "actor_rollout_ref.model.path"
_TRINITY_KEY = "model.model_path"


@record
class Model:
    """`config.json`, tokenizer files and weights of a local folder or of the Hugging Face cache. None: not stated.

    Args:
        name: as written by the user; `folder` where its files were found.
        weight_bytes: size of the weight files; `lfs_pointers` names files that are Git LFS pointers instead of content.
        parameters: number of parameters, from the safetensors index or headers, else None.
        has_chat_template: from tokenizer_config.json or chat_template.jinja; None without tokenizer files.
        missing_weights: files that the weights' index names and that are not there.
        base_model: of an adapter, what it was trained on.
        rope_type, rope_factor: of `rope_scaling`, by which servers extend `max_position_embeddings`.

    """

    name: str
    folder: str
    model_type: str | None = None
    architectures: tuple[str, ...] = ()
    hidden_size: int | None = None
    layers: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    max_position_embeddings: int | None = None
    torch_dtype: str | None = None
    quantization: str | None = None
    tie_word_embeddings: bool | None = None
    experts: int | None = None
    weight_bytes: int | None = None
    parameters: int | None = None
    lfs_pointers: tuple[str, ...] = ()
    has_tokenizer: bool = False
    has_chat_template: bool | None = None
    has_pad_token: bool | None = None
    eos_token: str | None = None
    pad_token: str | None = None
    is_adapter: bool = False
    broken: BrokenFile | None = None
    missing_weights: tuple[str, ...] = ()
    base_model: str | None = None
    rope_type: str | None = None
    rope_factor: float | None = None


@fact(about="command")
def collect(
    context: Context,
    launch: Launch | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
    environment: Environment | None,
) -> Model:
    """Read the model's files where the program would look for them.

    Raises:
        Unavailable: the command names no model, or it would have to be downloaded.

    """
    from doctor.facts import _model_files

    name = _name(training, serving, verl_config, trinity_config)
    if launch is not None and launch.kind == "ray" and launch.not_understood is None:
        raise DoesNotApply("the command starts a node of Ray, which loads no model")
    if name is None:
        raise Unavailable(NO_COMMAND if not context.argv else "the command names no model that can be told")
    arguments = training.model_arguments if training is not None else {}
    variables = {**context.environ, **(environment.variables if environment else {})}
    folder = _model_files.find(
        name,
        Path(launch.folder) if launch is not None and launch.folder else context.cwd,
        variables,
        revision=_text(arguments.get("revision")),
        cache_dir=_text(arguments.get("cache_dir")),
        expand_home=verl_config is not None or trinity_config is not None,
    )
    if folder is None:
        raise Unavailable(f"model `{name}` is not on this machine")
    return _model_files.read(name, Path(folder))


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


def _text(setting: Setting | None) -> str | None:
    return setting.value if setting is not None and isinstance(setting.value, str) else None
