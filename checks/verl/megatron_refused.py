"""Megatron-Core refuses the parallel sizes or the environment.

## What it means
Megatron checks its settings when the workers build the model: attention heads and key-value groups have to be shared
out evenly over tensor-parallel ranks, sequence parallelism needs tensor parallelism, and on GPUs before Blackwell the
variable CUDA_DEVICE_MAX_CONNECTIONS=1.
## What it does to a run
The workers end before the first step.
## What to do
Choose a tensor-parallel size that divides heads and groups of the model; set the variable in the workers.
## How it is found
In a log: by the error that is raised in Megatron's own files.
## References
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/transformer/transformer_config.py
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/model_parallel_config.py
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/tensor_parallel/layers.py
"""

from __future__ import annotations

import re

from doctor.checks.launch._refusals import AREAS, BARE, refused
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL027", name="megatron-configuration-refused", severity=ERROR, since="0.1")

AGAIN_AT, SCHEDULE_AT = 3, 4  # places among the signatures
FRAME = r"[\\\\/]megatron[\\\\/](?:core|training|legacy|bridge)[\\\\/]"

SIGNATURES = (
    Signature(
        r"(?:ValueError|AssertionError): (?P<kind>num_attention_heads|num_query_groups|num_key_value_h"
        r"eads) \((?P<heads>\d{1,5})\) must be a multiple (?:or divisor )?of tensor_model_parallel_siz"
        r"e \((?P<size>\d{1,5})\)",
    ),
    Signature(
        r"RuntimeError: Using (?:sequence parallelism|async grad allreduce) requires setting the envir"
        r"onment variable (?P<variable>CUDA_DEVICE_MAX_CONNECTIONS) to 1",
    ),
    Signature(
        r"(?:ValueError|AssertionError): (?P<sequence>Can ?not use sequence parall+elism without tenso"
        r"r parallelism)",
    ),
    Signature(r"AssertionError: When overlap_grad_reduce is True, config\.no_sync_func must be None\b"),
    Signature(BARE, frame=r"optimizer_param_scheduler\.py:__init__"),
    Signature(
        r"RuntimeError: (?:decoder )?world_size \((?P<world>\d{1,6})\) is not divisible by"
        r" (?P<product>[^\n]{1,160})",
        frame=FRAME,
    ),
    Signature(
        r"^(?:\w{1,40}\.)?(?:AssertionError|ValueError|NotImplementedError): "
        r"(?P<message>(?![^\n]{0,200}must be a kwarg)[^\n]{8,600})",
        frame=FRAME,
        symptom_of=tuple(each for each in AREAS if each != "VRL"),
    ),
)

HEADS = Message(
    en=Words(
        "tensor parallel size {size} does not divide the model's {heads} ({kind})",
        "Megatron gives every tensor-parallel rank the same number of attention heads and of key-value "
        "groups. The largest smaller size that divides {heads} is {fitting}; it must divide both numbers "
        "of the model's config.json (`num_attention_heads`, `num_key_value_heads`).",
        "Set `actor_rollout_ref.actor.megatron.tensor_model_parallel_size={fitting}` (and for `ref` and "
        "`critic`; slime, NeMo-RL: `tensor_model_parallel_size`), and use the other GPUs for pipeline, "
        "context or data parallelism. The size of the rollout (`rollout.tensor_model_parallel_size`) is "
        "a setting of its own. Megatron-Core 0.16 and newer take a size that is a multiple of the "
        "key-value groups.",
    ),
    zh=Words(
        "张量并行大小 {size} 不能整除模型的 {heads}({kind})",
        "Megatron 让每个张量并行 rank 得到同样多的注意力头与 KV 组。能整除 {heads} 的较小值中最大的是 "
        "{fitting};它必须同时整除模型 config.json 中的两个数(`num_attention_heads`、"
        "`num_key_value_heads`)。",
        "设置 `actor_rollout_ref.actor.megatron.tensor_model_parallel_size={fitting}`(`ref` 与 `critic` "
        "同样;slime、NeMo-RL 为 `tensor_model_parallel_size`),其余 GPU 用于流水线、上下文或数据并行。"
        "rollout 的大小(`rollout.tensor_model_parallel_size`)是独立的设置。Megatron-Core 0.16 及以上允许"
        "大小为 KV 组数的倍数。",
    ),
)

