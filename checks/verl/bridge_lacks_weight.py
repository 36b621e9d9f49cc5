"""The weights of a Hugging Face model could not be brought into Megatron's model.

## What it means
A bridge (mbridge, Megatron-Bridge, the one of ms-swift) or veRL's own loader maps each name of Megatron's model to
names in the checkpoint. A name is missing in the files, or the mapping does not know a part of this model.
## What it does to a run
The run ends while the model is built.
## What to do
Give it a whole checkpoint in safetensors, and a bridge that knows model, Megatron and Transformers of these releases.
## How it is found
In a log: by the errors of the bridges.
## References
https://github.com/ISEEKYAN/mbridge/blob/main/mbridge/core/safetensor_io.py
https://github.com/verl-project/verl/issues/3256
https://github.com/verl-project/verl/issues/3286
https://github.com/verl-project/verl/issues/2082
https://github.com/modelscope/ms-swift/issues/8099
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL029", name="bridge-lacks-weight", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^ValueError: Weights [\[{]'(?P<file>[\w.]{1,200})'[^\n]{0,8000}?\bnot found in safetensors files"),
    Signature(
        r"^KeyError: '(?P<file>[\w.]{1,200})'",
        frame=r"mbridge[\\/]core[\\/]safetensor_io\.py:load_some_hf_weight$",
    ),
    Signature(
        r"^NotImplementedError: Not implemented for deprecated pytorch_model-\*\.bin format"
        r" huggingface weights(?P<old>\b)"
    ),
    Signature(
        r"^(?:NotImplementedError: Unsupported parameter name: |KeyError: ')(?P<name>[\w.]{1,200})",
        frame=r"[\\/]mbridge[\\/]\S{1,120}:_weight_name_mapping_\w{1,40}$",
    ),
    Signature(
        r"^AssertionError: incompatible_keys\.(?:missing|unexpected)_keys: \['(?P<name>[\w.]{1,200})'",
    ),
    Signature(
        r"^AttributeError: '(?P<layer>\w{0,40}MoE\w{0,40})' object has no attribute '(?:linear_fc[12])'",
    ),
    Signature(
        r"No mapping found for megatron_param: (?P<adapter>[\w.]{0,160}\.(?:adapter|to_wrap)\.[\w.]{1,80})",
        kind="warning",
    ),
    Signature(
        r"No mapping found for megatron_param: (?P<name>(?![\w.]{0,160}\.(?:adapter|to_wrap)\.)[\w.]{1,200})",
        kind="warning",
    ),
)

FILES = Message(
    en=Words(
        "the model folder lacks weights that Megatron's loader asks for{which}",
        "It reads safetensors files by the names of the model's architecture. The download is not complete (LFS "
        "pointers, missing shards, an index that names other files), the folder is another one than meant (a node "
        "without the shared disk, a folder with the tokenizer alone), the weights are in the old `.bin` format, or "
        "they carry other names (an adapter, a quantized or converted model).",
        "On every node look at the folder of `actor_rollout_ref.model.path`: all files that "
        "`model.safetensors.index.json` names, with their full size. Download again (`hf download MODEL "
        "--local-dir DIR`), or convert: `AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW, "
        "safe_serialization=True)`; merge an adapter first.",
    ),
    zh=Words(
        "模型目录缺少 Megatron 加载器所需的权重{which_zh}",
        "它按模型架构的名称读取 safetensors 文件。下载不完整(LFS 指针、缺少分片、index 指向别的文件),目录不对(某节"
        "点没有共享磁盘,或只有 tokenizer),权重是旧的 `.bin` 格式,或名称不同(适配器、量化或转换过的模型)。",
        "在每个节点查看 `actor_rollout_ref.model.path` 目录:`model.safetensors.index.json` 中的所有文件都在且大小完"
        "整。重新下载(`hf download MODEL --local-dir DIR`),或转换"
        ":`AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(NEW, safe_serialization=True)`;适配器请先合并"
        "。",
    ),
)

MAPPING = Message(
    en=Words(
        "the bridge between Hugging Face and Megatron does not know `{name}`",
        "Its table of names was written for another layout of this model: another release of Megatron-Core or a "
        "layer without Transformer Engine (other modules, hence other names), grouped instead of single experts, "
        "or a Transformers 5 that keeps a layer's experts in one tensor (`experts.gate_up_proj`).",
        "Install the set that the framework names: veRL's, slime's or ms-swift's image, or the pins of its "
        "installation guide for mbridge or Megatron-Bridge, megatron-core, transformer_engine and transformers. "
        "With a Transformers 5 beside an older bridge: `pip install 'transformers<5'`, or upgrade the bridge. "
        "Check that Transformer Engine imports (`python -c 'import transformer_engine.pytorch'`), and use "
        "`moe_grouped_gemm` for experts.",
    ),
    zh=Words(
        "Hugging Face 与 Megatron 之间的桥接不认识 `{name}`",
        "其名称表是为该模型的另一种布局编写的:另一版本的 Megatron-Core,没有 Transformer Engine 的层(模块不同,名称也"
        "不同),分组而非单个的专家,或 Transformers 5 把一层的专家放在同一个张量中(`experts.gate_up_proj`)。",
        "安装框架指定的组合:veRL、slime 或 ms-swift 的镜像,或其安装指南中 mbridge(或 Megatron-Bridge)、"
        "megatron-core、transformer_engine 与 transformers 的固定版本。若 Transformers 5 配旧桥接:`pip install "
        "'transformers<5'`,或升级桥接。确认 Transformer Engine 可导入(`python -c 'import "
        "transformer_engine.pytorch'`),专家使用 `moe_grouped_gemm`。",
    ),
)

ADAPTER = Message(
    en=Words(
        "Megatron-Bridge has no mapping for the LoRA layers, and leaves them out of what it exports",
        "An adapter wraps a layer, which changes its name (`.to_wrap.`) and adds two (`.adapter.`). Releases without "
        "export of adapters warn of each and go on: the engine, or the exported model, lacks these layers or what "
        "they learned.",
        "Upgrade Megatron-Bridge to a release that exports adapters, or let the adapter be merged first (veRL "
        "`actor_rollout_ref.model.lora.merge=True`, SkyRL and ms-swift likewise). Until then compare the rollouts "
        "with the base model's: gibberish or no change at all is what this looks like.",
    ),
    zh=Words(
        "Megatron-Bridge 没有 LoRA 层的映射,导出时会略过它们",
        "适配器包装某一层,使其名称改变(`.to_wrap.`)并增加两层(`.adapter.`)。不支持导出适配器的版本对每一层告警后继续:"
        "引擎或导出的模型缺少这些层或其所学内容。",
        "把 Megatron-Bridge 升级到支持导出适配器的版本,或先合并适配器(veRL 用 "
        "`actor_rollout_ref.model.lora.merge=True`,SkyRL 与 ms-swift 类似)。在此之前把 rollout 与基座模型的输出比较:乱"
        "码或毫无变化即是其表现。",
    ),
)

DENSE = Message(
    en=Words(
        "a loader for dense models met a mixture of experts (`{layer}`)",
        "veRL's own loader of Hugging Face weights copies attention and one MLP for each layer. Models with "
        "experts have to come through a bridge or through a checkpoint that was converted to Megatron's format "
        "before.",
        "Set `actor_rollout_ref.actor.megatron.use_mbridge=True` (and for `ref` and `critic`) in releases that "
        "have it, or convert once (`python scripts/converter_hf_to_mcore.py --hf_model_path DIR --output_path "
        "NEW`) and set `megatron.use_dist_checkpointing=True` and `megatron.dist_checkpointing_path=NEW`.",
    ),
    zh=Words(
        "面向稠密模型的加载器遇到了混合专家层(`{layer}`)",
        "veRL 自带的 Hugging Face 权重加载器只复制每层的注意力与一个 MLP。带专家的模型必须经由桥接,或事先转换为 "
        "Megatron 格式的检查点。",
        "在支持的版本中设置 `actor_rollout_ref.actor.megatron.use_mbridge=True`(`ref` 与 `critic` 同样);或先转换一次"
        "(`python scripts/converter_hf_to_mcore.py --hf_model_path DIR --output_path NEW`),再设置 "
        "`megatron.use_dist_checkpointing=True` 与 `megatron.dist_checkpointing_path=NEW`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Files that lack something, a table of names that does, or a loader for another kind of model."""
    name, layer, file = hits.get("name"), hits.get("layer"), hits.get("file")
    message = MAPPING if name else ADAPTER if hits.get("adapter") else DENSE if layer else FILES
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=name or "",
        layer=layer or "",
        which=f": `{file}`" if file else "",
        which_zh=f":`{file}`" if file else "",
    )
