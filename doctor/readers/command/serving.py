"""Collects the fact `serving`."""

from __future__ import annotations

import os

from doctor.base.evidence import Observed
from doctor.base.fact import Context, DoesNotApply, fact
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving, human_int
from doctor.readers.files.located import Located


@fact(about="command")
def collect(context: Context, launch: Launch, environment: Environment | None) -> Serving:
    """Read what the server is told.

    Raises:
        Unavailable: the command starts no server.

    """
    if not launch.serves:
        raise DoesNotApply("the command starts no inference server")
    arguments, read = _arguments(launch, str(context.cwd))

    def text(name: str) -> str | None:
        setting = arguments.get(name)
        return str(setting.value) if setting is not None and setting.known and setting.value not in (None, "") else None

    return Serving(
        kind=launch.kind,
        arguments=arguments,
        model=text("model") or text("model_tag"),
        tensor_parallel_size=_count(arguments.get("tensor_parallel_size")),
        data_parallel_size=_count(arguments.get("data_parallel_size")),
        pipeline_parallel_size=_count(arguments.get("pipeline_parallel_size")),
        dtype=text("dtype"),
        max_model_len=human_int(text("max_model_len")),
        gpu_memory_utilization=_share(text("gpu_memory_utilization")),
        quantization=text("quantization"),
        host=text("host"),
        port=human_int(text("port")),
        has_api_key=_has_key(text("api_key"), launch, environment),
        broken=read.broken if read is not None else None,
        repeated_keys=read.repeated_keys if read is not None else (),
    )


def _has_key(argument: str | None, launch: Launch, environment: Environment | None) -> bool | None:
    """Whether clients must show a key; None when the environment of the command is not known."""
    if argument or launch.environment.get("VLLM_API_KEY"):
        return True
    return bool(environment.get("VLLM_API_KEY")) if environment is not None else None


def _arguments(launch: Launch, cwd: str) -> tuple[dict[str, Observed], Located | None]:
    """The command line over the YAML of `--config`, whose keys may have dashes, and that file."""
    if launch.kind == "swift-rollout":
        return _of_swift(launch), None
    config = launch.arguments.get("config")
    if config is None or not config.text:
        return dict(launch.arguments), None
    from doctor.readers.files.settings import load_yaml

    found = load_yaml(os.path.normpath(os.path.join(launch.folder or cwd, config.text)))  # noqa: PTH118
    theirs = {}
    for name, each in found.settings.items():
        key = name.replace("-", "_")
        theirs[key] = Observed.written(key, each.value, each.known, each.text, each.place)
    return {**theirs, **launch.arguments}, found


def _of_swift(launch: Launch) -> dict[str, Observed]:
    """What `swift rollout` hands to vLLM, by vLLM's names.

    https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rlhf_trainers/args_mixin.py (`VllmArguments`)
    """
    from doctor.readers.command import swift
    from doctor.readers.command.training_swift import model_of

    given = swift.settings_of(launch)
    theirs = {
        name.removeprefix("vllm_"): each
        for name, each in given.items()
        if name.startswith("vllm_") or name in {"host", "port"}
    }
    model = model_of(launch, given)
    if model is not None:
        theirs["model"] = model
    if "torch_dtype" in given:
        theirs["dtype"] = given["torch_dtype"]
    return theirs


def _count(setting: Observed | None) -> int:
    return 1 if setting is None else human_int(str(setting.value)) or 1


def _share(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
