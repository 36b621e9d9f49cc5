"""The saved state of the random generator was loaded onto the GPU.

## What it means
`torch.set_rng_state` takes bytes in host memory, also for the generators of GPUs. `torch.load(file,
map_location="cuda")` moves every tensor of the file to the GPU, that state among them.
## What it does to a run
TypeError when a training is resumed.
## What to do
Load to the host, or bring that one tensor back.
## How it is found
In a log: by torch's refusal.
## References
https://docs.pytorch.org/docs/stable/generated/torch.set_rng_state.html
https://github.com/lanl/hippynn/pull/12
https://github.com/pytorch/ignite/issues/2076
https://github.com/koda-dernet/Side-Step/issues/6
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="CKP032", name="random-state-on-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^TypeError: (?:RNG state must be a torch\.ByteTensor|expected a torch\.ByteTensor, but got torch\.cuda\.)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the checkpoint's random state was loaded onto the GPU, where torch does not take it",
        "A state of a random generator is bytes in host memory, also for the GPU's generators. The code that loads the "
        "checkpoint moves all of it: `map_location` names a GPU, or `torch.set_default_device` does.",
        'Load with `map_location="cpu"` (weights are copied to their device by `load_state_dict`), or convert that '
        'one: `torch.set_rng_state(state["rng"].cpu().byte())`. To go on without it leave the line out, or remove the '
        "file with the random state: only the order of the data and dropout differ.",
    ),
    zh=Words(
        "检查点中的随机数状态被加载到 GPU,而 torch 不接受",
        "随机数生成器的状态是主机内存中的字节,GPU 的生成器也是如此。加载检查点的代码移动了全部内容:`map_location` 指定"
        "了 GPU,或由 `torch.set_default_device` 指定。",
        '用 `map_location="cpu"` 加载(`load_state_dict` 会把权重复制到各自设备),或只转换该项'
        ':`torch.set_rng_state(state["rng"].cpu().byte())`。若不需要它,去掉这一行或删除保存随机数状态的文件:只影响数据'
        "顺序和 dropout。",
    ),
)

LOG_CONFIDENCE = LIKELY
