"""A sharded tensor (DTensor) was handed to a collective that knows plain tensors only.

## What it means
DDP, DeepSpeed and state-dict loaders send weights and buffers to all ranks with `torch.distributed.broadcast`. A tensor
that is sharded over GPUs (DTensor) cannot be sent so. Models get DTensors by tensor parallelism, which Transformers of
the first half of 2025 switched on by itself for `device_map="auto"` under a launcher, or by FSDP 2.
## What it does to a run
AssertionError in torch's dispatcher, while the model is wrapped or its weights are loaded.
## What to do
Load the model whole on each GPU for DDP and DeepSpeed.
## How it is found
In a log: by the assertion; the frames tell who broadcast.
## References
https://github.com/pytorch/pytorch/issues/155463
https://github.com/pytorch/pytorch/issues/150401
https://github.com/huggingface/transformers/issues/38771
https://github.com/huggingface/transformers/pull/38942
https://github.com/huggingface/accelerate/issues/3628
https://github.com/NVIDIA-NeMo/RL/pull/627
https://github.com/pytorch/pytorch/issues/164843
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.patterns import later
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR063", name="sharded-weight-broadcast", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"AssertionError: found no DeviceMesh from dtensor args for (?P<operator>c10d\.[\w.]{1,60}?)!?$"),
)

#: who wraps a whole model for every GPU
_WRAPS = later(
    r"(?:_sync_module_states|_broadcast_model|_sync_params_and_buffers)$|nn[\\/]parallel[\\/]distributed\.py:"
)
_NEMO = later(r"nemo_rl[\\/]")

WHOLE = Message(
    en=Words(
        "the model was loaded in shards over the GPUs, and DDP or DeepSpeed wants it whole on each",
        'Its weights are DTensors: Transformers of the first half of 2025 takes `device_map="auto"` under a launcher '
        '(torchrun, accelerate, deepspeed) for tensor parallelism, as `tp_plan="auto"` does in all releases.',
        'Load without `device_map`, or with `device_map={{"": int(os.environ["LOCAL_RANK"])}}`, and without `tp_plan`; '
        "or `pip install -U transformers`, which no longer joins the two. To split one model over all GPUs start a "
        "single process without the launcher.",
    ),
    zh=Words(
        "模型被切分加载到多块 GPU 上,而 DDP 或 DeepSpeed 需要每块 GPU 上都有完整模型",
        "其权重是 DTensor:2025 年上半年的 Transformers 在启动器(torchrun、accelerate、deepspeed)下会把 "
        '`device_map="auto"` 当作张量并行,`tp_plan="auto"` 在所有版本中都是如此。',
        '加载时不传 `device_map`,或使用 `device_map={{"": int(os.environ["LOCAL_RANK"])}}`,也不要传 `tp_plan`;'
        "或 `pip install -U transformers`,新版本已不再把两者绑定。若要把一个模型切分到所有 GPU,请不用启动器,"
        "只启动一个进程。",
    ),
)
NEMO = Message(
    en=Words(
        "NeMo-RL broadcast a buffer of the model that tensor parallelism had sharded",
        "With sequence parallelism the buffers of some models become DTensors, and releases up to the summer of 2025 "
        "sent them to the ranks as if they were plain.",
        "Upgrade NeMo-RL (newer ones leave DTensors out of that broadcast), or set "
        "`policy.dtensor_cfg.sequence_parallel=false`.",
    ),
    zh=Words(
        "NeMo-RL 广播了已被张量并行切分的模型 buffer",
        "启用序列并行时,某些模型的 buffer 会变成 DTensor,2025 年夏季之前的版本把它们当作普通张量发送给各 rank。",
        "升级 NeMo-RL(新版本的这一广播会跳过 DTensor),或设置 `policy.dtensor_cfg.sequence_parallel=false`。",
    ),
)
LOG_MESSAGE = Message(
    en=Words(
        "`{operator}` was called with a sharded tensor (DTensor), which it does not take",
        'The model has sharded weights (tensor parallelism by `tp_plan` or `device_map="auto"` under a launcher, or '
        "FSDP 2), and the code here sends tensors to all ranks as if they were plain.",
        'For DDP and DeepSpeed load the model whole: no `tp_plan`, no `device_map="auto"`. Where FSDP 2 is meant, '
        "upgrade torch, Accelerate and the trainer together; in code of your own send `tensor.to_local()`, or take "
        "`full_tensor()` first.",
    ),
    zh=Words(
        "`{operator}` 得到了分片张量(DTensor),它不支持这种张量",
        '模型的权重是分片的(`tp_plan` 或启动器下的 `device_map="auto"` 带来的张量并行,或 FSDP 2),'
        "而这里的代码把张量当作普通张量发送给所有 rank。",
        '使用 DDP 或 DeepSpeed 时加载完整模型:不用 `tp_plan`,不用 `device_map="auto"`。确实要用 FSDP 2 时,一起升级 '
        "torch、Accelerate 与训练器;自己的代码中发送 `tensor.to_local()`,或先取 `full_tensor()`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The frames tell who sent it."""
    frames = hits.first.frames
    if any(_NEMO.search(each) for each in frames):
        message = NEMO
    else:
        message = WHOLE if any(_WRAPS.search(each) for each in frames) else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        operator=hits.get("operator"),
    )  # fmt: skip
