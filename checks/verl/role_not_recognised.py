"""veRL's trainer does not find the actor's role among those it was given, though it looks as if it were there.

## What it means
Roles are members of an enumeration. A member of one copy of the module is not equal to that of another copy, whatever
it prints; and releases differ in whether the combined role is called ActorRollout or ActorRolloutRef.
## What it does to a run
The trainer ends while it is built.
## What to do
One copy of veRL, and entry point and trainer of the same release.
## How it is found
In a log: by the trainer's assertion, which prints the roles.
## References
https://github.com/verl-project/verl/issues/1061
https://github.com/verl-project/verl/blob/v0.5.0/verl/trainer/ppo/ray_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL032", name="role-not-recognised", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AssertionError: (?:self\.)?role_worker_mapping\.keys\(\)=dict_keys\(\[<Role\."),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "veRL's trainer does not recognise the roles that it was given",
        "The list looks right and the comparison fails: the roles come from another copy of the module than the "
        "trainer. The checkout of a project that brings veRL along (Search-R1, a fork) and an installed verl are "
        "both in the path, or your own main program is of another release than the package (ActorRollout, "
        "ActorRolloutRef).",
        "`python -c 'import verl; print(verl.__file__)'` in the folder of the run: it must be the copy that your "
        "script belongs to. `pip uninstall verl` and `pip install -e .` in that checkout, and look through "
        "PYTHONPATH. Ray's workers import from their own path: start from the checkout's folder, or hand "
        "PYTHONPATH on in `runtime_env`. Take main program and trainer from one release.",
    ),
    zh=Words(
        "veRL 的训练器不认识传入的角色",
        "列表看起来正确而比较失败:角色来自与训练器不同的一份模块。自带 veRL 的项目(Search-R1、分支)源码与已安装的 "
        "verl 同时在路径中,或你的主程序与安装包不是同一版本(ActorRollout、ActorRolloutRef)。",
        "在运行目录执行 `python -c 'import verl; print(verl.__file__)'`:必须是脚本所属的那一份。在该源码目录 `pip "
        "uninstall verl` 后 `pip install -e .`,并检查 PYTHONPATH。Ray 的 worker 从自己的路径导入:从源码目录启动,或"
        "在 `runtime_env` 中传递 PYTHONPATH。主程序与训练器取自同一版本。",
    ),
)
