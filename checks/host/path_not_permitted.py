"""The user who runs the program may not read or write a path that it needs.

## What it means
Files and folders have an owner. A container that runs as another user than it was built for, a cache that several
people share, a folder under /tmp that somebody else made first, and a script without the right to be executed are the
usual ones.
## What it does to a run
The program ends where it touches the path, mostly at the start.
## What to do
Have the path given to this user, or name another one.
## How it is found
In a log: by PermissionError with its path, or the shell's words.
## References
https://docs.python.org/3/library/exceptions.html#PermissionError
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_configuration_tutorial.html
https://github.com/vllm-project/vllm/issues/2740
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HST027", name="path-not-permitted", severity=ERROR, since="0.1")

HOME = Message(
    en=Words(
        "`{path}` may not be written: the user of this process has no home of its own here",
        "The container or job runs with a user id that the image does not know (`docker run --user`, Kubernetes "
        "`runAsUser`, Slurm with pyxis), so HOME is `/` or the home of root, and every library that keeps a cache "
        "under it fails.",
        "Give it a home that it may write to: `export HOME=/tmp/home XDG_CACHE_HOME=/tmp/home/.cache "
        "HF_HOME=/data/hf TRITON_CACHE_DIR=/tmp/triton VLLM_CACHE_ROOT=/tmp/vllm` (`docker run -e HOME=/tmp "
        "...`), or run as the user that the image was built for.",
    ),
    zh=Words(
        "无法写入 `{path}`:当前进程的用户在这里没有自己的主目录",
        "容器或作业使用镜像不认识的用户 id(`docker run --user`、Kubernetes `runAsUser`、带 pyxis 的 Slurm),"
        "于是 HOME 是 `/` 或 root 的主目录,凡是在其下放缓存的库都会失败。",
        "给它一个可写的主目录:`export HOME=/tmp/home XDG_CACHE_HOME=/tmp/home/.cache HF_HOME=/data/hf "
        "TRITON_CACHE_DIR=/tmp/triton VLLM_CACHE_ROOT=/tmp/vllm`(`docker run -e HOME=/tmp ...`),或以镜像构建"
        "时的用户运行。",
    ),
)
CACHE = Message(
    en=Words(
        "this user may not use the cache at `{path}`",
        "The folder, or a lock or file in it, belongs to another user: somebody else (or root, in a container or "
        "with sudo) downloaded or compiled into it first, and left it without rights for the group.",
        "Use one of your own: `export HF_HOME=$HOME/hf` (for ModelScope `MODELSCOPE_CACHE`, Triton "
        "`TRITON_CACHE_DIR`, torch.compile `TORCHINDUCTOR_CACHE_DIR`, vLLM `VLLM_CACHE_ROOT`, and `TMPDIR` for "
        "what lies under /tmp), or have it given to you: `sudo chown -R $USER {path}`. Shared caches want `umask "
        "002` and a common group.",
    ),
    zh=Words(
        "当前用户无权使用 `{path}` 处的缓存",
        "该目录或其中的锁、文件属于其他用户:别人(或容器、sudo 下的 root)先下载或编译到这里,且没有给组权限。",
        "使用自己的缓存:`export HF_HOME=$HOME/hf`(ModelScope 用 `MODELSCOPE_CACHE`,Triton 用 "
        "`TRITON_CACHE_DIR`,torch.compile 用 `TORCHINDUCTOR_CACHE_DIR`,vLLM 用 `VLLM_CACHE_ROOT`,/tmp 下的内"
        "容用 `TMPDIR`),或让所有者移交:`sudo chown -R $USER {path}`。共享缓存需要 `umask 002` 和共同的组。",
    ),
)
PATH = Message(
    en=Words(
        "this user may not read or write `{path}`",
        "The file or folder belongs to another user, or a folder above it may not be entered. Inside a container "
        "the owner counts by number: files of the host that root wrote stay root's.",
        "Look at it and all folders above: `namei -l {path}`. Have it given to you (`sudo chown -R $USER ...`, "
        "`chmod -R u+rwX,g+rwX ...`), name another path, or run the container with `--user $(id -u):$(id -g)` "
        "from the start.",
    ),
    zh=Words(
        "当前用户无权读写 `{path}`",
        "该文件或目录属于其他用户,或其上级目录不可进入。容器内按数字 id 判断所有者:宿主机上由 root 写的文件"
        "仍属于 root。",
        "查看它及全部上级目录:`namei -l {path}`。让所有者移交(`sudo chown -R $USER ...`、`chmod -R "
        "u+rwX,g+rwX ...`),换一个路径,或一开始就用 `--user $(id -u):$(id -g)` 运行容器。",
    ),
)
SCRIPT = Message(
    en=Words(
        "the shell may not execute `{path}`",
        "The file lacks the right to be executed, or lies on a mount with `noexec`. Nothing was started.",
        "`chmod +x {path}`, or start it by its interpreter: `bash {path}` (`python {path}`).",
    ),
    zh=Words(
        "shell 无权执行 `{path}`",
        "该文件没有执行权限,或位于带 `noexec` 的挂载点。什么都没有启动。",
        "`chmod +x {path}`,或用解释器启动:`bash {path}`(`python {path}`)。",
    ),
)
PROGRAM = Message(
    en=Words(
        "this user may not start the program `{path}`",
        "The file is there and lacks the right to be executed, lies on a mount with `noexec`, or a folder above it may "
        "not be entered. Environments that were copied (through object storage, a zip, some network mounts, a cached "
        "layer of an image) lose that right.",
        "`ls -l {path}`, `namei -l {path}` and `findmnt -T {path}` show which. `chmod +x {path}`, or install the "
        "package anew there: `pip install --force-reinstall --no-cache-dir PACKAGE`. Keep environments on a local disk "
        "or pack them with `conda-pack` or tar.",
    ),
    zh=Words(
        "当前用户无权启动程序 `{path}`",
        "文件存在,但没有执行权限、位于带 `noexec` 的挂载点,或其上级目录不可进入。被复制过的环境(经对象存储、zip、某些网"
        "络挂载、镜像缓存层)会丢失该权限。",
        "`ls -l {path}`、`namei -l {path}` 与 `findmnt -T {path}` 可查明原因。`chmod +x {path}`,或就地重装该包:`pip "
        "install --force-reinstall --no-cache-dir PACKAGE`。环境请放在本地盘,或用 `conda-pack`、tar 打包。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"PermissionError: \[Errno 13\] [^:'\n]{2,60}: '(?P<path>/[^'\n]{1,300})'",
            frame=r"subprocess\.py:_execute_child$",
            symptom_of=("TOR017",),
        ),
        PROGRAM,
        LIKELY,
    ),
    (
        Signature(
            r"PermissionError: \[Errno 13\] [^:'\n]{2,60}: '(?P<path>/(?:root/[^'\n]{0,200}|\.(?:cache|local|"
            r"config|triton|nv|keras|matplotlib|modelscope|wandb|netrc)[^'\n]{0,200}|nonexistent[^'\n]{0,200}"
            r"))'",
            symptom_of=("CKP002",),
        ),
        HOME,
        LIKELY,
    ),
    (
        Signature(
            r"PermissionError: \[Errno 1?[13]\] [^:'\n]{2,60}: '(?P<path>(?!/root/|/\.)[^'\n]{0,250}(?:/\.?ca"
            r"che/|huggingface|modelscope|/hub/|triton|inductor|outlines|vllm|flashinfer|torch_extensions|\.l"
            r"ocks)[^'\n]{0,250})'",
            symptom_of=("CKP002", "RAY034"),
        ),
        CACHE,
        LIKELY,
    ),
    (
        Signature(r"OSError: PermissionError at (?P<path>[^\n]{1,250}?) when downloading "),
        CACHE,
        CONFIRMED,
    ),
    (
        Signature(
            r"PermissionError: \[Errno 13\] [^:'\n]{2,60}: '(?P<path>(?!/root/|/\.)(?!/dev/|/var/run|/proc|/s"
            r"ys)(?![^'\n]{0,250}(?:cache|huggingface|modelscope|/hub/|triton|inductor|outlines|vllm|flashinf"
            r"er|torch_extensions|\.locks|/ray/|ray_lock))[^'\n]{1,300})'",
            symptom_of=("CKP002", "RAY034", "LCH", "VLL", "HST"),
        ),
        PATH,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:mkdir|touch|cp|mv|ln|tee|tar|rm|cat): [^\n:]{1,60}'(?P<path>[^'\n]{1,250})'(?: [^\n:']{1,40"
            r"})?: Permission denied"
        ),
        PATH,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:/(?:usr/)?bin/)?-?(?:ba|z|da)?sh: (?:line \d{1,5}: )?(?:\d{1,5}: )?(?P<path>[^\n: ]{1,200})"
            r": Permission denied$"
        ),
        SCRIPT,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
