"""The batch sizes of the DeepSpeed configuration contradict each other.

## What it means
`train_batch_size` is not `train_micro_batch_size_per_gpu` x `gradient_accumulation_steps` x number of processes.
## What it does to a run
`AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu *
gradient_acc_step * world_size` when the engine is made.
## What to do
Leave `train_batch_size` out, or write "auto" for all three under the Trainer.
## How it is found
The numbers of the JSON, and the processes that the command starts.
In a log: by DeepSpeed's assertion, whose numbers are solved again.
## References
https://www.deepspeed.ai/docs/config-json/#batch-size-related-parameters
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import setting_of, unread
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="DSP005", name="deepspeed-batch-sizes-contradict", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"train_batch_size is not equal to micro_batch_per_gpu \* gradient_acc_step \* world_size"
        r" (?P<total>\d{1,9}) != (?P<micro>\d{1,9}) \* (?P<steps>\d{1,9}) \* (?P<processes>\d{1,9})",
    ),
    Signature(
        r"AssertionError: (?:Gradient accumulation steps|Micro batch size per gpu|Train batch size):"
        r" 0 has to be greater than 0",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`train_batch_size` {total} is no multiple of {micro} x {processes} (micro batch x processes)",
        "DeepSpeed wants `train_batch_size` = micro batch per GPU x accumulation steps x processes; "
        "{micro} x {steps} x {processes} make {product}. {processes} processes are in use: if that is "
        "not the number of GPUs that was meant, the launch command is what to mend.",
        "Set `train_batch_size` to a multiple of {unit} ({below} or {above} are nearest), or to "
        '`"auto"`, or start another number of processes.',
    ),
    zh=Words(
        "`train_batch_size` {total} 不是 {micro} x {processes}(微批 x 进程数)的倍数",
        "DeepSpeed 要求 `train_batch_size` = 每 GPU 微批 x 累积步数 x 进程数;{micro} x {steps} x "
        "{processes} 等于 {product}。当前使用 {processes} 个进程:若这不是预期的 GPU 数,则应修改启动命令。",
        '把 `train_batch_size` 设为 {unit} 的倍数(最近的是 {below} 或 {above}),或设为 `"auto"`,或启动其他数量的进程。',
    ),
)

LOG_MESSAGE_STEPS = Message(
    en=Words(
        "`train_batch_size` {total} is not {micro} x {steps} x {processes} = {product}",
        "DeepSpeed wants `train_batch_size` = micro batch per GPU x accumulation steps x processes. The total is a "
        "multiple of {micro} x {processes}, so it is `gradient_accumulation_steps` {steps} that does not fit, or the "
        "number of processes is not the one that was meant ({processes}).",
        "Set `gradient_accumulation_steps` to {fitting}, or `train_batch_size` to {product}; or leave one of the three "
        'out of the DeepSpeed JSON (`"auto"` under the Trainer), and DeepSpeed computes it.',
    ),
    zh=Words(
        "`train_batch_size` {total} 不等于 {micro} x {steps} x {processes} = {product}",
        "DeepSpeed 要求 `train_batch_size` = 每 GPU 微批 x 累积步数 x 进程数。该总数是 {micro} x {processes} 的倍数,因"
        "此不相符的是 `gradient_accumulation_steps` {steps},或进程数不是预期的数量({processes})。",
        "把 `gradient_accumulation_steps` 设为 {fitting},或把 `train_batch_size` 设为 {product};或在 DeepSpeed JSON 中"
        '去掉三者之一(使用 Trainer 时写 `"auto"`),由 DeepSpeed 计算。',
    ),
)

LOG_MESSAGE_ZERO = Message(
    en=Words(
        "`train_batch_size` is smaller than micro batch x processes",
        "DeepSpeed divides `train_batch_size` by the micro batch and the number of processes to get the "
        "accumulation steps, and got 0.",
        "Raise `train_batch_size` to at least `train_micro_batch_size_per_gpu` x processes (a multiple "
        'of it), or set it to `"auto"`.',
    ),
    zh=Words(
        "`train_batch_size` 小于微批 x 进程数",
        "DeepSpeed 用 `train_batch_size` 除以微批和进程数得到累积步数,结果为 0。",
        '把 `train_batch_size` 提高到至少 `train_micro_batch_size_per_gpu` x 进程数(其倍数),或设为 `"auto"`。',
    ),
)

MESSAGE = Message(
    en=Words(
        "`train_batch_size` is {total}, and {micro} x {steps} x {processes} processes make {product}",
        "DeepSpeed ends with `train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size` "
        "when the engine is made.",
        "Remove `train_batch_size`, or set it to {product}.",
    ),
    zh=Words(
        "`train_batch_size` 是 {total},而 {micro} x {steps} x {processes} 个进程等于 {product}",
        "创建引擎时 DeepSpeed 会以 `train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * "
        "world_size` 退出。",
        "删去 `train_batch_size`,或改为 {product}。",
    ),
)


@check(PROBLEM, requires=("DSP004",))
def batch_sizes_contradict(deepspeed: DeepspeedConfig | None, world: World, training: Training | None) -> Judgement:
    """Numbers only; sequence, tensor and pipeline parallelism change the count of processes."""
    if deepspeed is None:
        yield from unread(training)
        return
    keys = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    settings = [setting_of(deepspeed, key) for key in keys]
    values = [each.value if each and isinstance(each.value, int) else None for each in settings]
    total, micro, steps = values
    if total is None or micro is None or world.processes is None or world.backend != "deepspeed":
        return
    if settings[2] is not None and steps is None:
        return
    shifting = ("elasticity.", "sequence_parallel_size", "tensor_parallel.", "pipeline.", "expert_parallel.")
    if any(name.startswith(shifting) for name in deepspeed.settings):
        return
    whole_steps = steps if steps is not None else total // micro // world.processes if micro > 0 else 0
    product = micro * whole_steps * world.processes
    if product != total:
        yield found(
            PROBLEM,
            MESSAGE,
            total=total,
            micro=micro,
            steps=whole_steps,
            processes=world.processes,
            product=product,
            where=place_of(*settings),
            evidence=proofs(*settings),
        )


def explain(hits: Hits) -> Finding | None:
    """Name the nearest batch sizes that fit."""
    total, micro, steps, processes = (int(hits.get(name) or 0) for name in ("total", "micro", "steps", "processes"))
    unit = micro * processes
    below = total // unit * unit if unit else 0
    message = LOG_MESSAGE_ZERO if not below else LOG_MESSAGE_STEPS if below == total else LOG_MESSAGE
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        total=total,
        micro=micro,
        steps=steps,
        processes=processes,
        product=micro * steps * processes,
        unit=unit,
        below=below,
        above=below + unit,
        fitting=total // unit if unit else 0,
    )
