"""A weight that is handed to vLLM has another shape than its own.

## What it means
The shapes of a model follow from its config.json. When the rollout engine was started with another model,
size or vocabulary than the trainer has, the weights do not fit.
## What it does to a run
Loading, or the first weight transfer, ends with an AssertionError.
## What to do
Start server and trainer with the same model.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/huggingface/trl/blob/v1.0.0/docs/source/vllm_integration.md
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/model_loader/weight_utils.py
https://github.com/sgl-project/sglang/issues/26015
https://github.com/THUDM/slime/issues/1673
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL038", name="vllm-weight-shape-differs", severity=ERROR, since="0.1")

#: functions of vLLM and SGLang that fill a parameter of the engine
WEIGHT_LOADER = r":(?:\w{0,40}weight_loader\w{0,20}|load_\w{0,30}weights?|_load_\w{1,60}|load_model)$"

#: functions through which a trainer's weights reach a running engine
UPDATING = r":\w{0,30}(?:update_weight|update_param|load_weights_from_|receive_weight|reload_weight)\w{0,40}$"
#: what a loader asserts of a tensor that came
_COMPARED = re.compile(r"^assert [^\n]{0,80}\b(?:loaded_weight|param\w{0,12})\.(?:shape|size)\b")

SIGNATURES = (
    Signature(
        r"Attempted to load weight \((?:torch\.Size\()?\[(?P<sent>[\d, ]{0,60})\]\)?\) into parameter"
        r" \((?:torch\.Size\()?\[(?P<own>[\d, ]{0,60})\]",
    ),
    Signature(
        r"Tried to load weights of size (?:torch\.Size\()?\[(?P<sent>[\d, ]{0,60})\]\)?\s?to a parameter of"
        r" size (?:torch\.Size\()?\[(?P<own>[\d, ]{0,60})\]",
    ),
    Signature(r"^\s{1,12}assert loaded_weight\.shape\[\w{1,20}\] == (?P<vocabulary>self\.org_vocab_size)"),
    Signature(r"^\s{1,12}assert param(?:_data)?\.(?:shape|size\(\)) == loaded_weight\.(?:shape|size\(\))$"),
    Signature(
        r"RuntimeError: The expanded size of the tensor \(\d{1,9}\) must match the existing size \(\d{1,9}\)"
        r"[^\n]{0,60}?Target sizes: \[(?P<own>[\d, ]{1,60})\]\.\s{1,3}Tensor sizes: \[(?P<sent>[\d, ]{1,60})\]",
        frame=WEIGHT_LOADER,
    ),
    Signature(
        r"RuntimeError: The size of tensor a \((?P<own>\d{1,9})\) must match the size of tensor b"
        r" \((?P<sent>\d{1,9})\)",
        frame=WEIGHT_LOADER,
    ),
    Signature(
        r"RuntimeError: start \((?P<start>\d{1,9})\) \+ length \((?P<length>\d{1,9})\) exceeds dimension size"
        r" \((?P<size>\d{1,9})\)",
        frame=r":(?:\w{0,40}weight_loader\w{0,20}|load_\w{0,30}weights?|_load_\w{1,60})$",
    ),
    Signature(r"^AssertionError:?$", frame=UPDATING),
)

LOG_MESSAGE = Message(
    en=Words(
        "a weight was handed to the engine in a shape that is not its own{shapes}",
        "The two models differ: the server or rollout engine runs another model, another size or another "
        "vocabulary (tokens added, embeddings resized) than the checkpoint or trainer. A quantized checkpoint "
        "(bitsandbytes, GGUF, FP8) in a release or with a tensor parallel size that does not support it looks "
        "the same. Under ZeRO-3 an empty [0] means that a partitioned weight was not gathered.",
        "Start the server with exactly the trainer's model (`--model`), save and serve the model after "
        "`resize_token_embeddings`, and compare `hidden_size` and `vocab_size` in both config.json "
        "files. For a quantized checkpoint try `--tensor-parallel-size 1`, the unquantized weights, or a newer "
        "release of the engine. For [0] keep `ds3_gather_for_generation=True`.",
    ),
    zh=Words(
        "交给引擎的权重形状与其自身不符{shapes_zh}",
        "两边的模型不同:服务器或 rollout 引擎运行的模型、规模或词表(新增 token、调整过 embedding)与检查点"
        "或训练器不一致。量化检查点(bitsandbytes、GGUF、FP8)所用版本或张量并行大小不受支持时也会如此。"
        "在 ZeRO-3 下,空的 [0] 表示分片的权重没有收集。",
        "用与训练器完全相同的模型启动服务器(`--model`);`resize_token_embeddings` 之后保存模型并用它启动;"
        "比较两边 config.json 的 `hidden_size` 和 `vocab_size`。量化检查点可尝试 `--tensor-parallel-size 1`、"
        "未量化的权重或更新的引擎版本。若为 [0],保持 `ds3_gather_for_generation=True`。",
    ),
)


CUT_TWICE = Message(
    en=Words(
        "a weight of {size} elements arrived where the engine cuts out a share of {length} from {start} on",
        "The loader of the engine takes the whole weight and cuts out the share of its own rank. What arrived is "
        "smaller than the whole: a sender that did not gather its tensor or expert parallel shards, or a weight that "
        "this loader must not cut again (experts that were rearranged after the first loading, another number of "
        "ranks or experts than at the start, a smaller model).",
        "When weights come from a trainer: use the releases of trainer and engine that belong together, and try the "
        "sender with whole weights (Megatron: expert tensor parallel size 1; a bridge instead of hand-written "
        "conversion) or the engine with tensor parallel size 1. At a plain start compare `config.json` with the "
        "checkpoint, and try `--tensor-parallel-size 1` or a newer release.",
    ),
    zh=Words(
        "收到的权重只有 {size} 个元素,而引擎要从 {start} 起切出 {length} 个",
        "引擎的加载函数接收完整权重,再切出自己 rank 的一份。收到的却小于完整权重:发送方没有收集张量并行或专家并行的"
        "分片,或该权重不应再切(首次加载后重排过的专家、与启动时不同的 rank 或专家数、更小的模型)。",
        "权重来自训练端时:使用相互配套的训练端与引擎版本,并尝试发送完整权重(Megatron:专家张量并行度设为 1;用桥接代"
        "替手写转换),或让引擎用张量并行 1。普通启动时:比较 `config.json` 与检查点,尝试 `--tensor-parallel-size 1` "
        "或更新的版本。",
    ),
)
UPDATED = Message(
    en=Words(
        "a weight of the update does not have the shape of the engine's parameter{shapes}",
        "The first loading went well, so model and size are mostly the same, and the trainer's tensors are laid out in "
        "another way than this loader expects: shards that were not gathered (tensor or expert parallel), experts or "
        "shared experts that the engine fused, split or transposed after loading, a quantized parameter, or an "
        "embedding that was resized in the trainer alone.",
        "Use the releases of trainer and engine that belong together (the image of the framework). Mixture of experts: "
        "try expert parallel size 1 in the engine, and SGLang with `--disable-shared-experts-fusion`; Megatron: expert "
        "tensor parallel size 1, or its bridge instead of hand-written conversion. Leave FP8 and other quantization "
        "off once, and compare `vocab_size` on both sides.",
    ),
    zh=Words(
        "更新的权重与引擎参数的形状不符{shapes_zh}",
        "首次加载是成功的,因此模型与规模多半一致,只是训练端张量的布局与该加载函数预期的不同:没有收集的分片(张量或专家"
        "并行)、引擎在加载后融合、切分或转置过的专家与共享专家、量化参数,或只在训练端调整过的 embedding。",
        "使用相互配套的训练端与引擎版本(框架的镜像)。MoE 模型:引擎的专家并行设为 1,SGLang 加 "
        "`--disable-shared-experts-fusion`;Megatron:专家张量并行设为 1,或用 bridge 代替手写转换。"
        "先关闭 FP8 等量化试一次,并比较两边的 `vocab_size`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With both shapes where told, or with the share that was to be cut out."""
    if hits.get("start"):
        return found(
            PROBLEM,
            CUT_TWICE,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            start=hits.get("start"),
            length=hits.get("length"),
            size=hits.get("size"),
        )
    sent, own = hits.get("sent"), hits.get("own")
    told = sent is not None and own is not None
    updating = any(re.search(UPDATING, frame) for hit in hits for frame in hit.frames)
    bare = hits.first.signature == len(SIGNATURES) - 1
    if bare and not _COMPARED.match(hits.first.code):
        return None
    return found(
        PROBLEM,
        UPDATED if updating and sent != "0" else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        shapes=f": [{sent}] into [{own}]" if told else "",
        shapes_zh=f":[{sent}] 对 [{own}]" if told else "",
    )
