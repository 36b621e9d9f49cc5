"""CUDA_VISIBLE_DEVICES names GPUs that this machine does not have.

## What it means
The list of devices holds an index or a UUID that matches no GPU here. CUDA reads the list from the left and stops at
the first entry that it does not know: what follows is invisible too.
## What it does to a run
Fewer GPUs than expected, down to none: `invalid device ordinal`, `No CUDA GPUs are available`, or a rank without a GPU.
## What to do
List only devices that `nvidia-smi -L` shows.
## How it is found
The list (CUDA_VISIBLE_DEVICES, or accelerate's `gpu_ids` that replaces it) is compared with what NVML reports.
## References
https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars
https://github.com/deepspeedai/DeepSpeed/blob/v0.17.2/deepspeed/launcher/runner.py
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.world import World, visible

PROBLEM = Problem(id="LCH006", name="visible-devices-absent", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{by}` names {entries}, and this machine has GPUs {indices}",
        "CUDA stops reading the list at the first entry that it does not know, so the GPUs after it are hidden too and "
        "{left} stay visible.",
        "List only GPUs that exist on this machine.",
    ),
    zh=Words(
        "`{by}` 中有 {entries},而本机的 GPU 为 {indices}",
        "CUDA 读到第一个不认识的条目就停止,其后的 GPU 也会被隐藏,最终只剩 {left} 张可见。",
        "只列出本机确实存在的 GPU。",
    ),
)

INCLUDE = Message(
    en=Words(
        "`--include` names {entries}, and this machine has GPUs {indices}",
        "DeepSpeed's launcher ends at once with `No slot '{first}' specified on host 'localhost'`.",
        "Name only GPUs that exist on this machine.",
    ),
    zh=Words(
        "`--include` 中有 {entries},而本机的 GPU 为 {indices}",
        "DeepSpeed 启动器会立即以 `No slot '{first}' specified on host 'localhost'` 退出。",
        "只写本机确实存在的 GPU。",
    ),
)


@check(PROBLEM)
def visible_devices_absent(
    world: World | None, gpus: Gpus, environment: Environment, launch: Launch | None
) -> Judgement:
    """A training as its launcher resolves it, anything else by the variable; too large counts are LCH005's."""
    text = environment.get("CUDA_VISIBLE_DEVICES")
    by = world.hidden_by if world is not None and world.hidden_by else "CUDA_VISIBLE_DEVICES"
    left, unknown = (world.visible_gpus, world.unknown_devices) if world is not None else visible(gpus, text)
    if not unknown or not gpus.gpus or by == "--num_gpus" or (launch is not None and "srun" in launch.wrappers):
        return
    indices = ", ".join(str(gpu.index) for gpu in gpus.gpus)
    if by == "--include":
        yield from _included(launch, unknown, indices)
        return
    yield found(
        PROBLEM,
        MESSAGE,
        by=by,
        entries=", ".join(f"`{entry}`" for entry in unknown),
        indices=indices,
        left=len(left or ()),
        commands=(f"CUDA_VISIBLE_DEVICES={indices.replace(' ', '')}",),
        evidence=(Evidence("environment", f"CUDA_VISIBLE_DEVICES={text}"),) if text else (),
    )


def _included(launch: Launch | None, unknown: tuple[str, ...], indices: str) -> Judgement:
    """DeepSpeed's own list; one for other hosts says nothing about this machine."""
    setting = launch.option("include") if launch is not None else None
    hosts = {part.partition(":")[0] for part in str(setting.value if setting else "").split("@")}
    if hosts == {"localhost"}:
        yield found(
            PROBLEM,
            INCLUDE,
            entries=", ".join(f"`{entry}`" for entry in unknown),
            indices=indices,
            first=unknown[0],
            commands=(f"--include localhost:{indices.replace(' ', '')}",),
            evidence=(Evidence("launch command", f"--include {setting.value if setting else ''}"),),
        )
