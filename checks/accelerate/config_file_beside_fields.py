"""A DeepSpeed configuration file stands beside fields that it decides.

## What it means
The accelerate YAML holds `zero_stage`, offload devices, `gradient_accumulation_steps`, `gradient_clipping`,
`zero3_save_16bit_model` or `mixed_precision`, and a DeepSpeed JSON is named as well, in the YAML or as `deepspeed=`
of the training arguments.
## What it does to a run
Accelerate refuses the pair: `When using deepspeed_config_file, the following accelerate config variables will be
ignored`, a ValueError on every rank while the training arguments are built.
## What to do
Keep the JSON and remove these fields from the YAML, or the other way round.
## How it is found
The names that accelerate itself compares, looked up in the YAML.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
https://huggingface.co/docs/accelerate/usage_guides/deepspeed
"""

from __future__ import annotations

from doctor.checks.launch._helpers import options_are_plain, proof, proofs, unread_config, written
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(id="ACC001", name="accelerate-config-file-beside-fields", severity=ERROR, since="0.1")

#: what accelerate's DeepSpeedPlugin compares with ACCELERATE_CONFIG_DS_FIELDS
FIELDS = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip

MESSAGE = Message(
    en=Words(
        "The accelerate file sets {fields} beside the DeepSpeed file named in {place}",
        "Accelerate refuses the pair on every rank: `When using deepspeed_config_file, the following accelerate config "
        "variables will be ignored`. The run ends before the model is loaded.",
        "Remove these lines from the accelerate file and set them in the DeepSpeed file.",
    ),
    zh=Words(
        "accelerate 配置里的 {fields} 与 {place} 指定的 DeepSpeed 配置文件并存",
        "Accelerate 在每个 rank 上都会拒绝:`When using deepspeed_config_file, the following accelerate config "
        "variables will be ignored`。模型还没加载就退出。",
        "从 accelerate 配置中删去这些行,改在 DeepSpeed 配置文件里设置。",
    ),
)

SIGNATURES = (
    Signature(
        r"ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored:"
        r" \[(?P<fields>[^\]\n]{1,400})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the accelerate configuration names a `deepspeed_config_file` and sets {fields} beside it",
        "With a DeepSpeed file Accelerate takes these from there only, and refuses to start where both say "
        "something. Often the default file in ~/.cache/huggingface/accelerate is read without being meant.",
        "Remove these lines from the accelerate file (or options from `accelerate launch`) and set them in the "
        "DeepSpeed JSON; or make the file anew with `accelerate config`; name the one that is meant with "
        "`--config_file`.",
    ),
    zh=Words(
        "accelerate 配置指定了 `deepspeed_config_file`,同时又设置了 {fields}",
        "使用 DeepSpeed 文件时 Accelerate 只从中读取这些项,两处都有时拒绝启动。常见情形是无意中读取了 "
        "~/.cache/huggingface/accelerate 中的默认文件。",
        "从 accelerate 文件(或 `accelerate launch` 的选项)删去这些项,并写入 DeepSpeed JSON;或用 `accelerate config` "
        "重新生成;用 `--config_file` 指明要用的文件。",
    ),
)


@check(PROBLEM)
def config_file_beside_fields(
    launch: Launch, accelerate: AccelerateConfig | None, training: Training | None
) -> Judgement:
    """The JSON of the YAML or of the training arguments, both go through the same test of accelerate."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    settings = accelerate.settings
    kind = settings.get("distributed_type")
    if launch.kind not in {"accelerate", "trl"} or kind is None or kind.value != "DEEPSPEED":
        return
    file = settings.get("deepspeed_config.deepspeed_config_file") or launch.option("deepspeed_config_file")
    if file is None and training is not None:
        file = training.get("deepspeed")
    if file is None or file.value in {None, "none", ""}:
        return
    beside = [settings[name] for name in (f"deepspeed_config.{each}" for each in FIELDS) if name in settings]
    precision = settings.get("mixed_precision")
    plain = options_are_plain(launch) and launch.option("mixed_precision") is None
    if precision is not None and precision.value is not None and plain:
        beside.append(precision)
    if beside:
        names = ", ".join(f"`{each.name.removeprefix('deepspeed_config.')}`" for each in beside)
        yield found(
            PROBLEM,
            MESSAGE,
            fields=names,
            place=written(file),
            where=place_of(*beside),
            evidence=(*proofs(*beside), proof(file)),
        )


def explain(hits: Hits) -> Finding:
    """With the fields that the exception names, as far as its first line goes."""
    names = [each.strip().strip("'\"") for each in (hits.get("fields") or "").split(",")]
    fields = ", ".join(f"`{each}`" for each in names if each)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, fields=fields
    )
