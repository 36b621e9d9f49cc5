"""The launcher could not log in to another node.

## What it means
DeepSpeed's launcher, Ray's cluster launcher and mpirun start the other nodes over ssh, without asking anybody: keys
must let them in, the other side must be known and reachable.
## What it does to a run
The other nodes never start; the first waits for them or ends.
## What to do
Make `ssh NODE true` work without a question, as this user, from the first node.
## How it is found
In a log: by the words of ssh and pdsh.
## References
https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node
https://man.openbsd.org/ssh
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH038", name="ssh-refused", severity=ERROR, since="0.1")

#: servers of git, which no launcher logs in to
_NO_GIT = r"(?!(?:[\w\-]{1,40}\.)?(?:github|gitlab|gitee|bitbucket|huggingface|hf|modelscope)\.(?:com|org|co|cn)\b)"
SIGNATURES = (
    Signature(
        r"(?:^|[\s:]|(?<!git)@)(?P<host>[\w.\-]{1,80}): Permission denied \((?:publickey|password|keyboard-inte"
        r"ractive|gssapi)[\w,\-]{0,80}\)",
    ),
    Signature(
        r"Host key verification failed\.",
    ),
    Signature(
        rf"ssh: (?:connect to host (?P<host>{_NO_GIT}[\w.\-:]{{1,80}}) port \d{{1,5}}: (?:Connection refused|Connect"
        rf"ion timed out|No route to host)|Could not resolve hostname (?P<unresolved>{_NO_GIT}[\w.\-]{{1,80}}))",
    ),
    Signature(r"fatal: (?P<git>Could not read from remote repository)", kind="sign"),
)

DENIED = Message(
    en=Words(
        "ssh to `{host}` is not let in without a password",
        "The launcher starts the other nodes over ssh in batch mode. This user's key is not in "
        "`authorized_keys` there, belongs to another user than the one it logs in as, or is not readable "
        "in the container.",
        "`ssh-keygen -t ed25519` (without a passphrase) and `ssh-copy-id {host}` for every node of the "
        "hostfile, until `ssh -o BatchMode=yes {host} true` says nothing. In containers mount the key, "
        "run sshd on a port of its own (`~/.ssh/config`: Port). Without ssh: `deepspeed --no_ssh "
        "--node_rank N ...` or `torchrun` started on each node by Slurm or by hand.",
    ),
    zh=Words(
        "ssh 无法免密登录 `{host}`",
        "启动器以非交互方式通过 ssh 启动其他节点。该用户的密钥不在对方的 `authorized_keys` 中,登录的是另"
        "一个用户,或容器内读不到密钥。",
        "对 hostfile 中的每个节点执行 `ssh-keygen -t ed25519`(不设口令)与 `ssh-copy-id {host}`,直到 `ssh "
        "-o BatchMode=yes {host} true` 没有输出。容器中请挂载密钥,并让 sshd 使用单独的端口"
        "(`~/.ssh/config` 的 Port)。不用 ssh:`deepspeed --no_ssh --node_rank N ...`,或由 Slurm、手动在每"
        "个节点启动 `torchrun`。",
    ),
)

UNKNOWN = Message(
    en=Words(
        "ssh does not know the key of another node, and may not ask",
        "A node of the hostfile is not in `known_hosts`, or its key changed (a new container or machine "
        "under the same name). In batch mode ssh refuses rather than asks.",
        "`ssh-keyscan -H NODE >> ~/.ssh/known_hosts` for each node (`ssh-keygen -R NODE` first where the "
        "key changed), or in a closed cluster `StrictHostKeyChecking accept-new` in `~/.ssh/config`.",
    ),
    zh=Words(
        "ssh 不认识另一节点的主机密钥,又不能询问",
        "hostfile 中的某个节点不在 `known_hosts` 中,或其密钥已改变(同名的新容器或新机器)。非交互模式下 "
        "ssh 会直接拒绝。",
        "对每个节点 `ssh-keyscan -H NODE >> ~/.ssh/known_hosts`(密钥改变的先 `ssh-keygen -R NODE`),或在封"
        "闭集群中于 `~/.ssh/config` 设置 `StrictHostKeyChecking accept-new`。",
    ),
)

UNREACHED = Message(
    en=Words(
        "ssh does not reach `{host}`",
        "No sshd answers there: none runs in that container, it listens on another port, the name does "
        "not resolve, or a firewall lies between. The launcher cannot start that node.",
        "Correct the names in the hostfile, start sshd on each node (`service ssh start`; `Port` in "
        "`~/.ssh/config` where it is not 22), and try `ssh {host} hostname` from the first node. Without "
        "ssh: `deepspeed --no_ssh --node_rank N ...` or `torchrun` on each node.",
    ),
    zh=Words(
        "ssh 无法到达 `{host}`",
        "那里没有 sshd 应答:该容器中没有运行,监听了别的端口,名称无法解析,或被防火墙阻断。启动器无法启动该节点。",
        "更正 hostfile 中的名称,在每个节点启动 sshd(`service ssh start`;不是 22 端口时在 `~/.ssh/config` "
        "写 `Port`),并从第一个节点尝试 `ssh {host} hostname`。不用 ssh:`deepspeed --no_ssh --node_rank N "
        "...`,或在每个节点运行 `torchrun`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Not let in, not known, or not reached; git says the same of its own servers."""
    if hits.get("git") and not hits.of(0):
        return None
    message = DENIED if hits.of(0) else UNKNOWN if hits.of(1) else UNREACHED
    host = hits.get("host") or hits.get("unresolved") or "NODE"
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is UNKNOWN else CONFIRMED,  # git says the same of its servers
        host=host,
        commands=(f"ssh -o BatchMode=yes {host} true",),
    )