CONNECTIONS = Message(
    en=Words(
        "Megatron wants `CUDA_DEVICE_MAX_CONNECTIONS=1` in the workers, and it is not set there",
        "With sequence parallelism on GPUs before Blackwell, Megatron relies on one hardware queue to "
        "order communication before computation. The variable must be in the environment of the training "
        "processes; an `export` on the driver does not reach Ray's workers on other nodes.",
        "`export CUDA_DEVICE_MAX_CONNECTIONS=1` before `ray start` on every node, or hand it on: veRL "
        "`+ray_kwargs.ray_init.runtime_env.env_vars.CUDA_DEVICE_MAX_CONNECTIONS='\"1\"'`, `ray job submit "
        '--runtime-env-json \'{{"env_vars": {{"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}}}\'`. Or turn '
        "`sequence_parallel` off. FSDP2 workers in the same job want it unset.",
    ),
    zh=Words(
        "Megatron 要求 worker 中有 `CUDA_DEVICE_MAX_CONNECTIONS=1`,而那里没有设置",
        "在 Blackwell 之前的 GPU 上使用序列并行时,Megatron 依赖单一硬件队列来保证通信先于计算。该变量必须"
        "位于训练进程的环境中;在 driver 上 `export` 到不了其他节点的 Ray worker。",
        "在每个节点 `ray start` 之前 `export CUDA_DEVICE_MAX_CONNECTIONS=1`,或传递下去:veRL 用 "
        "`+ray_kwargs.ray_init.runtime_env.env_vars.CUDA_DEVICE_MAX_CONNECTIONS='\"1\"'`,`ray job submit "
        '--runtime-env-json \'{{"env_vars": {{"CUDA_DEVICE_MAX_CONNECTIONS": "1"}}}}\'`。或关闭 '
        "`sequence_parallel`。同一作业中的 FSDP2 worker 则不应设置它。",
    ),
)

SEQUENCE = Message(
    en=Words(
        "Megatron's sequence parallelism is on, and tensor parallelism is not",
        "It splits activations over the tensor-parallel ranks, so it needs at least two of them.",
        "Set `megatron.sequence_parallel=False` for actor, ref and critic "
        "(`+actor_rollout_ref.actor.megatron.override_transformer_config.sequence_parallel=False` in "
        "some releases), or `tensor_model_parallel_size` of 2 or more.",
    ),
    zh=Words(
        "Megatron 打开了序列并行,却没有张量并行",
        "序列并行把激活分到各张量并行 rank 上,因此至少需要两个。",
        "为 actor、ref 与 critic 设置 `megatron.sequence_parallel=False`(部分版本为 "
        "`+actor_rollout_ref.actor.megatron.override_transformer_config.sequence_parallel=False`),或把 "
        "`tensor_model_parallel_size` 设为 2 以上。",
    ),
)


WORLD = Message(
    en=Words(
        "{world} GPUs do not divide into groups of Megatron's parallel sizes{size_words}",
        "The number of processes must be a multiple of tensor x pipeline x context parallel size, and, for models "
        "with experts, of expert-tensor x expert x pipeline parallel size. What is left over is data parallelism.",
        "Lower one of the sizes or take more GPUs. For experts `expert_tensor_parallel_size` is the tensor "
        "parallel size where it is not set: set it to 1 (veRL `megatron.expert_tensor_parallel_size=1`, slime "
        "`--expert-tensor-parallel-size 1`). Count the processes that really start: every node, and for veRL the "
        "GPUs of that role alone.",
    ),
    zh=Words(
        "{world} 个 GPU 不能按 Megatron 的并行度分组{size_words_zh}",
        "进程数必须是 张量 x 流水线 x 上下文 并行度的整数倍;带专家的模型还必须是 专家张量 x 专家 x 流水线 并行度的"
        "整数倍。剩余部分用作数据并行。",
        "减小其中一项,或增加 GPU。专家的 `expert_tensor_parallel_size` 未设置时等于张量并行度:设为 1(veRL "
        "`megatron.expert_tensor_parallel_size=1`,slime `--expert-tensor-parallel-size 1`)。按实际启动的进程计数:"
        "所有节点,veRL 则只算该角色的 GPU。",
    ),
)


