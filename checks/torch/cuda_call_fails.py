"""A call of CUDA was refused, and its own words tell what kind of trouble it is.

## What it means
CUDA's runtime answers with one of some eighty errors. Those that have no problem of their own here are explained by
their text: a kernel that is not in the loaded binary, a process that was forked or is ending, a stream of another GPU,
a part of the driver that the container lacks, the multi-process service (MPS).
## What it does to a run
The call raises; most of these errors come back at every later call.
## What to do
Follow what is said for that text.
## How it is found
In a log: by the text of the error, from torch, Triton or an extension.
## References
https://github.com/QwenLM/Qwen3-VL/issues/182
https://github.com/modelscope/ms-swift/issues/1867
https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
https://docs.nvidia.com/deploy/mps/index.html
https://github.com/vllm-project/vllm/issues/2906
https://github.com/sgl-project/sglang/issues/6056
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR060", name="cuda-call-fails", severity=ERROR, since="0.1")

_BINARY = Message(
    en=Words(
        "the loaded binary has no such kernel for this GPU and driver: {text}",
        "Often the extension that was called (flash-attn, bitsandbytes, mmcv, xformers, an own one) or torch itself "
        "was compiled for other GPU architectures, another build of the same library was loaded before it, or the "
        "driver is older than the CUDA of the build. A cache of compiled kernels from another machine does the same.",
        "Compare `python -c 'import torch; print(torch.version.cuda, torch.cuda.get_arch_list(), "
        "torch.cuda.get_device_capability())'` with the driver's CUDA in `nvidia-smi`. Reinstall torch for that "
        "driver and card, rebuild the extension of the traceback (`TORCH_CUDA_ARCH_LIST`, `pip install "
        "--no-cache-dir --force-reinstall`), `unset LD_LIBRARY_PATH LD_PRELOAD`, and delete `~/.triton/cache`, "
        "`~/.cache/torch_extensions` and `~/.nv/ComputeCache`.",
    ),
    zh=Words(
        "加载的二进制中没有适用于该 GPU 与驱动的内核:{text}",
        "多为所调用的扩展(flash-attn、bitsandbytes、mmcv、xformers 或自写扩展)或 torch 本身是为其他 GPU "
        "架构编译的,先加载了同一库的另一构建,或驱动比构建所用的 CUDA 旧。来自另一台机器的内核缓存也会如此。",
        "用 `python -c 'import torch; print(torch.version.cuda, torch.cuda.get_arch_list(), "
        "torch.cuda.get_device_capability())'` 与 `nvidia-smi` 中驱动的 CUDA 比较。按驱动与显卡重装 "
        "torch,重新编译回溯中的扩展(`TORCH_CUDA_ARCH_LIST`、`pip install --no-cache-dir --force-reinstall`),`unset "
        "LD_LIBRARY_PATH LD_PRELOAD`,并删除 `~/.triton/cache`、`~/.cache/torch_extensions`、`~/.nv/ComputeCache`。",
    ),
)
_FORKED = Message(
    en=Words(
        "CUDA could not start in this process: {text}",
        "The usual reason is a process that was forked after its parent had used CUDA (data loader workers, "
        "multiprocessing, a server's workers): the driver's state does not survive a fork. Else the GPU fell into "
        "an error, or limits (`ulimit -v`, a sandbox) keep the driver from mapping memory.",
        'Start workers with `multiprocessing.set_start_method("spawn")` (vLLM: '
        "`VLLM_WORKER_MULTIPROC_METHOD=spawn`), touch no CUDA before workers start or inside a `Dataset`, and use "
        "`num_workers=0` to see whether that is it. If a fresh `python -c 'import torch; torch.zeros(1).cuda()'` "
        "fails as well, look at `nvidia-smi`, `dmesg -T | grep -i -E 'nvrm|xid'` and `ulimit -v`.",
    ),
    zh=Words(
        "CUDA 无法在该进程中启动:{text}",
        "通常是父进程使用过 CUDA 之后又 fork 出该进程(data loader worker、multiprocessing、服务器 "
        "worker):驱动状态无法在 fork 后继续使用。否则是 GPU 处于错误状态,或限制(`ulimit "
        "-v`、沙箱)使驱动无法映射内存。",
        '用 `multiprocessing.set_start_method("spawn")` 启动 worker(vLLM:`VLLM_WORKER_MULTIPROC_METHOD=spawn`),在 '
        "worker 启动之前及 `Dataset` 内不要使用 CUDA,用 `num_workers=0` 可判断是否如此。若单独运行 `python -c "
        "'import torch; torch.zeros(1).cuda()'` 也失败,查看 `nvidia-smi`、`dmesg -T | grep -i -E 'nvrm|xid'` 与 "
        "`ulimit -v`。",
    ),
)
_ENDING = Message(
    en=Words(
        "CUDA was called while the process was ending: {text}",
        "A destructor, thread or signal handler still used the GPU after the interpreter had begun to take CUDA down. "
        "Most often it only follows: the program had failed or finished before.",
        "Look for an earlier error above. If there is none, the results are whole: stop threads and loaders, delete "
        "CUDA tensors and call `torch.distributed.destroy_process_group()` before the program ends.",
    ),
    zh=Words(
        "进程结束时仍调用了 CUDA:{text}",
        "解释器开始卸载 CUDA 之后,析构函数、线程或信号处理程序仍在使用 GPU。多半只是后果:程序此前已失败或已完成。",
        "查找上方更早的错误。若没有,结果是完整的:结束前停止线程与数据加载器,删除 CUDA 张量,并调用 "
        "`torch.distributed.destroy_process_group()`。",
    ),
)
_HANDLE = Message(
    en=Words(
        "a stream, event or graph was used that does not belong to this GPU or process: {text}",
        "The current device is not the one on which it was made: `torch.cuda.set_device` was not called in this "
        "thread or process, a model parallel layer runs with another device current, or the handle came from before "
        "a fork. Kernels of Triton and of extensions take the current device, not the tensors'.",
        "Call `torch.cuda.set_device(LOCAL_RANK)` at the start of every process and thread, wrap calls in `with "
        'torch.cuda.device(x.device):`, and start workers with spawn. With `device_map="auto"` try one GPU '
        "(`CUDA_VISIBLE_DEVICES=0`) to see whether that is it.",
    ),
    zh=Words(
        "使用了不属于该 GPU 或进程的 stream、event 或 graph:{text}",
        "当前设备不是创建它的设备:该线程或进程没有调用 "
        "`torch.cuda.set_device`,模型并行的层在另一个当前设备下运行,或句柄来自 fork 之前。Triton "
        "与扩展的内核使用当前设备,而不是张量所在设备。",
        "在每个进程与线程开头调用 `torch.cuda.set_device(LOCAL_RANK)`,用 `with torch.cuda.device(x.device):` "
        '包住调用,并用 spawn 启动 worker。使用 `device_map="auto"` 时可只用一张 '
        "GPU(`CUDA_VISIBLE_DEVICES=0`)以判断是否如此。",
    ),
)
_NO_DEVICE = Message(
    en=Words(
        "CUDA sees no GPU in this process",
        "`CUDA_VISIBLE_DEVICES` is empty, -1 or names cards that are not there (a launcher, Ray or Slurm sets it), "
        "the container was started without GPUs, or the driver lost the card.",
        '`echo "[$CUDA_VISIBLE_DEVICES]"` in that very process, `nvidia-smi -L` in the same container; ask the '
        "scheduler for a GPU (`--gres=gpu:1`, Ray: `num_gpus=1`), start containers with `--gpus all`. If "
        "`nvidia-smi` fails too, look at `dmesg -T | grep -i nvrm`.",
    ),
    zh=Words(
        "CUDA 在该进程中看不到 GPU",
        "`CUDA_VISIBLE_DEVICES` 为空、为 -1 或指定了不存在的卡(由启动器、Ray 或 Slurm 设置),容器启动时没有 "
        "GPU,或驱动丢失了显卡。",
        '在该进程中执行 `echo "[$CUDA_VISIBLE_DEVICES]"`,在同一容器中执行 `nvidia-smi -L`;向调度器申请 '
        "GPU(`--gres=gpu:1`,Ray:`num_gpus=1`),容器加 `--gpus all`。若 `nvidia-smi` 也失败,查看 `dmesg -T | grep -i "
        "nvrm`。",
    ),
)
_STUB = Message(
    en=Words(
        "a stub of libcuda was loaded in place of the driver's library",
        "The toolkit brings `lib64/stubs/libcuda.so` only for linking. It was found first: through LD_LIBRARY_PATH, "
        "an rpath, or a link `libcuda.so.1` that an image made.",
        "Take `.../stubs` out of LD_LIBRARY_PATH and of ld.so.conf (`ldconfig`), remove such a link, and see "
        "`ldconfig -p | grep libcuda.so`. In a container the driver's own library comes with `--gpus all`.",
    ),
    zh=Words(
        "加载的是 libcuda 的 stub,而不是驱动的库",
        "toolkit 的 `lib64/stubs/libcuda.so` 只用于链接。它被优先找到:来自 LD_LIBRARY_PATH、rpath,或镜像中创建的 "
        "`libcuda.so.1` 链接。",
        "从 LD_LIBRARY_PATH 与 ld.so.conf 去掉 `.../stubs`(`ldconfig`),删除这样的链接,并查看 `ldconfig -p | grep "
        "libcuda.so`。容器中驱动自己的库随 `--gpus all` 提供。",
    ),
)
_RESOURCES = Message(
    en=Words(
        "a kernel asks for more registers or threads than this GPU gives to a block",
        "The kernel was tuned for another card, compiled without optimization (`-G`), or started with a block size "
        "that it was not compiled for.",
        "Use smaller blocks (a Triton config with fewer warps, stages or a smaller BLOCK size; another head size or "
        "back end), rebuild the extension for this card (`TORCH_CUDA_ARCH_LIST`, without `-G`), or upgrade it. For "
        "an own kernel add `__launch_bounds__`.",
    ),
    zh=Words(
        "某个内核请求的寄存器或线程超过该 GPU 每个 block 的上限",
        "内核是为另一种显卡调优的、未开启优化编译(`-G`),或以编译时未考虑的 block 大小启动。",
        "使用更小的 block(Triton 配置中更少的 warp、stage 或更小的 BLOCK;换 head size 或后端),为该卡重新编译扩展"
        "(`TORCH_CUDA_ARCH_LIST`,不带 `-G`)或升级。自写内核可加 `__launch_bounds__`。",
    ),
)
_CONVOLUTION = Message(
    en=Words(
        "a convolution in bf16 does not fit this GPU's registers: the card is older than bf16",
        "Models of images and videos (Qwen2-VL and later, which cut patches by a 3-D convolution) were loaded in "
        "bfloat16. Cards before Ampere (V100, T4, RTX 20) have no bf16 units, and the kernel that stands in for them "
        "does not fit. It is no lack of memory.",
        "Load and train in fp16 or fp32: `torch_dtype=torch.float16` (ms-swift: `--torch_dtype float16` or `--dtype "
        'fp16`, Trainer: `fp16=True, bf16=False`), with `attn_implementation="sdpa"`. With NaN in fp16 take fp32 for '
        "the vision part, or a card of compute capability 8.0 or newer.",
    ),
    zh=Words(
        "bf16 卷积超过该 GPU 的寄存器上限:该显卡不支持 bf16",
        "图像、视频模型(Qwen2-VL 及之后的模型用三维卷积切分 patch)以 bfloat16 加载。Ampere 之前的显卡(V100、T4、RTX "
        "20)没有 bf16 单元,代替的内核无法启动。与显存大小无关。",
        "改用 fp16 或 fp32 加载与训练:`torch_dtype=torch.float16`(ms-swift:`--torch_dtype float16` 或 `--dtype "
        'fp16`,Trainer:`fp16=True, bf16=False`),并用 `attn_implementation="sdpa"`。fp16 出现 NaN 时视觉部分用 '
        "fp32,或换计算能力 8.0 及以上的显卡。",
    ),
)
_COOPERATIVE = Message(
    en=Words(
        "a kernel needs more multiprocessors at once than this GPU has",
        "A cooperative kernel must have all its blocks on the card at the same time. It was written for a card with "
        "more multiprocessors (H20 has 78, H100 132; a MIG slice or an MPS limit leaves fewer), or asks for more "
        "with more experts or ranks.",
        "DeepEP: take a release that spreads its blocks by the card's number of multiprocessors, "
        "`Buffer.set_num_sms(...)` with a smaller number, more ranks or fewer experts a rank, or `--deepep-mode "
        "normal` in SGLang. Else use the whole card (no MIG, no `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`) or another "
        "back end.",
    ),
    zh=Words(
        "某个内核需要的 SM 数量超过该 GPU 所有",
        "cooperative 内核的全部 block 必须同时驻留。它是为 SM 更多的卡编写的(H20 有 78 个,H100 有 132 个;MIG 切片或 "
        "MPS 限制会更少),或因专家数、rank 数更多而需要更多。",
        "DeepEP:使用按 SM 数量分配 block 的版本,用较小的 `Buffer.set_num_sms(...)`,增加 rank 或减少每个 rank "
        "的专家,或在 SGLang 中用 `--deepep-mode normal`。其他情况使用整张卡(不用 MIG,不设 "
        "`CUDA_MPS_ACTIVE_THREAD_PERCENTAGE`)或换后端。",
    ),
)
_JIT = Message(
    en=Words(
        "the driver could not compile a kernel's PTX for this GPU: {text}",
        "The binary has no machine code for this card, only PTX, which the driver compiles with "
        "`libnvidia-ptxjitcompiler.so`. That library is missing in the container, or the PTX is newer than the "
        "driver, or damaged.",
        "Start the container with `--gpus all` and `NVIDIA_DRIVER_CAPABILITIES=compute,utility`; on the host "
        "`ldconfig -p | grep ptxjitcompiler` (Debian: package `libnvidia-ptxjitcompiler1`). Else update the driver, "
        "or install a build that has this card's architecture. `rm -rf ~/.nv/ComputeCache`.",
    ),
    zh=Words(
        "驱动无法为该 GPU 编译内核的 PTX:{text}",
        "二进制中没有该卡的机器码,只有 PTX,由驱动用 `libnvidia-ptxjitcompiler.so` 编译。容器中缺少该库,或 PTX "
        "比驱动新,或已损坏。",
        "容器启动加 `--gpus all` 与 `NVIDIA_DRIVER_CAPABILITIES=compute,utility`;主机上 `ldconfig -p | grep "
        "ptxjitcompiler`(Debian:`libnvidia-ptxjitcompiler1`)。否则更新驱动,或安装包含该架构的构建。`rm -rf "
        "~/.nv/ComputeCache`。",
    ),
)
_MPS = Message(
    en=Words(
        "CUDA's multi-process service (MPS) refuses this process",
        "An MPS daemon runs for this GPU, or `CUDA_MPS_PIPE_DIRECTORY` names one: its server is not ready, ended "
        "with the failure of another client, belongs to another user, has its 48 clients (Volta and newer), or is "
        "not reachable from the container.",
        "`ps -ef | grep nvidia-cuda-mps`, and read `/var/log/nvidia-mps/control.log` and `server.log`. Restart it: "
        "`echo quit | nvidia-cuda-mps-control`, then `nvidia-cuda-mps-control -d` as the same user. In containers "
        "share `/tmp/nvidia-mps` and `--ipc=host`. To go on without MPS: `unset CUDA_MPS_PIPE_DIRECTORY` and end "
        "the daemon.",
    ),
    zh=Words(
        "CUDA 的多进程服务(MPS)拒绝了该进程",
        "该 GPU 上运行着 MPS 守护进程,或 `CUDA_MPS_PIPE_DIRECTORY` "
        "指向它:其服务器未就绪、因另一客户端失败而结束、属于其他用户、已达 48 个客户端(Volta "
        "及以上),或在容器内不可达。",
        "`ps -ef | grep nvidia-cuda-mps`,并查看 `/var/log/nvidia-mps/control.log` 与 `server.log`。重启:`echo quit "
        "| nvidia-cuda-mps-control`,然后以同一用户执行 `nvidia-cuda-mps-control -d`。容器需共享 `/tmp/nvidia-mps` "
        "与 `--ipc=host`。若不用 MPS:`unset CUDA_MPS_PIPE_DIRECTORY` 并结束守护进程。",
    ),
)
_OLD = Message(
    en=Words(
        "the driver is older than what this program calls",
        "A function of CUDA was called that the installed driver does not have. Within one major version torch runs "
        "on older drivers, but single features (memory pools, graphs, virtual memory, NCCL's newest paths) do not.",
        "Update the driver of the host (`nvidia-smi` shows version and CUDA), or install torch and NCCL for an "
        "older CUDA (`--index-url https://download.pytorch.org/whl/cu118`, `cu126`), and turn off the feature of "
        "the traceback.",
    ),
    zh=Words(
        "驱动比程序所调用的功能旧",
        "调用了已安装驱动没有的 CUDA 函数。同一大版本内 torch "
        "可在较旧的驱动上运行,但个别功能(内存池、图、虚拟内存、NCCL 的新路径)不行。",
        "更新主机驱动(`nvidia-smi` 显示版本与 CUDA),或安装针对较旧 CUDA 的 torch 与 NCCL"
        "(`--index-url https://download.pytorch.org/whl/cu118`、`cu126`),并关闭回溯中的功能。",
    ),
)
_UNKNOWN = Message(
    en=Words(
        "CUDA itself does not know why the call failed: unknown error",
        "It comes when the driver's state is broken: after suspend and resume, after an upgrade without a reboot, "
        "with the module nvidia_uvm not loaded, on WSL when the GPU is out of memory, or with a card in error.",
        "Try `python -c 'import torch; torch.zeros(1).cuda()'` alone. Reload the module (`sudo modprobe -r "
        "nvidia_uvm && sudo modprobe nvidia_uvm`), reboot, on Windows `wsl --shutdown` and a new driver; look at "
        "`dmesg -T | grep -i -E 'nvrm|xid'`. If it only comes under load, use less memory first.",
    ),
    zh=Words(
        "CUDA 自身也不知道调用为何失败:unknown error",
        "驱动状态损坏时出现:挂起恢复之后、升级后未重启、nvidia_uvm 模块未加载、WSL 上显存耗尽,或显卡处于错误状态。",
        "单独运行 `python -c 'import torch; torch.zeros(1).cuda()'`。重新加载模块(`sudo modprobe -r nvidia_uvm && "
        "sudo modprobe nvidia_uvm`)、重启,Windows 上 `wsl --shutdown` 并更新驱动;查看 `dmesg -T | grep -i -E "
        "'nvrm|xid'`。若只在负载下出现,先减少显存占用。",
    ),
)

#: text of the error -> what is said of it
TEXTS = {
    "invalid device function": _BINARY,
    "device kernel image is invalid": _BINARY,
    "named symbol not found": _BINARY,
    "shared object symbol not found": _BINARY,
    "shared object initialization failed": _BINARY,
    "invalid device symbol": _BINARY,
    "initialization error": _FORKED,
    "driver shutting down": _ENDING,
    "context is destroyed": _ENDING,
    "invalid resource handle": _HANDLE,
    "invalid device context": _HANDLE,
    "no CUDA-capable device is detected": _NO_DEVICE,
    "CUDA driver is a stub library": _STUB,
    "too many resources requested for launch": _RESOURCES,
    "too many blocks in cooperative launch": _COOPERATIVE,
    "a PTX JIT compilation failed": _JIT,
    "PTX JIT compiler library not found": _JIT,
    "the remote procedural call between the MPS server and the MPS client failed": _MPS,
    "MPS client failed to connect to the MPS control daemon or the MPS server": _MPS,
    "the MPS server is not ready to accept new MPS client requests": _MPS,
    "the hardware resources required to create MPS client have been exhausted": _MPS,
    "the hardware resources required to device connections have been exhausted": _MPS,
    "API call is not supported in the installed CUDA driver": _OLD,
    "unknown error": _UNKNOWN,
}

#: what is known besides tells more
_CAUSES = ("NCC", "GPU", "CUD", "MEM", "HST", "LCH", "RAY", "FLA", "BNB", "VLL", "DSP", "TOR", "PYT", "TRI", "DAT")

SIGNATURES = (
    Signature(
        r"(?:(?:CUDA(?: driver| runtime)?|HIP) error|Triton Error \[CUDA\]|[Cc]uda runtime error \(\d{1,4}\)"
        r"|CUDA error [^\s']{1,160}) ?:? ?'?(?P<text>" + "|".join(TEXTS) + ")",
        symptom_of=_CAUSES,
    ),
)


def explain(hits: Hits) -> Finding:
    """What its text calls for; a convolution that does not fit is one in bf16."""
    text = hits.first.groups["text"]
    convolves = TEXTS[text] is _RESOURCES and any("_conv_forward" in one for one in hits.first.frames[-2:])
    return found(
        PROBLEM, _CONVOLUTION if convolves else TEXTS[text], where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY, text=text,
    )  # fmt: skip
