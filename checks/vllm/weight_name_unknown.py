"""vLLM is handed a weight that its model does not have.

## What it means
vLLM has model classes of its own and maps names of checkpoints to them. Names with another prefix
(`base_model.model.` of PEFT, `model.language_model.` of a multimodal wrapper) are found nowhere in it.
## What it does to a run
Loading the model, or the first transfer of trained weights, ends with a ValueError.
## What to do
Hand over names and a model class that belong together.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/12961
https://github.com/huggingface/trl/issues/5269
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL036", name="vllm-weight-name-unknown", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"There is no module or parameter named '(?P<name>[\w.\-]{1,200})' in (?P<model>\w{1,80})"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's `{model}` has no weight `{name}`",
        "The names that were handed over do not belong to the class that vLLM chose: a checkpoint of "
        "another architecture or transformers release, a text-only checkpoint of a multimodal family, or "
        "a layer that vLLM's class lacks.",
        "Compare `architectures` in config.json with what vLLM loads; choose the class with "
        '`--hf-overrides \'{{"architectures": ["..."]}}\'`, upgrade vLLM (and TRL or veRL for a weight '
        "transfer) to releases that know the model, or convert the checkpoint to the original names.",
    ),
    zh=Words(
        "vLLM 的 `{model}` 没有权重 `{name}`",
        "传入的名称不属于 vLLM 选用的模型类:检查点属于其他架构或其他 transformers 版本,多模态系列的纯文本"
        "检查点,或 vLLM 的类缺少该层。",
        '把 config.json 中的 `architectures` 与 vLLM 加载的类比较;用 `--hf-overrides \'{{"architectures": '
        '["..."]}}\'` 指定类;把 vLLM(权重传输时还有 TRL 或 veRL)升级到支持该模型的版本;或把检查点转换回原'
        "来的名称。",
    ),
)

LOG_MESSAGE_PEFT = Message(
    en=Words(
        "weights of a PEFT model were handed to vLLM under their adapter names (`{name}`)",
        "`base_model.model.` is PEFT's wrapper; vLLM's `{model}` knows only the plain model. The adapter "
        "was neither merged nor loaded as an adapter.",
        "Merge it before saving or sending (`merge_and_unload()`, `merge_adapter()`), or serve it as an "
        "adapter: `--enable-lora --lora-modules name=PATH`. In TRL 0.15 and newer, in veRL and OpenRLHF "
        "the trainer does the merging: upgrade it.",
    ),
    zh=Words(
        "PEFT 模型的权重以适配器名称(`{name}`)交给了 vLLM",
        "`base_model.model.` 是 PEFT 的外壳;vLLM 的 `{model}` 只认识原始模型。适配器既没有合并,也没有作为适配器加载。",
        "在保存或发送之前合并(`merge_and_unload()`、`merge_adapter()`);或作为适配器提供服务"
        ":`--enable-lora --lora-modules 名称=路径`。TRL 0.15 及以上、veRL 和 OpenRLHF 的训练器会自行合并:"
        "请升级。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """A PEFT wrapper shows by its prefix."""
    name = hits.get("name") or ""
    peft = name.startswith("base_model") or "lora_" in name
    return found(
        PROBLEM,
        LOG_MESSAGE_PEFT if peft else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if peft else LIKELY,
        name=name,
        model=hits.get("model"),
    )
