"""What NCCL says right before it ends, and what follows from it.

It prints these words as "Last error:" below the exception, or as its own warning. Facts: NCCL's sources and its guide
(https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html).
"""

from __future__ import annotations

from doctor.catalogue.finding import Message, Words

NVLS = Message(
    en=Words(
        "NCCL could not set up NVLink SHARP (NVLS) between the GPUs",
        "It needs the fabric manager, enough free memory on every GPU, and a container or virtual machine that "
        "sees all GPUs of the switch.",
        "`export NCCL_NVLS_ENABLE=0` in all processes goes on without it. Else see that nvidia-fabricmanager runs "
        "with the driver's version, and leave a few GiB of each GPU free.",
    ),
    zh=Words(
        "NCCL 无法在 GPU 之间建立 NVLink SHARP(NVLS)",
        "它需要 fabric manager、每张 GPU 有足够空闲显存,以及能看到交换机上全部 GPU 的容器或虚拟机。",
        "在所有进程中 `export NCCL_NVLS_ENABLE=0` 可不用它。否则确认 nvidia-fabricmanager 与驱动同版本运行,并在每张"
        " GPU 上留出几 GiB。",
    ),
)

#: a part of NCCL's own words -> what is said about them
LAST_WORDS = {
    "network": Message(
        en=Words(
            "NCCL was told to use a network plugin that it does not find",
            "`NCCL_NET` names it (clouds and images set it for their own network: IBext, AWS Libfabric, FasTrak), and "
            "its library is not in this container or not on the path.",
            "Unset `NCCL_NET` and `NCCL_NET_PLUGIN` (`env | grep NCCL`), also in /etc/nccl.conf and ~/.nccl.conf, so "
            "that NCCL chooses; or install the plugin and put it on `LD_LIBRARY_PATH` on every node.",
        ),
        zh=Words(
            "NCCL 被指定使用一个找不到的网络插件",
            "由 `NCCL_NET` 指定(云平台与镜像为自己的网络设置:IBext、AWS Libfabric、FasTrak),"
            "而容器中没有其库或不在路径中。",
            "取消 `NCCL_NET` 与 `NCCL_NET_PLUGIN`(`env | grep NCCL`,以及 /etc/nccl.conf、~/.nccl.conf),由 NCCL 自行选"
            "择;或在每个节点安装该插件并加入 `LD_LIBRARY_PATH`。",
        ),
    ),
    "attaching": Message(
        en=Words(
            "two ranks of one machine do not see the same `/dev/shm`",
            "NCCL takes them for neighbours, because host name and boot id agree, and passes data through shared "
            "memory. They run in containers of their own, each with its own `/dev/shm`, or a clean-up removed the "
            "segment.",
            "Start the containers with `--ipc=host` (Kubernetes: one pod for the GPUs of a node, or `hostIPC`), or "
            "tell NCCL to do without: `export NCCL_SHM_DISABLE=1` in all processes.",
        ),
        zh=Words(
            "同一台机器的两个 rank 看到的 `/dev/shm` 不同",
            "主机名与启动 id 相同,NCCL 认为它们相邻,便通过共享内存传输。它们运行在各自的容器中,`/dev/shm` "
            "互不相通,或该段被清理。",
            "以 `--ipc=host` 启动容器(Kubernetes:同一节点的 GPU 放在一个 pod,或 `hostIPC`),或让 NCCL 不用共享内存:在所"
            "有进程中 `export NCCL_SHM_DISABLE=1`。",
        ),
    ),
    "not supported in the installed": Message(
        en=Words(
            "NCCL called a function that the GPU driver does not have",
            "This NCCL belongs to a newer CUDA than the driver serves, or the driver of a container's compatibility "
            "package does not fit.",
            "Upgrade the driver (`nvidia-smi` shows the CUDA it serves), or install torch for that CUDA. Until then "
            "`export NCCL_CUMEM_ENABLE=0 NCCL_NVLS_ENABLE=0` leaves the newest calls out.",
        ),
        zh=Words(
            "NCCL 调用了 GPU 驱动没有的函数",
            "该 NCCL 属于比驱动更新的 CUDA,或容器中的兼容驱动包不匹配。",
            "升级驱动(`nvidia-smi` 显示其支持的 CUDA),或安装面向该 CUDA 的 torch。在此之前 "
            "`export NCCL_CUMEM_ENABLE=0 NCCL_NVLS_ENABLE=0` 可避开最新的调用。",
        ),
    ),
    "NVLS": NVLS,
    "truncated": Message(
        en=Words(
            "two ranks sent and expected messages of different sizes (message truncated)",
            "They are not in the same collective, or tensors differ: another number of elements or dtype on one rank, "
            "a collective that only some ranks call, two groups whose start-up was mixed up, or different NCCL "
            "versions.",
            "Run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`, which compares shapes and order before each call. Look at what "
            "differs between ranks: data, conditions before a collective, versions of torch on the nodes.",
        ),
        zh=Words(
            "两个 rank 收发的消息大小不同(message truncated)",
            "它们不在同一个集合通信中,或张量不同:某个 rank 的元素数或 dtype 不同,只有部分 rank 调用的集合通信,两个组的"
            "启动混在一起,或 NCCL 版本不同。",
            "用 `TORCH_DISTRIBUTED_DEBUG=DETAIL` 运行,它会在每次调用前比较形状与顺序。检查各 rank 之间的差异:数据、集合"
            "通信之前的条件、各节点的 torch 版本。",
        ),
    ),
    "Failed to CUDA": Message(
        en=Words(
            "NCCL could not allocate memory for its channels",
            "Usually no GPU memory is left: NCCL takes a few hundred MiB per group outside of torch's allocator. Else "
            "the CUDA context was broken by an error before.",
            "Leave memory: a lower `gpu_memory_utilization` or `mem_fraction_static`, a smaller batch; fewer channels "
            "with `NCCL_MAX_NCHANNELS=8`. Look at `nvidia-smi` in that minute and for an earlier CUDA error.",
        ),
        zh=Words(
            "NCCL 无法为其通道分配内存",
            "通常是 GPU 没有空闲显存:每个组在 torch 分配器之外占用几百 MiB。否则是之前的错误破坏了 CUDA 上下文。",
            "留出显存:降低 `gpu_memory_utilization` 或 `mem_fraction_static`,减小批大小;`NCCL_MAX_NCHANNELS=8` 可减少通"
            "道。查看当时的 `nvidia-smi`,以及更早的 CUDA 错误。",
        ),
    ),
    "unknown error": Message(
        en=Words(
            "a CUDA call inside NCCL failed with `unknown error` (999)",
            "The driver gives no reason: a GPU that fell off the bus, a driver that was updated without a reboot, a "
            "container that lost its devices, or peer-to-peer access that does not work here.",
            "Look at `dmesg | grep -i xid` and `nvidia-smi` on that node; restart the container, or reboot. Then try "
            "`NCCL_P2P_DISABLE=1` and `NCCL_CUMEM_ENABLE=0` one after the other.",
        ),
        zh=Words(
            "NCCL 内部的 CUDA 调用以 `unknown error`(999)失败",
            "驱动没有给出原因:GPU 掉线、驱动更新后没有重启、容器失去设备,或此处的 P2P 不可用。",
            "在该节点查看 `dmesg | grep -i xid` 与 `nvidia-smi`;重启容器或机器。然后依次尝试 `NCCL_P2P_DISABLE=1` 与 "
            "`NCCL_CUMEM_ENABLE=0`。",
        ),
    ),
    "nvls.cc": NVLS,
    "operation not supported": Message(
        en=Words(
            "the GPU of this machine does not allow what NCCL asks of it (`operation not supported`)",
            "Typical of virtual GPUs (vGPU, GRID, a slice of a cloud): NCCL makes a CUDA memory pool when it "
            "starts, and a profile without unified memory has none. A driver older than the CUDA of torch "
            "answers the same.",
            "Have unified memory switched on for the vGPU (VMware: `pciPassthru0.cfg.enable_uvm = 1`, for every vGPU; "
            "KVM: `enable_uvm=1` in its `vgpu_params`), or take a whole GPU by pass-through. Upgrade the driver of "
            "guest and host. With one GPU leave NCCL out: no process group, or `backend='gloo'`.",
        ),
        zh=Words(
            "本机 GPU 不允许 NCCL 要求的操作(`operation not supported`)",
            "多见于虚拟 GPU(vGPU、GRID、云上的切片):NCCL 启动时会创建 CUDA 内存池,而没有统一内存的 profile "
            "不支持。驱动比 torch 的 CUDA 旧时也会如此。",
            "为 vGPU 打开统一内存(VMware:每个 vGPU 设 `pciPassthru0.cfg.enable_uvm = 1`;KVM:`vgpu_params` 中 "
            "`enable_uvm=1`),或以直通方式使用整卡。升级客户机与宿主机的驱动。只有一张 GPU 时不用 NCCL:不建立进程组,或 "
            "`backend='gloo'`。",
        ),
    ),
    "invalid device function": Message(
        en=Words(
            "NCCL has no kernels for this GPU",
            "The library was built for other GPUs: an NCCL older than the card, or one of the system that came before "
            "the one that torch brings.",
            "See which one is loaded (`LD_DEBUG=libs python -c 'import torch' 2>&1 | grep nccl`), take the system's "
            "from `LD_LIBRARY_PATH` and `LD_PRELOAD`, and install a torch (with its `nvidia-nccl`) that knows the GPU.",
        ),
        zh=Words(
            "NCCL 没有适用于该 GPU 的内核",
            "该库为其他 GPU 构建:NCCL 早于该卡,或系统的库排在 torch 自带的之前。",
            "查看加载的是哪一个(`LD_DEBUG=libs python -c 'import torch' 2>&1 | grep nccl`),从 `LD_LIBRARY_PATH` 与 "
            "`LD_PRELOAD` 中去掉系统的库,并安装支持该 GPU 的 torch(及其 `nvidia-nccl`)。",
        ),
    ),
    "port error": Message(
        en=Words(
            "a port of the InfiniBand or RoCE network went down while NCCL used it",
            "The adapter reported a port error: a loose or broken cable or transceiver, a switch that restarted, a "
            "link that flaps. All ranks that talked over it fail or time out.",
            "Find the node and adapter (`ibstat`, `ibqueryerrors`, `ethtool`, `dmesg | grep -i mlx5`), reseat or "
            "change the cable, and take the node out until then. `NCCL_IB_HCA=^mlx5_3` leaves one adapter out; a "
            "longer `NCCL_IB_TIMEOUT=22` bridges short breaks.",
        ),
        zh=Words(
            "NCCL 使用期间,InfiniBand 或 RoCE 网络的一个端口断开",
            "网卡报告端口错误:线缆或光模块松动或损坏、交换机重启、链路闪断。经过它通信的所有 rank 都会失败或超时。",
            "找出节点与网卡(`ibstat`、`ibqueryerrors`、`ethtool`、`dmesg | grep -i mlx5`),重插或更换线缆,在此之前移出该"
            "节点。`NCCL_IB_HCA=^mlx5_3` 可排除一张网卡;`NCCL_IB_TIMEOUT=22` 可跨过短暂中断。",
        ),
    ),
}
