"""The limit of open files is too low for Ray.

## What it means
A process may open fewer files than Ray needs for its connections. Ray raises the soft limit by itself, but not above
the hard one.
## What it does to a run
Ray warns at the start; on a run with many workers connections fail with `Too many open files`, and actors are lost.
## What to do
Raise the hard limit of this user or container to 65536.
## How it is found
Hard limit of a process started here. Ray's own bound is 4096, and it recommends 8192 and more.
## References
https://github.com/ray-project/ray/blob/ray-2.50.0/python/ray/_private/worker.py
https://github.com/ray-project/ray/issues/11239
"""

from __future__ import annotations

from doctor.checks.ray._helpers import uses_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Skip, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

PROBLEM = Problem(id="HST003", name="open-files-limit-low", severity=WARNING, since="0.1")
RAYS_BOUND = 4096

MESSAGE = Message(
    en=Words(
        "At most {limit} files may be open, and Ray wants 8192",
        "Ray raises the soft limit by itself, but not above the hard one. With many workers connections fail with "
        "`Too many open files` and actors are lost.",
        "Raise the hard limit, in /etc/security/limits.conf or with `--ulimit nofile` of the container.",
    ),
    zh=Words(
        "最多只能打开 {limit} 个文件,而 Ray 需要 8192",
        "Ray 会自行提高软限制,但不能超过硬限制。工作进程多时,连接会以 `Too many open files` 失败,actor 会丢失。",
        "提高硬限制:修改 /etc/security/limits.conf,或为容器加 `--ulimit nofile`。",
    ),
)


@check(PROBLEM)
def open_files_limit(host: Host, launch: Launch, serving: Serving | None) -> Judgement:
    """Judge commands that start Ray; the soft limit alone means nothing."""
    if not uses_ray(launch, serving):
        return
    if host.open_files_hard is None:
        yield Skip("the limit of open files is not known")
        return
    if not 0 <= host.open_files_hard < RAYS_BOUND:
        return
    contained = host.container in {"docker", "podman"}
    yield found(
        PROBLEM,
        MESSAGE,
        limit=host.open_files_hard,
        confidence=LIKELY,
        commands=("docker run --ulimit nofile=65536:65536" if contained else "ulimit -Hn 65536",),
        evidence=(Evidence("RLIMIT_NOFILE", f"soft {host.open_files_soft}, hard {host.open_files_hard}"),),
    )
