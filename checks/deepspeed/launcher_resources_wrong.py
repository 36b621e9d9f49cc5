"""The `deepspeed` launcher cannot use the hosts or GPUs that it was given.

## What it means
The launcher reads a hostfile (`/job/hostfile` unless named) and filters it by `--include`, `--exclude`, `--num_nodes`
and `--num_gpus`. Names, slots and filters have to fit together; without a hostfile it takes the GPUs of this machine.
## What it does to a run
The launcher ends before any process of the training starts.
## What to do
Mend the hostfile or the filter.
## How it is found
In a log: by the launcher's exceptions.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.17.6/deepspeed/launcher/runner.py
https://github.com/deepspeedai/Megatron-DeepSpeed/issues/126
https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DSP037", name="deepspeed-launcher-resources-wrong", severity=ERROR, since="0.1")

CASES = (
    (
        r"RuntimeError: Unable to proceed, no GPU resources available",
        Message(
            en=Words(
                "the `deepspeed` launcher sees no GPU on this machine",
                "There is no hostfile, so it counts the GPUs here, and torch finds none.",
                '`nvidia-smi` and `python -c "import torch; print(torch.cuda.device_count())"`: a driver, container '
                "option (`--gpus all`) or CUDA build of torch is missing, or CUDA_VISIBLE_DEVICES is empty.",
            ),
            zh=Words(
                "`deepspeed` 启动器在本机看不到 GPU",
                "没有 hostfile,于是它统计本机的 GPU,而 torch 一个也找不到。",
                '运行 `nvidia-smi` 和 `python -c "import torch; print(torch.cuda.device_count())"`:缺少驱动、容器选项'
                "(`--gpus all`)或 torch 的 CUDA 版本,或 CUDA_VISIBLE_DEVICES 为空。",
            ),
        ),
    ),
    (
        r"ValueError: Num nodes is >1 but no extra nodes available via hostfile",
        Message(
            en=Words(
                "`--num_nodes` is above 1, and there is no hostfile with further nodes",
                "The launcher knows only this machine.",
                "Write one line a node, `HOST slots=8`, and pass `--hostfile PATH`; or start the command on each node "
                "with `--no_ssh --node_rank N --master_addr ADDRESS`.",
            ),
            zh=Words(
                "`--num_nodes` 大于 1,而没有列出其他节点的 hostfile",
                "启动器只知道本机。",
                "每个节点写一行 `HOST slots=8`,并传入 `--hostfile PATH`;或在每个节点上以 "
                "`--no_ssh --node_rank N --master_addr ADDRESS` 启动。",
            ),
        ),
    ),
    (
        r"ValueError: Hostname '(?P<host>[^'\n]{1,80})' not found in hostfile",
        Message(
            en=Words(
                "`--include` or `--exclude` names the host `{host}`, which the hostfile does not list",
                "Names are compared letter by letter; an address is no name.",
                "Write the host as the hostfile does. On one machine it is `localhost`: `--include localhost:0,1`.",
            ),
            zh=Words(
                "`--include` 或 `--exclude` 指定了主机 `{host}`,而 hostfile 中没有它",
                "名称逐字比较,IP 地址不等于主机名。",
                "按 hostfile 中的写法填写。单机为 `localhost`:`--include localhost:0,1`。",
            ),
        ),
    ),
    (
        r"ValueError: No slot '(?P<slot>[^'\n]{1,20})' specified on host '(?P<host>[^'\n]{1,80})'",
        Message(
            en=Words(
                "GPU {slot} was asked for on `{host}`, which has no such slot",
                "Slots count from 0 up to what the hostfile gives, or up to the GPUs that this machine shows.",
                "Name a slot that is there, or raise `slots=` in the hostfile if the GPUs exist.",
            ),
            zh=Words(
                "要求使用 `{host}` 上的 GPU {slot},而那里没有这个 slot",
                "slot 从 0 计数,上限为 hostfile 所给的数量或本机可见的 GPU 数。",
                "写存在的 slot;若 GPU 确实存在,增大 hostfile 中的 `slots=`。",
            ),
        ),
    ),
    (
        r"ValueError: Cannot specify num_nodes/gpus with include/exclude",
        Message(
            en=Words(
                "`--num_gpus` or `--num_nodes` beside `--include` or `--exclude`",
                "Both choose GPUs, in ways that exclude each other.",
                "Keep one: `--include localhost:0,1` alone, or `--num_gpus 2` alone.",
            ),
            zh=Words(
                "`--num_gpus` 或 `--num_nodes` 与 `--include` 或 `--exclude` 同时使用",
                "两者都用来选择 GPU,互相排斥。",
                "只保留一种:仅 `--include localhost:0,1`,或仅 `--num_gpus 2`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: Hostfile (?:is empty or not formatted correctly|contains a bad entry|contains multiple"
            r" entries for)"
        ),
        Message(
            en=Words(
                "the hostfile cannot be read by the `deepspeed` launcher",
                "It is empty, names a host twice, or a line is not of the form `HOST slots=N`.",
                "Write one line a node, such as `worker-1 slots=8`, without commas, quotes or a second mention "
                "of a host.",
            ),
            zh=Words(
                "`deepspeed` 启动器无法读取 hostfile",
                "文件为空、同一主机出现两次,或某行不是 `HOST slots=N` 的形式。",
                "每个节点写一行,如 `worker-1 slots=8`,不要逗号、引号,也不要重复主机。",
            ),
        ),
    ),
    (
        r"RuntimeError: Using hostfile at (?P<file>\S{1,120}) but host=(?P<host>\S{1,80}) was not reachable via ssh",
        Message(
            en=Words(
                "`{host}` of the hostfile `{file}` cannot be reached over ssh without a password",
                "The launcher starts its processes over ssh, on this machine too where a hostfile names it.",
                "`ssh {host} hostname` has to work without a question: copy the key (`ssh-copy-id {host}`), start sshd "
                "in the container. For one machine remove the hostfile or pass `--hostfile=/dev/null`.",
            ),
            zh=Words(
                "hostfile `{file}` 中的 `{host}` 无法免密通过 ssh 访问",
                "启动器通过 ssh 启动进程;只要 hostfile 列出,本机也是如此。",
                "`ssh {host} hostname` 必须无需输入即可运行:复制密钥(`ssh-copy-id {host}`),在容器中启动 sshd。"
                "单机时删除 hostfile 或传入 `--hostfile=/dev/null`。",
            ),
        ),
    ),
    (
        r"KeyError: 'PDSH_SSH_ARGS_APPEND'",
        Message(
            en=Words(
                "`--ssh_port` of the `deepspeed` launcher appends to PDSH_SSH_ARGS_APPEND, which is not set",
                "Releases before 0.14.1 expect that variable in the environment when an ssh port is given.",
                "Upgrade DeepSpeed (`pip install -U deepspeed`), or `export PDSH_SSH_ARGS_APPEND=` before the "
                "start; or put the port into ~/.ssh/config (`Host NODE`, `Port 20023`) and leave `--ssh_port` out.",
            ),
            zh=Words(
                "`deepspeed` 启动器的 `--ssh_port` 要追加到 PDSH_SSH_ARGS_APPEND,而该变量未设置",
                "0.14.1 之前的版本在给出 ssh 端口(port)时要求环境中已有该变量。",
                "升级 DeepSpeed(`pip install -U deepspeed`),或启动前 `export PDSH_SSH_ARGS_APPEND=`;或把端口写进 "
                "~/.ssh/config(`Host NODE`、`Port 20023`)并去掉 `--ssh_port`。",
            ),
        ),
    ),
    (
        r"^pdsh@[\w.\-]{1,80}: (?P<host>[\w.\-]{1,80}): ssh exited with exit code 127",
        Message(
            en=Words(
                "the node `{host}` lacks the program that the launcher starts there",
                "Exit code 127 is the shell's: no such command. The launcher (pdsh) changes into the folder it was "
                "started in, and calls the Python it runs with, by the same paths on every node. There the "
                "environment or the project lies elsewhere, was not copied, or the shared folder is not mounted.",
                "Make both the same on all nodes: the project and the environment (conda, venv) at one path, best on "
                "shared storage; `ssh {host} ls -d PATH` shows it, the lines above name PATH. With other paths start "
                "the command on each node by hand: `deepspeed --no_ssh --node_rank N --master_addr ADDRESS ...` or "
                "`torchrun`.",
            ),
            zh=Words(
                "节点 `{host}` 上没有启动器要运行的程序",
                "退出码 127 表示 shell 找不到命令。启动器(pdsh)在每个节点上按相同路径进入启动目录,并调用当前的 "
                "Python。该节点的环境或项目在别处、没有复制,或共享目录没有挂载。",
                "使所有节点一致:项目与环境(conda、venv)放在同一路径,最好在共享存储上;用 `ssh {host} ls -d PATH` 检查,"
                "PATH 见上方各行。路径不同时在每个节点手动启动:`deepspeed --no_ssh --node_rank N --master_addr ADDRESS "
                "...` 或 `torchrun`。",
            ),
        ),
    ),
    (
        r"FileNotFoundError: \[Errno 2\] No such file or directory: 'numactl'",
        Message(
            en=Words(
                "`numactl`, with which `deepspeed` binds processes to CPU cores, is not installed",
                "It does so with `--bind_cores_to_rank`, and by itself where it found no GPU and took the CPU for "
                "the accelerator.",
                "Where a GPU was meant, mend that first: `nvidia-smi`, and `python -c 'import torch; "
                "print(torch.cuda.is_available())'` must say True. Else `apt-get install -y numactl`, or leave "
                "`--bind_cores_to_rank` out.",
            ),
            zh=Words(
                "`deepspeed` 启动器用 `numactl` 把进程绑定到 CPU 核心,而它没有安装",
                "使用 `--bind_cores_to_rank` 时如此;未找到 GPU、改用 CPU 作为加速器时也会自动如此。",
                "若本应使用 GPU,先解决它:`nvidia-smi`,且 `python -c 'import torch; "
                "print(torch.cuda.is_available())'` 应为 True。否则 `apt-get install -y numactl`,或去掉 "
                "`--bind_cores_to_rank`。",
            ),
        ),
    ),
)

_NUMACTL = len(CASES) - 1  # other programs start it, too

SIGNATURES = tuple(
    Signature(pattern, frame=r"[\\/]deepspeed[\\/]" if number == _NUMACTL else "")
    for number, (pattern, _) in enumerate(CASES)
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
