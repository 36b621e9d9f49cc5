"""The folder of Ray under /tmp belongs to somebody else.

## What it means
Ray keeps sockets, logs and locks under /tmp/ray. On a machine with several users the first one who starts Ray owns the
folder, and a cluster that another user (or root) started keeps its session files to itself.
## What it does to a run
`ray.init` or `ray start` ends with PermissionError at once.
## What to do
Give Ray a folder of your own, and do not join another user's cluster.
## How it is found
In a log: by PermissionError with a path of Ray.
## References
https://github.com/ray-project/ray/issues/3899
https://github.com/ray-project/ray/issues/4593
https://github.com/ray-project/ray/issues/32776
https://docs.ray.io/en/latest/ray-core/configure.html#logging-and-debugging
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY034", name="ray-temporary-folder-of-another", severity=ERROR, since="0.1")

OWNER = Message(
    en=Words(
        "`{path}` belongs to another user, and Ray may not use it",
        "Somebody else started Ray on this machine first (another account, or root in a container or with sudo). "
        '`address="auto"` also joins that user\'s cluster when it still runs.',
        "Start one of your own with its own folder: `export RAY_TMPDIR=/tmp/ray-$USER` before `ray start --head "
        "--port=6380 --temp-dir=/tmp/ray-$USER`, or `ray.init(_temp_dir=f\"/tmp/ray-{{os.environ['USER']}}\")` "
        '(keep the path short); `unset RAY_ADDRESS`, and no `address="auto"`. Once no Ray runs '
        "there any more, its owner or an administrator may remove the folder, with all its logs: `sudo rm -rf "
        "/tmp/ray`.",
    ),
    zh=Words(
        "`{path}`属于其他用户,Ray 无权使用",
        '同一机器上有人先启动了 Ray(另一个账号,或容器、sudo 下的 root)。若该集群仍在运行,`address="auto"` 还会加入它。',
        "用自己的目录启动自己的集群:`export RAY_TMPDIR=/tmp/ray-$USER`,再 `ray start --head --port=6380 "
        "--temp-dir=/tmp/ray-$USER`,或 `ray.init(_temp_dir=f\"/tmp/ray-{{os.environ['USER']}}\")`(路径要短);`unset"
        ' RAY_ADDRESS`,不用 `address="auto"`。确认那里已无 Ray 运行后,可由所有者或管理员删除该目录(连同其日志):`sudo '
        "rm -rf /tmp/ray`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"PermissionError: \[Errno 1?[13]\] [^:'\n]{2,60}: '(?P<path>/tmp/ray(?:/[^'\n]{0,250})?"
            r"|/[^'\n]{0,200}/(?:ray/session_|_ray_lockfiles)[^'\n]{0,250})'"
        ),
        OWNER,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
