"""The code reads an environment variable that its process does not have.

## What it means
`os.environ["NAME"]` insists on the variable. It was not exported, not handed on (by Ray, Slurm, sudo, docker, ssh),
or is set by a launcher that was not used or on machines of another kind.
## What it does to a run
It ends with a KeyError at that line.
## What to do
Export it where the process gets its environment from.
## How it is found
In a log: by the KeyError of os.environ.
## References
https://docs.python.org/3/library/os.html#os.environ
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html
https://github.com/verl-project/verl/pull/5100
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH048", name="variable-not-set", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^KeyError: '(?P<variable>[A-Z][A-Z0-9_]{2,60})'$",
        frame=r"(?:^|[\\/]|frozen )os(?:\.py)?>?:__getitem__$",
        symptom_of=("LCH", "DSP", "RAY"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the environment variable `{variable}` is not set in the process that reads it",
        "It may be set in your shell and still be missing there: Ray's workers get the environment of `ray start`, "
        "Slurm's steps that of sbatch, and sudo, ssh and docker hand nothing on by themselves. Variables of ranks "
        "come from a launcher (torchrun, accelerate), those of devices exist only on machines of that kind "
        "(ASCEND_*, HIP_*).",
        "`export {variable}=...` before the start on every node. Ray: before `ray start`, or in `runtime_env` "
        "(`env_vars`; veRL `+ray_kwargs.ray_init.runtime_env.env_vars.{variable}=...`); docker: `-e {variable}`; "
        "sudo: `-E`. For a variable of ranks use the launcher; for one of another kind of device upgrade the "
        "library that asks for it.",
    ),
    zh=Words(
        "读取环境变量 `{variable}` 的进程中没有设置它",
        "它可能在你的 shell 中已设置,但在那里仍然缺失:Ray 的 worker 使用 `ray start` 时的环境,Slurm 的 step 使用 "
        "sbatch 的环境,sudo、ssh 与 docker 默认不传递。rank 相关变量由启动器(torchrun、accelerate)设置,设备相关变量"
        "只存在于该类机器上(ASCEND_*、HIP_*)。",
        "在每个节点启动前 `export {variable}=...`。Ray:在 `ray start` 之前,或写入 `runtime_env`(`env_vars`;veRL "
        "`+ray_kwargs.ray_init.runtime_env.env_vars.{variable}=...`);docker:`-e {variable}`;sudo:`-E`。rank 相关变"
        "量请使用启动器;其他设备的变量请升级读取它的库。",
    ),
)
