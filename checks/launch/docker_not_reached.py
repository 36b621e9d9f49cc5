"""A program wants docker, and docker's daemon does not answer it.

## What it means
docker's client and its Python package speak to a daemon over a socket. The daemon does not run, the socket is not
there (inside a container it never is by itself), or this user may not open it.
## What it does to a run
Nothing that should run in a container starts: a launch, a sandbox for code, the environments of an agent's rollouts.
## What to do
Start the daemon, hand the socket in, or join the group that may use it.
## How it is found
In a log: by the client's words, or those of the Python package.
## References
https://docs.docker.com/engine/install/linux-postinstall/
https://docs.docker.com/engine/daemon/troubleshoot/
https://github.com/NVIDIA/nvidia-docker/issues/1138
https://github.com/algorand/sandbox/issues/9
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH045", name="docker-not-reached", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Cannot connect to the Docker daemon at (?P<silent>[\w:/.\-]{1,200})"),
    Signature(
        r"[Pp]ermission denied while trying to connect to the [Dd]ocker (?:daemon socket|API|daemon) at"
        r" (?P<refused>[\w:/.\-]{1,200})"
    ),
    Signature(
        r"(?:DockerException: )?Error while fetching server API version: [^\n]{0,60}(?P<cause>PermissionError|"
        r"FileNotFoundError|ConnectionRefusedError|No such file or directory|Permission denied)"
    ),
)

SILENT = Message(
    en=Words(
        "docker's daemon does not answer",
        "It is not running on this machine, its socket is elsewhere (rootless docker, another context, "
        "`DOCKER_HOST`), or the program runs inside a container or a cluster job in which there is no docker. "
        "Sandboxes and environments that need it all fail; rewards of such rollouts are zero or missing.",
        "`docker info` as the same user on the same machine. Start it: `sudo systemctl start docker`. In a "
        "container mount the socket (`-v /var/run/docker.sock:/var/run/docker.sock`) or point `DOCKER_HOST` to a "
        "machine that has one. On clusters without docker choose another back end of the sandbox (Apptainer, "
        "podman with `systemctl --user start podman.socket`, a remote service).",
    ),
    zh=Words(
        "docker 守护进程没有应答",
        "它没有在本机运行,套接字在别处(rootless docker、其他 context、`DOCKER_HOST`),或程序运行在没有 docker 的容器"
        "或集群作业中。需要它的沙箱与环境都会失败,相应 rollout 的奖励为零或缺失。",
        "用同一用户在同一台机器执行 `docker info`。启动:`sudo systemctl start docker`。在容器中挂载套接字(`-v "
        "/var/run/docker.sock:/var/run/docker.sock`),或把 `DOCKER_HOST` 指向有 docker 的机器。没有 docker 的集群请"
        "选用沙箱的其他后端(Apptainer、podman 配 `systemctl --user start podman.socket`、远程服务)。",
    ),
)

REFUSED = Message(
    en=Words(
        "this user may not use docker",
        "The daemon runs; its socket belongs to root and to the group `docker`, and the process is in neither. A "
        "user who was added to the group just now is in it only after a new login; inside a container the group's "
        "number counts, not its name.",
        "`sudo usermod -aG docker $USER`, then log in anew (or `newgrp docker`), and restart what was started "
        "before (Ray, tmux, a notebook server). For a container: `--group-add $(stat -c %g /var/run/docker.sock)`. "
        "Do not open the socket to everybody with chmod: whoever may use it is root on the machine. Rootless "
        "docker needs none of this.",
    ),
    zh=Words(
        "该用户无权使用 docker",
        "守护进程在运行;其套接字属于 root 与 `docker` 组,而进程不在其中。刚加入该组的用户要重新登录才生效;在容器内"
        "起作用的是组号,而不是组名。",
        "`sudo usermod -aG docker $USER`,然后重新登录(或 `newgrp docker`),并重启此前启动的程序(Ray、tmux、notebook "
        "服务)。容器:`--group-add $(stat -c %g /var/run/docker.sock)`。不要用 chmod 把套接字开放给所有人:能使用它就"
        "等于拥有本机 root。rootless docker 不需要这些。",
    ),
)


def explain(hits: Hits) -> Finding:
    """No daemon, or no right to use it."""
    refused = hits.get("refused") or "ermission" in (hits.get("cause") or "")
    return found(
        PROBLEM,
        REFUSED if refused else SILENT,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
    )
