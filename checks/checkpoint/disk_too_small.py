"""The disk has no room for the checkpoints of this run.

## What it means
The checkpoints that the run will keep at once need more than is free where `output_dir` lies.
## What it does to a run
`No space left on device` in the middle of a save: the checkpoint is torn, the run ends, and other jobs on that disk
end too.
## What to do
Free space, choose another `output_dir`, set `save_total_limit`, or save only the model.
## How it is found
Parameters of the model's files times the bytes of weights and optimizer states, times the checkpoints kept by
`save_steps`, `max_steps` and `save_total_limit`, against the free space. Everything is taken at the small end.
## References
https://huggingface.co/docs/transformers/main_classes/trainer
https://www.deepspeed.ai/tutorials/zero/
"""

from __future__ import annotations

from doctor.checks.checkpoint._helpers import checkpoint_bytes, checkpoints_kept
from doctor.checks.launch._helpers import proofs
from doctor.checks.memory._helpers import full_parameters, gib
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.host import Host
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="CKP001", name="disk-too-small", severity=ERROR, since="0.1")

ONE = Message(
    en=Words(
        "A checkpoint of `{model}` needs {one} GiB, and {free} GiB are free at {path}",
        "The first save ends with `No space left on device` and leaves a torn checkpoint.",
        "Free space, choose another `output_dir`, or set `save_only_model=True`.",
    ),
    zh=Words(
        "`{model}` 的一个检查点需要 {one} GiB,而 {path} 只剩 {free} GiB",
        "第一次保存就会 `No space left on device`,留下残缺的检查点。",
        "清理空间,换一个 `output_dir`,或设置 `save_only_model=True`。",
    ),
)
MANY = Message(
    en=Words(
        "{count} checkpoints of `{model}` need {all} GiB, and {free} GiB are free at {path}",
        "The disk fills up in the middle of the run: a save ends with `No space left on device` and leaves "
        "a torn checkpoint.",
        "Set `save_total_limit` to {fit} or less, free space, or choose another `output_dir`.",
    ),
    zh=Words(
        "`{model}` 的 {count} 个检查点需要 {all} GiB,而 {path} 只剩 {free} GiB",
        "磁盘会在训练途中写满:某次保存以 `No space left on device` 结束,留下残缺的检查点。",
        "把 `save_total_limit` 设为 {fit} 或更小,清理空间,或换一个 `output_dir`。",
    ),
)


@check(PROBLEM)
def disk_too_small(
    model: Model, training: Training, host: Host, packages: Packages | None, world: World | None
) -> Judgement:
    """Adapters are small and not judged."""
    parameters = full_parameters(model, training)
    kept = checkpoints_kept(training, packages)
    disk = host.disk("output_dir")
    if parameters is None or kept == 0 or disk is None:
        return
    if disk.free_bytes is None:
        yield Skip(f"the free space at {disk.path} is not known")
        return
    one = checkpoint_bytes(parameters, training, packages, world)
    if one * (kept or 1) <= disk.free_bytes:
        return
    alone = one > disk.free_bytes
    limit, every = training.get("save_total_limit"), training.get("save_steps")
    yield found(
        PROBLEM,
        ONE if alone else MANY,
        model=model.name,
        one=gib(one),
        all=gib(one * (kept or 1)),
        count=kept or 1,
        fit=max(1, disk.free_bytes // one - 1) if one else 1,
        free=gib(disk.free_bytes),
        path=disk.path,
        where=place_of(limit, every),
        severity=ERROR if alone else WARNING,
        confidence=LIKELY,
        commands=(f"df -h {disk.path}",),
        evidence=(*proofs(limit, every), Evidence(model.folder, f"{parameters} parameters")),
    )
