"""A worker that holds the reference model alone is asked to load a checkpoint.

## What it means
In veRL only the actor, or a rollout worker by itself, has a checkpoint manager. Recipes that renew the reference
policy (SPIN and others) call `ref_policy_wg.load_checkpoint`, which releases from 0.4 on refuse.
## What it does to a run
An AssertionError at the first renewal of the reference.
## What to do
Renew the reference in another way, or run the recipe with the release of veRL that it was written for.
## How it is found
In a log: by the assertion in `fsdp_workers.py`.
## References
https://github.com/verl-project/verl/issues/2361
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL023", name="reference-loads-checkpoint", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Checkpoint loading is only supported for Actor or standalone Rollout Workers(?:, but got (?P"
        r"<actor>True|False) and (?P<rollout>True|False))?",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "veRL was told to load a checkpoint into the reference model, which its workers refuse",
        "Only workers with the role of the actor (or a rollout worker by itself) have a checkpoint "
        "manager. A trainer or recipe that renews the reference policy calls "
        "`ref_policy_wg.load_checkpoint(...)`; veRL's own worker class has not allowed that since 0.4.",
        "Take the recipe and veRL from the same commit, and let its own worker class load (SPIN brings "
        "one, `recipe/spin/fsdp_workers.py`: check that its main file imports that). In a trainer of "
        "your own do not load into `ref_policy_wg`: merge the actor's checkpoint (`python -m "
        "verl.model_merger merge --backend fsdp --local_dir CKPT/actor --target_dir DIR`) and start "
        "again with it as the reference's model. Plain resuming never needs this call.",
    ),
    zh=Words(
        "veRL 被要求把检查点加载进参考模型,而其 worker 拒绝这样做",
        "只有担任 actor 的 worker(或独立的 rollout worker)才有 checkpoint manager。更新参考策略的训练器或"
        " recipe 会调用 `ref_policy_wg.load_checkpoint(...)`;自 0.4 起 veRL 自带的 worker 类不允许这样做"
        "。",
        "让 recipe 与 veRL 来自同一个 commit,并使用它自己的 worker 类来加载(SPIN 自带 "
        "`recipe/spin/fsdp_workers.py`:确认其主文件导入的是它)。自写的训练器不要向 `ref_policy_wg` 加载:"
        "先合并 actor 的检查点(`python -m verl.model_merger merge --backend fsdp --local_dir CKPT/actor "
        "--target_dir DIR`),再以它作为参考模型重新启动。普通的断点续训不需要该调用。",
    ),
)
