"""ART (OpenPipe's agent reinforcement trainer) was called in a way that it does not take.

## What it means
A trainable model must be registered with a backend before it is used; training takes groups of trajectories; the
arguments of `gather_trajectory_groups` and of RULER came with releases.
## What it does to a run
The program ends before training, or no group is trained on.
## What to do
What the finding says for the message.
## How it is found
In a log: by ART's messages, or by exceptions inside of its files.
## References
https://github.com/OpenPipe/ART/blob/main/src/art/model.py
https://github.com/OpenPipe/ART/blob/main/src/art/gather.py
https://github.com/OpenPipe/ART/blob/main/src/art/rewards/ruler.py
https://art.openpipe.ai/fundamentals/training-loop
https://github.com/johnson7788/RLDecisionAgent/blob/ef60ea920fa09c11ec20f8640099f975f7fb9215/docs/ART/Error.md
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="RLX024", name="art-called-wrongly", severity=ERROR, since="0.1")

UNREGISTERED = Message(
    en=Words(
        "ART's model is used before it was registered with a backend",
        "`model.register(backend)` starts the server of a trainable model and tells every model where it logs. Models "
        "that are only compared with (`art.Model`) need it as well.",
        "`backend = LocalBackend()` and `await model.register(backend)` first, for each model of the script, before "
        "`openai_client()`, `log`, `train` or a rollout.",
    ),
    zh=Words(
        "ART 的模型在注册到 backend 之前就被使用",
        "`model.register(backend)` 启动可训练模型的服务,并告诉每个模型把日志写到哪里。只用于对比的模型(`art.Model`)也"
        "需要。",
        "先 `backend = LocalBackend()` 与 `await model.register(backend)`,脚本中的每个模型都要,且在 `openai_client()`、"
        "`log`、`train` 或 rollout 之前。",
    ),
)
GROUPS = Message(
    en=Words(
        "ART was given lists where it takes groups of trajectories",
        "`model.train` and `model.log` want a list of `art.TrajectoryGroup`, each with the trajectories of one "
        "scenario. A comprehension over a group makes a plain list of it.",
        "Wrap each list: `await model.train([art.TrajectoryGroup(each) for each in groups])`, or hand on what "
        "`art.gather_trajectory_groups(...)` returned.",
    ),
    zh=Words(
        "传给 ART 的是列表,而它需要 trajectory 组",
        "`model.train` 与 `model.log` 需要 `art.TrajectoryGroup` 的列表,每组包含同一场景的 trajectory。对组做列表推导会"
        "得到普通列表。",
        "把每个列表包起来:`await model.train([art.TrajectoryGroup(each) for each in groups])`,或直接传入 "
        "`art.gather_trajectory_groups(...)` 的返回值。",
    ),
)
RELEASE = Message(
    en=Words(
        "the installed ART has no argument `{name}` for `{function}`",
        "The example or script was written for another release of openpipe-art: its main branch is ahead of what is on "
        "the index, and release candidates differ.",
        "Install the release that the example names, or the repository itself: `pip install "
        "git+https://github.com/OpenPipe/ART.git`; or leave `{name}` out and do its work after the call.",
    ),
    zh=Words(
        "所装的 ART 中 `{function}` 没有参数 `{name}`",
        "示例或脚本针对另一个 openpipe-art 版本:主分支领先于索引上的版本,各候选版也不同。",
        "安装示例所指的版本,或直接安装仓库:`pip install git+https://github.com/OpenPipe/ART.git`;或去掉 `{name}`,"
        "在调用之后完成其工作。",
    ),
)
HISTORIES = Message(
    en=Words(
        "RULER of ART cannot judge a trajectory with additional histories",
        "It compares the trajectories of a group by one list of messages each; agents that keep several conversations "
        "(`additional_histories`) are not covered by this release.",
        "Reward these trajectories yourself (`trajectory.reward = ...`), give RULER trajectories whose "
        "`additional_histories` is empty, or upgrade openpipe-art.",
    ),
    zh=Words(
        "ART 的 RULER 无法评判带有 additional histories 的 trajectory",
        "它以每个 trajectory 的一份消息列表进行组内比较;保留多段对话(`additional_histories`)的智能体在该版本中不受支持"
        "。",
        "自行给出奖励(`trajectory.reward = ...`),只把 `additional_histories` 为空的 trajectory 交给 RULER,或升级 "
        "openpipe-art。",
    ),
)

#: (pattern, what is said of it)
CASES = (
    (r"ValueError: Model is not registered with the Backend", UNREGISTERED),
    (r"ValueError: OpenAI client not yet available on this trainable model", UNREGISTERED),
    (r"AttributeError: 'list' object has no attribute 'trajectories'", GROUPS),
    (
        (
            r"TypeError: (?P<function>gather_trajectory_groups|gather_trajectories|ruler_score_group|ruler)\(\)"
            r" got an unexpected keyword argument '(?P<name>\w{1,60})'"
        ),
        RELEASE,
    ),
    (r"ValueError: Additional histories are not supported by RULER", HISTORIES),
)

#: others have lists and judges, too
SIGNATURES = tuple(
    Signature(pattern, frame=r"[\\/]art[\\/]" if pattern.startswith("AttributeError") else "") for pattern, _ in CASES
)
_OWN = frozenset({"ruler", "gather_trajectories"})  # names that a program may have for itself


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    own = hits.first.groups.get("function") in _OWN
    return finding_of_case(PROBLEM, CASES, hits, LIKELY if own else CONFIRMED)
