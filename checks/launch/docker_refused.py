"""docker or docker compose refuses an image, a file or an option.

## What it means
The image does not exist under that name or needs a login, the registry counts too many pulls, the image is made for
another processor, docker is too old for GPUs, a name or port is taken, or the compose file is not understood.
## What it does to a run
No container starts.
## What to do
What the finding says for the message.
## How it is found
In a log: by docker's own words.
## References
https://docs.docker.com/compose/how-tos/gpu-support/
https://docs.docker.com/docker-hub/usage/pulls/
https://github.com/Sygil-Dev/sygil-webui/issues/490
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="LCH051", name="docker-refused", severity=ERROR, since="0.1")

CASES = (
    (
        (
            r"(?:[Tt]he Compose file '[^'\n]{1,200}' is invalid|services\.[\w.\-]{1,120} (?:value )?[Aa]dditional "
            r"propert(?:y|ies)|validating [^\n]{1,200}: services\.)"
        ),
        Message(
            en=Words(
                "docker compose does not understand the compose file",
                "A key is misspelt or wrongly indented, or the installed compose is older than the file: GPUs "
                "(`deploy.resources.reservations.devices`) are known from docker-compose 1.28 on, and the old "
                "`docker-compose` is no longer developed.",
                "`docker compose version`; install the plugin (`apt-get install docker-compose-plugin`) and use "
                "`docker compose` (two words) instead of `docker-compose`, or upgrade it. Check the file with "
                "`docker compose config`.",
            ),
            zh=Words(
                "docker compose 不理解该 compose 文件",
                "某个键拼写或缩进有误,或已安装的 compose 比文件旧:GPU(`deploy.resources.reservations.devices`)从 "
                "docker-compose 1.28 起才支持,而旧的 `docker-compose` 已不再开发。",
                "`docker compose version`;安装插件(`apt-get install docker-compose-plugin`)并使用 `docker "
                "compose`(两个词)代替 `docker-compose`,或升级它。用 `docker compose config` 检查文件。",
            ),
        ),
    ),
    (
        # other programs of the same library (kubectl, helm) put `error:` before it
        (
            r"(?:docker: 'compose' is not a docker command|docker: unknown command: docker compose"
            r"|^unknown shorthand flag: '[dfp]' in -[dfp]$)"
        ),
        Message(
            en=Words(
                "this docker has no `compose` command",
                "Compose is a plugin, which is not installed, so docker takes the word for something else.",
                "`apt-get install docker-compose-plugin` (or `docker-compose-v2` on Ubuntu), then `docker compose "
                "version`; with the old program write `docker-compose`.",
            ),
            zh=Words(
                "此 docker 没有 `compose` 命令",
                "compose 是插件,尚未安装,docker 因此把该词当作别的内容。",
                "`apt-get install docker-compose-plugin`(Ubuntu 上也可 `docker-compose-v2`),然后 `docker compose "
                "version`;旧程序则写 `docker-compose`。",
            ),
        ),
    ),
    (
        r"unknown flag: --gpus",
        Message(
            en=Words(
                "this docker does not know `--gpus`",
                "`docker run` has the option since 19.03; `docker compose` and `docker build` have none, and `docker` "
                "may be podman here.",
                "Upgrade docker, or use the old way: `--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all`; with podman "
                "`--device nvidia.com/gpu=all` (CDI). For compose write the GPUs into the file "
                "(`deploy.resources.reservations.devices`).",
            ),
            zh=Words(
                "此 docker 不认识 `--gpus`",
                "`docker run` 从 19.03 起才有该选项;`docker compose` 与 `docker build` 没有它,"
                "这里的 `docker` 也可能其实是 podman。",
                "升级 docker,或用旧方式:`--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all`;podman 则用 `--device "
                "nvidia.com/gpu=all`(CDI)。compose 请把 GPU 写进文件(`deploy.resources.reservations.devices`)。",
            ),
        ),
    ),
    (
        (
            r"pull access denied for (?P<image>[^\s,]{1,200})|repository (?P<image2>[^\s,]{1,200}) not found: does not "
            r"exist"
        ),
        Message(
            en=Words(
                "the image {image} may not be pulled: it does not exist under that name, or needs a login",
                "The name is misspelt or was meant for an image that is built here; private registries and nvcr.io "
                "ask for a login first.",
                "`docker images` shows what is on this machine; build it (`docker build -t NAME .`), write the "
                "registry in front (`ghcr.io/...`, `nvcr.io/nvidia/...`), or `docker login REGISTRY` (nvcr.io: user "
                "`$oauthtoken`, password the NGC key).",
            ),
            zh=Words(
                "无法拉取镜像 {image}:该名称不存在,或需要登录",
                "名称有误,或本应是在本机构建的镜像;私有仓库和 nvcr.io 需要先登录。",
                "`docker images` 列出本机已有镜像;自行构建(`docker build -t NAME .`),在前面写上仓库(`ghcr.io/...`、"
                "`nvcr.io/nvidia/...`),或 `docker login REGISTRY`(nvcr.io:用户 `$oauthtoken`,密码为 NGC 密钥)。",
            ),
        ),
    ),
    (
        (
            r"manifest (?:for (?P<image>[^\s]{1,200}) not found|unknown)|no matching manifest for "
            r"(?P<platform>[\w/]{1,40})"
        ),
        Message(
            en=Words(
                "the registry has no image {image} of that tag for this platform{platform}",
                "The tag does not exist (any more: nvidia/cuda drops old ones), or the image is made for another "
                "processor only.",
                "Look the tags up on the registry's page and take one that exists; on ARM (GH200, DGX Spark, Mac) "
                "one that names `arm64`, or `--platform linux/amd64` where emulation is enough.",
            ),
            zh=Words(
                "仓库中没有适合此平台{platform}的该标签镜像 {image}",
                "该标签不存在(或已被删除:nvidia/cuda 会删除旧标签),或镜像只为其他处理器制作。",
                "在仓库页面查看标签并选用存在的;ARM(GH200、DGX Spark、Mac)上选含 `arm64` 的,或在可用模拟时加 "
                "`--platform linux/amd64`。",
            ),
        ),
    ),
    (
        r"toomanyrequests: ",
        Message(
            en=Words(
                "the registry refuses the pull: too many from this address",
                "Without a login Docker Hub and other registries (ghcr.io, ECR Public) allow few pulls an hour, and "
                "all machines behind one address share them.",
                "`docker login` (a free account suffices), wait an hour, or pull through a mirror: "
                "`registry-mirrors` in /etc/docker/daemon.json, or the same image on ghcr.io, quay.io or nvcr.io.",
            ),
            zh=Words(
                "镜像仓库拒绝拉取:此地址请求过多",
                "未登录时 Docker Hub 等仓库(ghcr.io、ECR Public)每小时只允许少量拉取,同一地址后的所有机器共享额度。",
                "`docker login`(免费账号即可),等待一小时,或使用镜像站:/etc/docker/daemon.json 中的 "
                "`registry-mirrors`,或 ghcr.io、quay.io、nvcr.io 上的同一镜像。",
            ),
        ),
    ),
    (
        r"exec (?P<program>[^\s:]{1,200}): exec format error|exec user process caused: exec format error",
        Message(
            en=Words(
                "the kernel cannot run the image's start program: most likely made for another processor",
                "An x86 image on ARM, or the other way round; or the start script of the image lacks its first line "
                "(`#!/bin/sh`).",
                "`uname -m` and `docker image inspect --format '{{{{.Architecture}}}}' IMAGE`; take or build the "
                "image for this platform (`docker build --platform linux/arm64`), or install emulation (`docker run "
                "--privileged tonistiigi/binfmt --install all`).",
            ),
            zh=Words(
                "内核无法运行镜像的启动程序:多半是为另一种处理器制作的",
                "在 ARM 上运行 x86 镜像或反之;或镜像的启动脚本缺少首行(`#!/bin/sh`)。",
                "`uname -m` 与 `docker image inspect --format '{{{{.Architecture}}}}' IMAGE`;选用或构建此平台的镜像"
                "(`docker build --platform linux/arm64`),或安装模拟(`docker run --privileged tonistiigi/binfmt "
                "--install all`)。",
            ),
        ),
    ),
    (
        (
            r"Bind for [\d.:\[\]]{1,40}:(?P<port>\d{1,5}) failed: port is already allocated|driver failed programming "
            r"external connectivity[^\n]{0,200}address already in use"
        ),
        Message(
            en=Words(
                "a port of the host that the container is to publish is taken{port}",
                "Another container or program of this machine listens there.",
                "`docker ps` and `ss -ltnp` show who; stop it, or publish on another port (`-p 8001:8000`).",
            ),
            zh=Words(
                "容器要发布的主机端口已被占用{port}",
                "本机的另一容器或程序正在监听该端口。",
                "`docker ps` 与 `ss -ltnp` 可查看占用者;停止它,或发布到其他端口(`-p 8001:8000`)。",
            ),
        ),
    ),
    (
        r"The container name \"(?P<name>[^\"\n]{1,120})\" is already in use",
        Message(
            en=Words(
                "a container named `{name}` exists already",
                "It was started earlier with the same `--name` and is still there, running or stopped.",
                "`docker start -ai {name}` goes on with it. `docker rm -f {name}` ends and removes it, with everything "
                "that was written outside of mounted folders (`docker cp {name}:/path .` fetches that first); `--rm` "
                "lets docker remove it at its end.",
            ),
            zh=Words(
                "已存在名为 `{name}` 的容器",
                "它此前以相同的 `--name` 启动,仍在运行或已停止。",
                "`docker start -ai {name}` 继续使用它。`docker rm -f {name}` 会结束并删除它,"
                "连同写在挂载目录之外的全部内容(可先用 `docker cp {name}:/path .` 取出);"
                "`--rm` 可让 docker 在结束时自动删除。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)
#: words with a second reading: `--gpus` for another command, a start script without its first line, a lone option
_AMBIGUOUS = ("unknown flag: --gpus", "exec format error", "unknown shorthand flag")


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for, with the image or port where it is told."""
    first = hits.first
    confidence = LIKELY if any(each in first.text for each in _AMBIGUOUS) else CONFIRMED
    image = first.groups.get("image") or first.groups.get("image2")
    platform, port = first.groups.get("platform"), first.groups.get("port")
    return found(
        PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(),
        image=f"`{image}`" if image else "", platform=f" ({platform})" if platform else "",
        port=f" (`{port}`)" if port else "", name=(first.groups.get("name") or "").lstrip("/"), confidence=confidence,
    )  # fmt: skip
