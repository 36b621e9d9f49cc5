"""FSDP refuses the model as it was handed over, or a call at the wrong moment.

## What it means
FSDP takes one device a rank, real weights (not on `meta`), whole layers with a `forward`, and calls from the
outermost wrapped module. Its checks name what is against that.
## What it does to a run
The run ends when the model is wrapped or in the first step.
## What to do
What the finding says for the check that failed.
## How it is found
In a log: by the messages of `torch.distributed.fsdp`.
## References
https://docs.pytorch.org/docs/stable/fsdp.html
https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/distributed/fsdp/_init_utils.py
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD016", name="setup-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: Inconsistent compute device and `device_id` on rank (?P<rank>\d{1,6}): "
            r"(?P<one>[\w:]{1,24}) vs (?P<two>[\w:]{1,24})"
        ),
        Message(
            en=Words(
                "rank {rank} has its model on `{one}` and was told `{two}` for FSDP",
                "Every rank needs a GPU of its own; the process took the default one instead of that of its rank.",
                'Call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before the model is made, drop '
                "`device_map` from `from_pretrained`, and start through the launcher (`accelerate launch`, "
                "`torchrun`), which sets LOCAL_RANK.",
            ),
            zh=Words(
                "rank {rank} 的模型在 `{one}` 上,而 FSDP 被告知 `{two}`",
                "每个 rank 需要自己的 GPU;该进程使用了默认 GPU 而不是其 rank 对应的那个。",
                '在创建模型之前调用 `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`,从 `from_pretrained` '
                "去掉 `device_map`,并通过启动器(`accelerate launch`、`torchrun`)启动,它会设置 LOCAL_RANK。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: FSDP only supports single device modules but got params on "
            r"(?![^\n]{0,200}type='meta')(?P<devices>[^\n]{1,160})"
        ),
        Message(
            en=Words(
                "FSDP got a model that lies on several devices",
                "FSDP cuts the model over the ranks by itself and wants it whole on one device of each; a "
                "`device_map` spread it.",
                "Remove `device_map` (or set `device_map=None`) where the model is loaded, and give each process "
                "its own GPU by `accelerate launch` or `torchrun`.",
            ),
            zh=Words(
                "交给 FSDP 的模型分布在多个设备上",
                "FSDP 自己把模型切分到各 rank,要求每个 rank 上的模型完整位于一个设备;`device_map` 把它分散了。",
                "加载模型时去掉 `device_map`(或设为 `device_map=None`),并通过 `accelerate launch` 或 `torchrun` "
                "让每个进程使用自己的 GPU。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: FSDP (?:parameters should be materialized from meta device before training"
            r"|only supports single device modules but got params on [^\n]{0,200}type='meta')"
        ),
        Message(
            en=Words(
                "weights are still on the `meta` device when FSDP trains",
                "Ranks other than 0 make the model without storage to save memory, and nothing filled it "
                "afterwards: weights that the checkpoint does not hold (a new head, a tied or an added token "
                "embedding) stay empty.",
                "Load through `from_pretrained` with Accelerate's `fsdp_cpu_ram_efficient_loading: true`, do not "
                "replace or add layers after that, and tie the weights before wrapping; or switch it off "
                '(`fsdp_cpu_ram_efficient_loading: false`), or call `model.to_empty(device="cuda")` and load a '
                "full state dict. For a larger vocabulary resize the embedding and save that model first "
                "(`resize_token_embeddings`; LLaMA-Factory: `resize_vocab: true` and export) instead of "
                "`ignore_mismatched_sizes=True`.",
            ),
            zh=Words(
                "FSDP 训练时部分权重仍在 `meta` 设备上",
                "为节省内存,rank 0 以外的进程创建的是没有存储的模型,而之后没有填充:检查点中没有的权重(新的头、共"
                "享的或新增的 token 嵌入)一直为空。",
                "使用 Accelerate 的 `fsdp_cpu_ram_efficient_loading: true` 并通过 `from_pretrained` 加载,之后不要"
                "替换或添加层,并在包装前绑定权重;或关闭它(`fsdp_cpu_ram_efficient_loading: false`),或调用 "
                '`model.to_empty(device="cuda")` 后加载完整的 state dict。词表变大时,先调整嵌入大小并保存该模型'
                "(`resize_token_embeddings`;LLaMA-Factory:`resize_vocab: true` 后导出),不要用 "
                "`ignore_mismatched_sizes=True`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: (?:FSDP parameters should be materialized on CPU when enabling CPU offloading|An "
            r"FSDP-managed module with parameter CPU offloading enabled has parameters on)"
        ),
        Message(
            en=Words(
                "FSDP is to offload parameters to the CPU, and the model is on the GPU",
                "With CPU offloading the shards live in host memory; the code moved the model to the GPU before "
                "or after wrapping.",
                "Leave the model on the CPU: no `.cuda()`, `.to(device)` or `device_map` on it; load a state "
                "dict of CPU tensors; or set `fsdp_offload_params: false`.",
            ),
            zh=Words(
                "FSDP 需要把参数卸载到 CPU,而模型在 GPU 上",
                "启用 CPU 卸载时分片位于主机内存;代码在包装之前或之后把模型移到了 GPU。",
                "让模型留在 CPU:不要对它使用 `.cuda()`、`.to(device)` 或 `device_map`;加载 CPU 张量的 state dict;"
                "或设置 `fsdp_offload_params: false`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: An FSDP-managed module unexpectedly has parameters on (?P<place>[\w:]{1,24})\. "
            r"Make sure to move the module to (?P<wanted>[\w:]{1,24})"
        ),
        Message(
            en=Words(
                "the model that FSDP manages is on `{place}`, not on `{wanted}`",
                "It was moved after wrapping (or never brought to the GPU), so its shards lie where FSDP does "
                "not compute.",
                'Move it before wrapping (`model.to("{wanted}")`, or `device_id=torch.cuda.current_device()`), '
                "and never call `.to()` or `.cpu()` on the wrapped model, also not around an evaluation or a "
                "save.",
            ),
            zh=Words(
                "由 FSDP 管理的模型在 `{place}` 而不在 `{wanted}`",
                "模型在包装后被移动(或从未移到 GPU),其分片不在 FSDP 计算所用的设备上。",
                '在包装前移动(`model.to("{wanted}")`,或 `device_id=torch.cuda.current_device()`),包装后不要再调用'
                " `.to()` 或 `.cpu()`,评估和保存前后也不要。",
            ),
        ),
    ),
    (
        (
            r"(?:ValueError|AssertionError): expected to be in states \[[^\n]{0,100}TrainingState[^\n]{1,100}\] but "
            r"current state is (?:\w{3,20}\.)?(?P<state>[A-Z_]{4,24})"
        ),
        Message(
            en=Words(
                "FSDP was called in the wrong moment: it was in the state `{state}`",
                "Its passes must follow each other: forward, then backward, through the same outermost module on "
                "every rank. A forward inside another one, a backward of an output that is not used or was "
                "computed under another mode (evaluation, `no_grad`, a frozen vision tower that some batches "
                "skip), or going on after an exception breaks that.",
                "Let every batch use every wrapped layer (feed a dummy image where some batches have none), do "
                "not call submodules of the wrapped model by themselves, do not catch an exception inside a step "
                "and go on, and set `use_orig_params: true`; with gradient checkpointing use "
                "`use_reentrant=False`.",
            ),
            zh=Words(
                "FSDP 在错误的时刻被调用:当时状态为 `{state}`",
                "各阶段必须依次进行:前向,再反向,且每个 rank 都经过同一个最外层模块。在一次前向中再做前向、对未使"
                "用的输出或在其他模式(评估、`no_grad`、某些批次跳过的冻结视觉塔)下得到的输出做反向,或在异常之后继"
                "续,都会破坏这一点。",
                "让每个批次都经过每个被包装的层(没有图像的批次放入占位图像),不要单独调用被包装模型的子模块,不要在"
                "一个 step 内捕获异常后继续,并设置 `use_orig_params: true`;使用梯度检查点时设置 "
                "`use_reentrant=False`。",
            ),
        ),
    ),
    (
        r"RuntimeError: `clip_grad_norm_\(\)` should only be called on the root FSDP instance",
        Message(
            en=Words(
                "`clip_grad_norm_` was called on an inner part of the FSDP model",
                "The norm goes over all shards, which only the outermost wrapped module knows.",
                "Call it on the outermost module, `model.clip_grad_norm_(max_norm)`, or "
                "`accelerator.clip_grad_norm_(model.parameters(), max_norm)` after one "
                "`accelerator.prepare(model)`; do not wrap the prepared model once more.",
            ),
            zh=Words(
                "在 FSDP 模型的内层调用了 `clip_grad_norm_`",
                "范数需要遍历所有分片,只有最外层的被包装模块知道它们。",
                "在最外层模块上调用 `model.clip_grad_norm_(max_norm)`,或在一次 `accelerator.prepare(model)` 之后"
                "调用 `accelerator.clip_grad_norm_(model.parameters(), max_norm)`;不要对已准备的模型再次包装。",
            ),
        ),
    ),
    (
        r"ValueError: (?:fully_shard|\w{3,30}) does not support containers that do not implement forward",
        Message(
            en=Words(
                "`fully_shard` was applied to a container without a `forward`",
                "A ModuleList or ModuleDict is never called itself, so FSDP has no moment to gather its weights.",
                "Shard what is called: `for layer in model.layers: fully_shard(layer)`, then "
                "`fully_shard(model)`; in Accelerate name the layer class in "
                "`fsdp_transformer_layer_cls_to_wrap`.",
            ),
            zh=Words(
                "`fully_shard` 被用于没有 `forward` 的容器",
                "ModuleList 或 ModuleDict 自身从不被调用,FSDP 没有时机收集其权重。",
                "对真正被调用的模块分片:`for layer in model.layers: fully_shard(layer)`,再 `fully_shard(model)`;"
                "在 Accelerate 中把层的类名写入 `fsdp_transformer_layer_cls_to_wrap`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:FSDP|fully_shard) doesn't support scalar parameters\. Change "
            r"(?P<parameter>[\w.]{1,160}) to a 1D tensor"
        ),
        Message(
            en=Words(
                "FSDP cannot shard `{parameter}`, which is a single number",
                "A parameter without a dimension cannot be cut.",
                "Store it as a vector of one (`nn.Parameter(torch.tensor([value]))`, `.reshape(1)`), or leave "
                "the module out (`ignored_modules`).",
            ),
            zh=Words(
                "FSDP 无法切分 `{parameter}`,它只是一个数",
                "没有维度的参数无法切分。",
                "把它保存为长度为一的向量(`nn.Parameter(torch.tensor([value]))`、`.reshape(1)`),或排除该模块"
                "(`ignored_modules`)。",
            ),
        ),
    ),
    (
        r"NotImplementedError: FSDP does not support non-contiguous parameters yet",
        Message(
            en=Words(
                "FSDP2 got a parameter that is not contiguous in memory",
                "It is a transposed or sliced view, mostly of a tied or converted weight.",
                "Before sharding: `for p in model.parameters(): p.data = p.data.contiguous()`.",
            ),
            zh=Words(
                "FSDP2 收到内存不连续的参数",
                "它是转置或切片的视图,多见于共享或转换过的权重。",
                "在分片之前执行:`for p in model.parameters(): p.data = p.data.contiguous()`。",
            ),
        ),
    ),
    (
        r"RuntimeError: FSDP does not support CPU only execution",
        Message(
            en=Words(
                "FSDP runs without a GPU, which it does not support",
                "This PyTorch sees no accelerator in this process, or the model was kept on the CPU.",
                "Look at `python -c 'import torch; print(torch.cuda.is_available(), torch.version.cuda)'` and "
                "CUDA_VISIBLE_DEVICES; on a machine without GPUs use plain DDP with gloo (`accelerate launch "
                "--cpu`), or FSDP2 (`fsdp_version: 2`).",
            ),
            zh=Words(
                "FSDP 在没有 GPU 的情况下运行,这不受支持",
                "该进程中的 PyTorch 看不到加速器,或模型留在 CPU 上。",
                "检查 `python -c 'import torch; print(torch.cuda.is_available(), torch.version.cuda)'` 与 "
                "CUDA_VISIBLE_DEVICES;没有 GPU 的机器请用基于 gloo 的普通 DDP(`accelerate launch --cpu`),或 "
                "FSDP2(`fsdp_version: 2`)。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
