"""A distributed Megatron checkpoint does not hold what the model of this run asks for.

## What it means
Megatron-Core saves pieces under names and shapes of the model, and asks for its own names and shapes when it loads.
Another number of layers, another kind of parallelism for parts that cannot be re-cut, other options that add tensors
(`_extra_state` of Transformer Engine, tied output layer, LoRA), or a folder that is no such checkpoint break that.
## What it does to a run
Loading, resuming or converting ends in a CheckpointingException.
## What to do
Load with the layout and options it was saved with, or leave out what differs.
## How it is found
In a log: by the messages of megatron.core.dist_checkpointing.
## References
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/dist_checkpointing/validation.py
https://github.com/NVIDIA-NeMo/RL/issues/1128
https://github.com/NVIDIA/Megatron-LM/issues/1032
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP020", name="megatron-layout-differs", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"CheckpointingException: Invalid access pattern: (?P<absent>\d{1,7}) ShardedObject are missing"),
    Signature(r"CheckpointingException: Invalid access pattern for ShardedTensor\(key='(?P<tensor>[\w.]{1,200})'"),
    Signature(r"CheckpointingException: Duplicate ShardedObject keys: \["),
    Signature(
        r"CheckpointingException: (?:Some keys found in the checkpoint are missing|Unexpected keys \(not found in the"
        r" checkpoint\) encountered) in the provided sharded state dict"
    ),
    Signature(r"KeyError: [\"'](?P<tensor>[\w./]{1,200}) from model not in state dict: \["),
    Signature(
        r"CheckpointingException: (?:Global|Local) shape mismatch for loaded \([^\n]{1,80}\) and expected"
        r" \([^\n]{1,80}\) tensor for key (?P<tensor>[\w./]{1,200})"
    ),
    Signature(
        r"CheckpointingException: (?:\S{1,300} is not a distributed checkpoint"
        r"|Checkpoint directory \S{1,300} does not exist)"
    ),
    # the chained optimizers of one rank: their number follows from the parallel layout (dense and expert parameters)
    Signature(
        r"RuntimeError: Expected \d{1,5} entries in state dict, but got \d{1,5}\.",
        frame=r"megatron[\\/]core[\\/]optimizer[\\/]\w{1,40}\.py:",
    ),
    Signature(r"CheckpointingException: Uneven sharding not supported for PyTorch version (?P<torch>[\w.+]{1,40})"),
)

LAYOUT = Message(
    en=Words(
        "the Megatron checkpoint and the model that loads it do not have the same pieces",
        "Each rank asks for pieces by name, number and shape. Here some exist twice, are missing, or have another "
        "shape: the number of layers or experts differs, tensor, pipeline or expert parallelism is laid out in a "
        "way that this release cannot re-cut, one side has parts that the other lacks (extra state of Transformer "
        "Engine, tied output layer, reward or value head, LoRA, MTP layers), or releases of Megatron-Core differ "
        "between save and load.",
        "Load or convert with the settings of the save first: same tensor, pipeline, virtual pipeline, expert and "
        "expert-tensor parallel sizes, same Megatron-Core and Transformer Engine, same model options. For a part "
        "that is new or left out on purpose load without strictness (`--dist-ckpt-strictness log_all` or "
        "`ignore_all` in Megatron-LM). When only the optimizer does not fit, load the weights alone "
        "(`--no-load-optim --no-load-rng --finetune`; veRL `checkpoint.load_contents=[model]`). For another layout "
        "go through a Hugging Face checkpoint (mbridge, Megatron-Bridge).",
    ),
    zh=Words(
        "Megatron 检查点与加载它的模型分片不一致",
        "每个 rank 按名称、编号与形状索取分片。此处有的重复、有的缺失、有的形状不同:层数或专家数不同;张量、流水线或"
        "专家并行的布局在该版本中无法重切;一方有另一方没有的部分(Transformer Engine 的 extra state、共享的输出层、"
        "奖励或价值头、LoRA、MTP 层);或保存与加载用了不同版本的 Megatron-Core。",
        "先用保存时的设置加载或转换:相同的张量、流水线、虚拟流水线、专家与专家张量并行度,相同的 Megatron-Core 与 "
        "Transformer Engine,相同的模型选项。对有意新增或去掉的部分,放宽严格度(Megatron-LM 的 "
        "`--dist-ckpt-strictness log_all` 或 `ignore_all`)。若只有优化器不符,只加载权重(`--no-load-optim "
        "--no-load-rng --finetune`;veRL `checkpoint.load_contents=[model]`)。要换并行布局,请经由 Hugging Face 检查"
        "点(mbridge、Megatron-Bridge)。",
    ),
)

NO_CHECKPOINT = Message(
    en=Words(
        "the folder to load from holds no distributed Megatron checkpoint",
        "The loader looks for `metadata.json` and `.distcp` pieces in the folder of one iteration. The path does "
        "not exist on this node, names the parent folder or a Hugging Face model, the checkpoint is in Megatron's "
        "older format (`mp_rank_00`), or its save was never finished.",
        "Give the folder that `latest_checkpointed_iteration.txt` stands in, and look whether that iteration's "
        "folder has `metadata.json`, `.metadata` and `.distcp` files on every node (shared disk). Convert a "
        "Hugging Face model first (slime `tools/convert_hf_to_torch_dist.py`; veRL: `use_mbridge=True` and no "
        "`dist_checkpointing_path`); for the older format say so (`--ckpt-format torch`). An unfinished save: go "
        "back to the iteration before.",
    ),
    zh=Words(
        "要加载的目录中没有 Megatron 分布式检查点",
        "加载器在某次迭代的目录中查找 `metadata.json` 与 `.distcp` 分片。该路径在此节点上不存在,指向上级目录或 "
        "Hugging Face 模型,检查点是 Megatron 旧格式(`mp_rank_00`),或保存没有完成。",
        "给出 `latest_checkpointed_iteration.txt` 所在的目录,并确认每个节点上(共享磁盘)该迭代目录里有 "
        "`metadata.json`、`.metadata` 与 `.distcp` 文件。Hugging Face 模型需先转换(slime "
        "`tools/convert_hf_to_torch_dist.py`;veRL:`use_mbridge=True` 且不设 `dist_checkpointing_path`);旧格式请注明"
        "(`--ckpt-format torch`)。保存未完成时退回上一次迭代。",
    ),
)

UNEVEN = Message(
    en=Words(
        "torch {torch} cannot save pieces of unequal size, which this layout needs",
        "A tensor (often the vocabulary or an expert's weight) does not divide by the number of ranks. "
        "Megatron-Core saves such pieces from torch 2.6 on.",
        "Upgrade torch to 2.6 or newer, or choose sizes that divide: another tensor or expert parallel size, a "
        "padded vocabulary (`--make-vocab-size-divisible-by`).",
    ),
    zh=Words(
        "torch {torch} 无法保存大小不等的分片,而此布局需要",
        "某个张量(常为词表或专家权重)不能被 rank 数整除。Megatron-Core 从 torch 2.6 起才支持保存这样的分片。",
        "把 torch 升级到 2.6 以上,或选择可整除的大小:其他张量或专家并行度,或补齐词表"
        "(`--make-vocab-size-divisible-by`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Another layout, no checkpoint at all, or a torch too old for the layout."""
    message = LAYOUT
    if hits.get("torch"):
        message = UNEVEN
    elif hits.of(6):
        message = NO_CHECKPOINT
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        torch=hits.get("torch") or "",
    )