AGAIN = Message(
    en=Words(
        "Megatron's training loop was entered again with `overlap_grad_reduce` on",
        "Megatron sets `no_sync_func` when its `train()` begins and expects to find it unset. A framework that calls "
        "it once for each rollout (slime, miles) finds its own value of the time before. The first rollout goes "
        "well, the second fails.",
        "Leave `--overlap-grad-reduce` and `--overlap-param-gather` off in releases without the fix (slime pull "
        "request 1857), or upgrade the framework. In code of your own set `config.no_sync_func = None` before each "
        "call.",
    ),
    zh=Words(
        "打开 `overlap_grad_reduce` 时 Megatron 的训练循环被再次进入",
        "Megatron 的 `train()` 开始时设置 `no_sync_func`,并要求此前为空。每次 rollout 调用一次的框架(slime、miles)"
        "会遇到上一次留下的值。第一次 rollout 正常,第二次失败。",
        "在没有修复(slime 的 pull request 1857)的版本中关闭 `--overlap-grad-reduce` 与 `--overlap-param-gather`,或"
        "升级框架。自己的代码请在每次调用前设 `config.no_sync_func = None`。",
    ),
)


SCHEDULE = Message(
    en=Words(
        "the learning-rate schedule has {what}",
        "Megatron's schedule is built from the number of training steps, and that came out as 0 or below the warm-up. "
        "slime computes `num_rollout x rollout_batch_size x n_samples_per_prompt // global_batch_size`; veRL takes "
        "`optim.lr_decay_steps` or `total_training_steps`, which follow from data set, batch size and epochs.",
        "Give it steps to do: raise `--num-rollout`, `--rollout-batch-size` or `--n-samples-per-prompt`, or lower "
        "`--global-batch-size` (slime); more data, more epochs or a smaller `data.train_batch_size`, or "
        "`trainer.total_training_steps` (veRL). Keep the warm-up (`lr_warmup_iters`, `lr_warmup_steps`) below that.",
    ),
    zh=Words(
        "学习率调度{what_zh}",
        "Megatron 的调度由训练步数构造,而步数为 0,或不大于预热步数。slime 按 `num_rollout x rollout_batch_size x "
        "n_samples_per_prompt // global_batch_size` 计算;veRL 取 `optim.lr_decay_steps` 或由数据量、批大小与轮数得出的"
        " `total_training_steps`。",
        "让步数大于 0:slime 提高 `--num-rollout`、`--rollout-batch-size`、`--n-samples-per-prompt`,或降低 "
        "`--global-batch-size`;veRL 增加数据或轮数、减小 `data.train_batch_size`,或设置 "
        "`trainer.total_training_steps`。预热(`lr_warmup_iters`、`lr_warmup_steps`)应小于该步数。",
    ),
)
#: what the scheduler asserts -> words
_ASSERTED = {
    "self.lr_decay_steps > 0": ("no steps: there is not one training step to do", "没有步数:一个训练步都没有"),
    "self.lr_warmup_steps < self.lr_decay_steps": (
        "a warm-up at least as long as all training steps",
        "的预热不短于全部训练步数",
    ),
}


def _schedule(hits: Hits) -> Finding | None:
    asserted = hits.first.code.removeprefix("assert ").strip()
    if asserted not in _ASSERTED:
        return None
    what, what_zh = _ASSERTED[asserted]
    return found(
        PROBLEM, SCHEDULE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, what=what, what_zh=what_zh
    )


def _world(hits: Hits) -> Finding:
    sizes = re.findall(r"\d{1,6}", hits.get("product") or "")
    return found(
        PROBLEM,
        WORLD,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        world=hits.get("world"),
        size_words=f" ({sizes[0]})" if len(sizes) == 1 else "",
        size_words_zh=f"({sizes[0]})" if len(sizes) == 1 else "",
    )


def explain(hits: Hits) -> Finding | None:
    """Heads or GPUs that do not divide, the two that Megatron says in words, else what its message names."""
    if hits.get("world"):
        return _world(hits)
    if hits.first.signature == SCHEDULE_AT:
        return _schedule(hits)
    if hits.of(AGAIN_AT):
        return found(PROBLEM, AGAIN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    heads, size = next(iter(hits.ints("heads")), 0), next(iter(hits.ints("size")), 0)
    message = HEADS if heads and size else CONNECTIONS if hits.get("variable") else SEQUENCE
    if not (heads and size) and not hits.get("variable") and not hits.get("sequence"):
        return refused(PROBLEM, "Megatron-Core", hits, FRAME)
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        heads=heads,
        size=size,
        kind=hits.get("kind") or "",
        fitting=max((each for each in range(2, size) if heads % each == 0), default=1),
    )
