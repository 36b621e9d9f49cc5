"""FSDP is to wrap a layer class that the model does not have.

## What it means
`fsdp_transformer_layer_cls_to_wrap` names the layer of another model family than the one that is trained: the file was
taken over from another run.
## What it does to a run
Every rank ends with `Could not find the transformer layer class ... in the model`, after the model was loaded.
## What to do
Name the layer of this model, or remove the line: accelerate then takes the model's own list.
## How it is found
The named class against the architecture in the model's `config.json`, for families whose classes are known.
In a log: by accelerate's exception.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
https://huggingface.co/docs/transformers/fsdp
https://github.com/hiyouga/EasyR1/issues/15
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.model import Model

PROBLEM = Problem(id="FSD006", name="fsdp-wrong-layer-class", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Exception|ValueError): Could not find (?:the|a) transformer layer class (?:called"
        r" )?'?(?!to wrap)(?P<layer>[A-Za-z_]\w{0,80})",
    ),
    Signature(r"Exception: Could not find the transformer layer class to wrap in the model"),
    Signature(
        r"^Exception: Cannot find (?P<layer>[A-Za-z_]\w{0,80}) in pretrained model",
        frame=r"fsdp_utils\.py:get_fsdp_wrap_policy$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP is on and is to wrap `{layer}`, which the model does not have",
        "The class that `transformer_layer_cls_to_wrap` names belongs to another model. Where FSDP was "
        "not meant at all, a stale default configuration decides: "
        "`~/.cache/huggingface/accelerate/default_config.yaml`, left over from another project.",
        "Name the decoder layer of this model (`Qwen2DecoderLayer`, `LlamaDecoderLayer` ...), or remove "
        "`fsdp_transformer_layer_cls_to_wrap` so that the model's own list is used. If FSDP was not "
        "wanted, delete that default file or pass `--config_file` explicitly.",
    ),
    zh=Words(
        "FSDP 已开启,要包装模型中没有的 `{layer}`",
        "`transformer_layer_cls_to_wrap` 指定的类属于另一个模型。如果根本不打算用 FSDP,则是过期的默认配置"
        "在起作用:另一个项目遗留的 `~/.cache/huggingface/accelerate/default_config.yaml`。",
        "写上该模型的解码层(`Qwen2DecoderLayer`、`LlamaDecoderLayer` 等),或删除 "
        "`fsdp_transformer_layer_cls_to_wrap`,以采用模型自带的列表。如果不想用 FSDP,删除该默认文件或显式"
        "传入 `--config_file`。",
    ),
)

#: veRL and its relatives take the names from the model's class, not from a setting of the user's
DECLARED = Message(
    en=Words(
        "FSDP is to wrap `{layer}`, which the loaded model does not contain",
        "The name comes from the model's class in the installed Transformers (`_no_split_modules`), or from "
        "`fsdp_config.wrap_policy.transformer_layer_cls_to_wrap`. A development build, or a release that was made "
        "before this model was complete, names layers of a related model.",
        "Install a release of Transformers that knows the model whole (Qwen2.5-VL: 4.49 and newer, not `4.49.0.dev0`): "
        "`pip install -U transformers`; or name the model's own decoder layer in "
        "`fsdp_config.wrap_policy.transformer_layer_cls_to_wrap`.",
    ),
    zh=Words(
        "FSDP 要包装 `{layer}`,而加载的模型中没有它",
        "该名称来自所装 Transformers 中的模型类(`_no_split_modules`),或来自 "
        "`fsdp_config.wrap_policy.transformer_layer_cls_to_wrap`。开发版,或在该模型完善之前发布的版本,会写着相近模型的"
        "层。",
        "安装完整支持该模型的 Transformers 正式版(Qwen2.5-VL:4.49 及以上,不是 `4.49.0.dev0`):`pip install -U "
        "transformers`;或在 `fsdp_config.wrap_policy.transformer_layer_cls_to_wrap` 中写上该模型自己的解码层。",
    ),
)

#: families whose `XForCausalLM` consists of `XDecoderLayer` and of no other family's layers
FAMILIES = frozenset({
    "Llama", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Mistral", "Mixtral", "Gemma", "Gemma2", "Gemma3", "Phi3",
    "DeepseekV2", "DeepseekV3", "Olmo2", "GptOss", "Glm4", "Granite", "Cohere",
})  # fmt: skip

MESSAGE = Message(
    en=Words(
        "FSDP is to wrap `{named}`, and {model} is made of `{actual}`",
        "Every rank ends with `Could not find the transformer layer class {named} in the model`, after the model was "
        "loaded.",
        "Name `{actual}`, or remove the line so that accelerate takes the model's own list.",
    ),
    zh=Words(
        "FSDP 要包装 `{named}`,而 {model} 由 `{actual}` 组成",
        "模型加载完之后,每个 rank 都会以 `Could not find the transformer layer class {named} in the model` 退出。",
        "改成 `{actual}`,或删去这一行,让 accelerate 采用模型自带的列表。",
    ),
)


@check(PROBLEM)
def wrong_layer_class(launch: Launch, accelerate: AccelerateConfig | None, model: Model) -> Judgement:
    """Only where both names are of known families is the mismatch proven."""
    setting = fsdp_setting(launch, accelerate, "transformer_layer_cls_to_wrap")
    if not uses_fsdp(launch, accelerate) or setting is None or not setting.known or len(model.architectures) != 1:
        return
    family = model.architectures[0].removesuffix("ForCausalLM")
    if family == model.architectures[0] or family not in FAMILIES:
        return
    actual = f"{family}DecoderLayer"
    for named in (part.strip() for part in str(setting.value).split(",")):
        other = named.removesuffix("DecoderLayer")
        if named not in {actual, other} and other in FAMILIES:
            yield found(
                PROBLEM,
                MESSAGE,
                named=named,
                model=model.architectures[0],
                actual=actual,
                where=place_of(setting),
                commands=(f"fsdp_transformer_layer_cls_to_wrap: {actual}",),
                evidence=(proof(setting), Evidence("config.json", f"architectures: {model.architectures[0]}")),
            )


def explain(hits: Hits) -> Finding | None:
    """Name the class where the release says it; a default configuration may be what asked for FSDP."""
    layer = hits.get("layer") or "a layer class"
    message = DECLARED if hits.first.signature == 2 else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, layer=layer)
