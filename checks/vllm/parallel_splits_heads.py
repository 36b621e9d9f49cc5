"""The tensor parallel size does not divide the model's heads.

## What it means
Tensor parallelism gives each GPU whole attention heads, so it must divide their number. Key-value heads are
divided too, or, where there are fewer of them than GPUs, copied evenly. (The vocabulary need not be
divisible: vLLM pads it.)
## What it does to a run
The engine raises `Total number of attention heads (14) must be divisible by tensor parallel size (4)`, or
an assertion of the model about its key-value heads.
## What to do
Choose a size that divides both numbers.
## How it is found
`num_attention_heads` and `num_key_value_heads` of the model's local config.json against the size of the
server, or of the engine inside TRL's or veRL's trainer.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/model.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/model_executor/layers/linear.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof
from doctor.checks.vllm._helpers import colocated_parallel, overridden
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Setting
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VLL008", name="tensor-parallel-splits-heads", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Total number of attention heads \((?P<heads>\d{1,5})\) must be divisible by tensor parallel"
        r" size \((?P<size>\d{1,5})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a tensor parallel size of {size} does not divide the model's {heads} attention heads",
        "Each GPU of a tensor parallel group takes the same number of heads, so the size must divide {heads}.",
        "Set `--tensor-parallel-size` (`vllm_tensor_parallel_size`, "
        "`rollout.tensor_model_parallel_size`) to one of {fitting}; give the other GPUs to "
        "`--data-parallel-size` or pipeline parallelism.",
    ),
    zh=Words(
        "张量并行大小 {size} 不能整除模型的 {heads} 个注意力头",
        "张量并行组中每张 GPU 分到同样多的头,因此该大小必须整除 {heads}。",
        "把 `--tensor-parallel-size`(`vllm_tensor_parallel_size`、`rollout.tensor_model_parallel_size`)设"
        "为 {fitting} 之一;其余 GPU 交给 `--data-parallel-size` 或流水线并行。",
    ),
)

MESSAGE = Message(
    en=Words(
        "Tensor parallel size {parallel} does not divide the {heads} attention heads of `{model}`",
        "vLLM gives each GPU whole heads, and ends with "
        "`Total number of attention heads ({heads}) must be divisible by tensor parallel size ({parallel})`"
        ".",
        "Use a size that divides the heads: {fitting}.",
    ),
    zh=Words(
        "张量并行数 {parallel} 不能整除 `{model}` 的 {heads} 个注意力头",
        "vLLM 给每张 GPU 分配完整的注意力头,因此会以 "
        "`Total number of attention heads ({heads}) must be divisible by tensor parallel size ({parallel})` "
        "退出。",
        "使用能整除注意力头数的大小:{fitting}。",
    ),
)

KEYS = Message(
    en=Words(
        "Tensor parallel size {parallel} fits the {heads} key-value heads of `{model}` neither way",
        "Key-value heads are divided among the GPUs, or copied when there are fewer of them than GPUs. "
        "Neither comes out even here, and the model's assertion ends the engine while the model is built.",
        "Use a size that divides the heads: {fitting}.",
    ),
    zh=Words(
        "张量并行数 {parallel} 与 `{model}` 的 {heads} 个 key-value 头无法对应",
        "key-value 头要么平均分到各 GPU,要么在少于 GPU 数时平均复制。这里两种都不成立,构建模型时的断言会使引擎退出。",
        "使用能整除这些头的大小:{fitting}。",
    ),
)


#: model types whose vLLM implementation divides or copies key-value heads evenly, each read in 0.8.5 and 0.33.0
DIVIDED_KEYS = {"llama", "qwen2", "qwen3", "mistral"}
LARGEST = 64
ENGINE = "actor_rollout_ref.rollout."


def _judged(model: Model, setting: Setting | None, flag: str) -> Judgement:
    parallel = whole(setting.value) if setting is not None and setting.known else None
    heads, keys = model.attention_heads, model.kv_heads
    if setting is None or parallel is None or parallel < 2 or heads is None:
        return
    if heads % parallel:
        message, wrong = MESSAGE, heads
    elif keys and model.model_type in DIVIDED_KEYS and keys % parallel and parallel % keys:
        message, wrong = KEYS, keys
    else:
        return
    fitting = [size for size in range(1, LARGEST + 1) if not heads % size and (not keys or not keys % size)]
    best = max(size for size in fitting if size <= parallel)
    yield found(
        PROBLEM,
        message,
        parallel=parallel,
        heads=wrong,
        model=model.name,
        fitting=", ".join(map(str, fitting)),
        where=place_of(setting),
        commands=(f"{flag}{best}",),
        evidence=(proof(setting), Evidence(f"{model.folder}/config.json", f"{heads} heads, {keys} key-value heads")),
    )


@check(PROBLEM)
def served_heads(model: Model, serving: Serving | None) -> Judgement:
    """An explicit size above 1 against the heads of config.json."""
    if serving is not None and not overridden(serving):
        yield from _judged(model, serving.arguments.get("tensor_parallel_size"), "--tensor-parallel-size ")


@check(PROBLEM)
def colocated_heads(model: Model, training: Training | None, packages: Packages | None) -> Judgement:
    """The engine inside TRL's trainer."""
    yield from _judged(model, colocated_parallel(training, packages), "--vllm_tensor_parallel_size ")


@check(PROBLEM)
def rollout_heads(model: Model, verl_config: VerlConfig | None) -> Judgement:
    """VeRL's rollout engine, where it is vLLM."""
    if verl_config is None:
        return
    name = verl_config.get(ENGINE + "name")
    if name is None or name.value == "vllm":
        key = ENGINE + "tensor_model_parallel_size"
        yield from _judged(model, verl_config.get(key), f"{key}=")


def explain(hits: Hits) -> Finding | None:
    """Name the sizes that divide the heads."""
    heads, size = int(hits.get("heads") or 0), int(hits.get("size") or 0)
    fitting = [each for each in range(1, min(heads, 16) + 1) if heads and heads % each == 0 and each != size]
    smaller = max((each for each in fitting if each < size), default=1)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--tensor-parallel-size {smaller}",),
        heads=heads,
        size=size,
        fitting=", ".join(str(each) for each in fitting),
    )
