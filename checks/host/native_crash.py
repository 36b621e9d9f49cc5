"""A process crashed in native code: a segmentation fault, or an instruction that its CPU lacks.

## What it means
Compiled code below Python (torch, NCCL, cuDNN, Triton, a tokenizer) read memory that is not there, or was built for
another CPU. Python's fault handler, Ray or UCX print the signal and where Python stood at that moment.
## What it does to a run
The process ends at once with exit code -11 (139) or -4 (132), without an exception; the others lose it.
## What to do
See in the frames which part was at work: then its version, doubles of its library, or a simpler path around it.
## How it is found
In a log: by the words of the handler; its frames tell what was being done.
## References
https://docs.python.org/3/library/faulthandler.html
https://github.com/pytorch/pytorch/issues/103852
https://github.com/sgl-project/sglang/issues/3745
https://github.com/vllm-project/vllm/issues/17770
https://github.com/pytorch/pytorch/issues/37577
https://github.com/NVIDIA-NeMo/Speech/issues/13509
https://github.com/NVIDIA-NeMo/Speech/issues/14906
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HST029", name="native-crash", severity=ERROR, since="0.1")

#: what is known besides is the reason, or at least tells more
_KNOWN = (
    "ACC", "BNB", "CKP", "CUD", "DAT", "DSP", "FLA", "FSD", "GPU", "HST", "HUB", "LCH", "MEM", "NCC", "NUM", "ORL",
    "PFT", "PYT", "RAY", "RLX", "TOR", "TRF", "TRI", "TRK", "TRL", "VLL", "VRL",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^(?:!!!!!!! )?Fatal Python error: (?P<signal>Segmentation fault|Illegal instruction)", symptom_of=_KNOWN
    ),
    Signature(r"Caught signal (?:11|4) \((?P<caught>Segmentation fault|Illegal instruction)\b", symptom_of=_KNOWN),
    Signature(r"^(?:\x1b\[\d+m)?\*\*\* SIG(?P<short>SEGV|ILL) received at time=", symptom_of=_KNOWN),
    Signature(
        r"^(?:[^\n]{1,200}: line \d{1,6}: {1,6}\d{1,9} )?(?P<bare>Illegal instruction) {1,40}\(core dumped\)",
        symptom_of=_KNOWN,
    ),
    # where it stood, as UCX and glibc print it: a library with one of its functions
    Signature(
        r"^ {0,3}\d{1,3} {1,3}(?:0x[0-9a-f]{6,16} |/[^\s(]{1,200}/(?P<library>[\w.+\-]{1,80})\()"
        r"(?P<function>(?!ucs_|__kernel_rt|__sigaction|__restore_rt)[A-Za-z_]\w{2,160})(?:\(\)  \?\?\?:0|\+0x)",
        keywords=("()  ???:0", ") [0x"),
        kind="sign",
    ),
)

INSTRUCTION = Message(
    en=Words(
        "a process met an instruction that this CPU does not have (SIGILL)",
        "A library was built for newer CPUs (AVX, AVX2, AVX-512), or on another machine with `-march=native`. Virtual "
        "machines often hide instructions that the CPU has; old Xeons, Atoms and emulation (qemu, Rosetta) lack them.",
        "`lscpu | grep -o -w -E 'avx|avx2|avx512f'` shows what there is. In a virtual machine give it the host's CPU "
        "(`cpu: host`); on a cluster ask for a newer partition. Else take another build of the package that crashes "
        "(`PYTHONFAULTHANDLER=1` names it): one from conda-forge, an older version, or built on this machine: "
        "`pip install --no-binary PACKAGE --force-reinstall PACKAGE`; delete what was compiled elsewhere "
        "(`~/.cache/torch_extensions`, DeepSpeed's CPU Adam).",
    ),
    zh=Words(
        "进程遇到该 CPU 没有的指令(SIGILL)",
        "某个库是为较新的 CPU(AVX、AVX2、AVX-512)构建的,或在另一台机器上以 `-march=native` 编译。虚拟机常隐藏 CPU "
        "本有的指令;老旧的 Xeon、Atom 和模拟器(qemu、Rosetta)则没有。",
        "`lscpu | grep -o -w -E 'avx|avx2|avx512f'` 可看到现有指令。虚拟机请直通宿主机 CPU(`cpu: "
        "host`);集群上申请较新的分区。否则更换崩溃的包(`PYTHONFAULTHANDLER=1` 可指出)的构建:conda-forge "
        "版、较旧版本,或在本机编译:`pip install --no-binary PACKAGE --force-reinstall "
        "PACKAGE`;并删除在别处编译的缓存(`~/.cache/torch_extensions`、DeepSpeed 的 CPU Adam)。",
    ),
)
NCCL = Message(
    en=Words(
        "a process crashed inside a collective: segmentation fault{place}",
        "Two NCCLs in one process (the wheel's and the system's), a network plug-in of another version "
        "(libnccl-net.so, HPC-X, EFA), a defect of that release, or a communicator whose peer was gone. Ranks that "
        "report a lost connection afterwards only follow.",
        "Run with `NCCL_DEBUG=INFO`: its first lines tell version and plug-in, its last what was set up. `unset "
        "LD_PRELOAD VLLM_NCCL_SO_PATH`, take foreign libnccl out of LD_LIBRARY_PATH, try without plug-in "
        "(`NCCL_NET_PLUGIN=none`) and with sockets (`NCCL_IB_DISABLE=1`) to see which transport it is, then upgrade "
        "NCCL (`pip install -U nvidia-nccl-cu12`, CUDA 13: `-cu13`), the same on all nodes. Inside a captured graph "
        "also try without graphs (`--enforce-eager`, `--disable-cuda-graph`, `--disable-custom-all-reduce`).",
    ),
    zh=Words(
        "进程在集合通信中崩溃:段错误{place_zh}",
        "同一进程中有两个 NCCL(wheel 与系统)、网络插件版本不符(libnccl-net.so、HPC-X、EFA)、该版本的缺陷,或对端已消"
        "失的通信域。之后报告连接丢失的 rank 只是后果。",
        "用 `NCCL_DEBUG=INFO` 运行:开头几行给出版本与插件,末尾是正在建立的内容。`unset LD_PRELOAD "
        "VLLM_NCCL_SO_PATH`,从 LD_LIBRARY_PATH 去掉其他 libnccl,分别尝试不用插件(`NCCL_NET_PLUGIN=none`)与使用套接字"
        "(`NCCL_IB_DISABLE=1`)以判断是哪种传输,然后在所有节点升级 NCCL(`pip install -U nvidia-nccl-cu12`,CUDA 13:`-c"
        "u13`)。若在捕获的图中,也试不用图(`--enforce-eager`、`--disable-cuda-graph`、`--disable-custom-all-reduce`)"
        "。",
    ),
)
CAPTURE = Message(
    en=Words(
        "a process crashed while CUDA graphs were captured: segmentation fault{place}",
        "Kernels and collectives are recorded there for the first time: a kernel package of another torch or GPU "
        "(flash-attn, FlashInfer, sgl-kernel, DeepGEMM, AITER), Triton's compiler, or NCCL in the graph.",
        "Start once without graphs (vLLM `--enforce-eager`, SGLang `--disable-cuda-graph`): if it then crashes too, "
        "the frames name the kernel; if not, try `--disable-custom-all-reduce`, another attention backend, and a "
        "release of the kernel packages that belongs to this torch. `rm -rf ~/.triton/cache ~/.cache/flashinfer` "
        "takes away what was compiled by another version.",
    ),
    zh=Words(
        "进程在捕获 CUDA 图时崩溃:段错误{place_zh}",
        "内核与集合通信在此首次被记录:内核包属于另一个 torch 或 "
        "GPU(flash-attn、FlashInfer、sgl-kernel、DeepGEMM、AITER)、Triton 编译器,或图中的 NCCL。",
        "先不用图启动一次(vLLM `--enforce-eager`,SGLang `--disable-cuda-graph`):若仍崩溃,栈会指出是哪个内核;若不崩溃,"
        "尝试 `--disable-custom-all-reduce`、其他注意力后端,以及与该 torch 配套的内核包版本。"
        "`rm -rf ~/.triton/cache ~/.cache/flashinfer` 可清除由其他版本编译的内容。",
    ),
)
COMPILER = Message(
    en=Words(
        "a process crashed while Triton compiled a kernel: segmentation fault{place}",
        "The compiler (LLVM inside Triton) fails on this kernel or this GPU, Triton does not belong to the installed "
        "torch, or two LLVMs are in the process.",
        "Install the Triton that this torch names (`pip install --force-reinstall torch==VERSION`; never upgrade "
        "triton alone), `rm -rf ~/.triton/cache /tmp/torchinductor_$USER`, and run without compilation to go on: "
        "`TORCHDYNAMO_DISABLE=1`, `--enforce-eager`, another attention or MoE backend. A newer torch often has the "
        "mend.",
    ),
    zh=Words(
        "进程在 Triton 编译内核时崩溃:段错误{place_zh}",
        "编译器(Triton 内的 LLVM)无法处理该内核或该 GPU,Triton 与已安装的 torch 不配套,或进程中有两个 LLVM。",
        "安装该 torch 指定的 Triton(`pip install --force-reinstall torch==VERSION`;不要单独升级 triton),`rm -rf "
        "~/.triton/cache /tmp/torchinductor_$USER`;要先跑起来可不编译:`TORCHDYNAMO_DISABLE=1`、`--enforce-eager`、其他"
        "注意力或 MoE 后端。较新的 torch 往往已修复。",
    ),
)
MPI = Message(
    en=Words(
        "a process crashed inside MPI while it made a communicator: segmentation fault{place}",
        "A process group of the backend `mpi` was asked for in a job that no MPI launcher started (torchrun, plain "
        "`python`), or by an MPI that is not the one of the launcher. TransformerEngine's overlap of tensor-parallel "
        "communication (`tp_comm_overlap`) takes MPI to set up its buffers where it is not told another way, older "
        "releases always.",
        "Megatron, NeMo: `tp_comm_bootstrap_backend=nccl` (`--tp-comm-bootstrap-backend nccl`) or `tp_comm_overlap` "
        "off. Else start with the MPI of the image: `mpirun -np N python ...` or `srun --mpi=pmix`, with `mpi4py` and "
        "torch built for that same MPI.",
    ),
    zh=Words(
        "进程在 MPI 建立通信域时崩溃:段错误{place_zh}",
        "作业不是由 MPI 启动器启动的(torchrun、直接 `python`),却要建立 `mpi` 后端的进程组,或所用 MPI 与启动器的不同。"
        "TransformerEngine 的张量并行通信重叠(`tp_comm_overlap`)在没有另行指定时用 MPI 建立缓冲区,较旧版本则总是如此。",
        "Megatron、NeMo:`tp_comm_bootstrap_backend=nccl`(`--tp-comm-bootstrap-backend nccl`),或关闭 `tp_comm_overlap`。"
        "否则用镜像中的 MPI 启动:`mpirun -np N python ...` 或 `srun --mpi=pmix`,且 `mpi4py` 与 torch 针对同一 MPI 构"
        "建。",
    ),
)
SAVING = Message(
    en=Words(
        "a process crashed while it wrote a checkpoint: segmentation fault{place}",
        "The copy that is written was gone or not readable at that moment: an asynchronous save goes on in another "
        "process or thread while the training frees or moves the tensors, shared memory for that copy is short, or "
        "the writer of this torch has a defect on this platform.",
        "Save synchronously once to see (NeMo `ckpt_async_save=False`, Megatron without `--async-save`, torch DCP "
        "`save` instead of `async_save`). Look at `df -h /dev/shm` and `free -h`, then upgrade torch and the framework "
        "together. The checkpoint that was being written is not whole: resume from the one before.",
    ),
    zh=Words(
        "进程在写检查点时崩溃:段错误{place_zh}",
        "要写出的副本当时已不存在或不可读:异步保存在另一进程或线程中进行,而训练已释放或移动了张量;存放副本的共享内存不"
        "足;或该版本 torch 的写入器在此平台上有缺陷。",
        "先改为同步保存一次以判断(NeMo `ckpt_async_save=False`,Megatron 去掉 `--async-save`,torch DCP 用 `save` 代替 "
        "`async_save`)。查看 `df -h /dev/shm` 与 `free -h`,然后一起升级 torch 与框架。正在写的检查点不完整:从上一个恢复"
        "。",
    ),
)
IMPORT = Message(
    en=Words(
        "a process crashed while a compiled module was imported: segmentation fault{place}",
        "The module was built for another torch, NumPy, Python or C++ runtime than the ones loaded, or two modules "
        "bring the same library (cuDNN, protobuf, OpenMP, LLVM) in different versions; then the order of imports "
        "decides.",
        "Reinstall the module for the installed torch (`pip install --force-reinstall --no-cache-dir PACKAGE`), "
        "import torch first, and leave out LD_PRELOAD and LD_LIBRARY_PATH (`env -u LD_PRELOAD -u LD_LIBRARY_PATH "
        "python ...`). `doctor check --deep` imports the compiled packages one by one.",
    ),
    zh=Words(
        "进程在导入编译型模块时崩溃:段错误{place_zh}",
        "该模块针对的 torch、NumPy、Python 或 C++ 运行时与已加载的不同,或两个模块带有同一库(cuDNN、protobuf、OpenMP、"
        "LLVM)的不同版本,此时导入顺序决定结果。",
        "按已安装的 torch 重装该模块(`pip install --force-reinstall --no-cache-dir PACKAGE`),先导入 torch,并去掉 "
        "LD_PRELOAD 与 LD_LIBRARY_PATH(`env -u LD_PRELOAD -u LD_LIBRARY_PATH python ...`)。`doctor check --deep` "
        "会逐一导入编译型包。",
    ),
)
CONVOLUTION = Message(
    en=Words(
        "a process crashed in a convolution, which calls cuDNN: segmentation fault{place}",
        "Two cuDNNs are in the process: torch's own, and the one of the system, of TensorRT, TensorFlow or JAX, "
        "loaded before it or through LD_LIBRARY_PATH.",
        "Import torch before tensorrt, tensorflow and jax; `unset LD_LIBRARY_PATH`; see what is loaded with `grep "
        "cudnn /proc/PID/maps`. `pip install --force-reinstall` of torch brings its own `nvidia-cudnn` of the right "
        "version; `torch.backends.cudnn.enabled = False` shows whether it is cuDNN.",
    ),
    zh=Words(
        "进程在调用 cuDNN 的卷积中崩溃:段错误{place_zh}",
        "进程中有两个 cuDNN:torch 自带的,以及系统、TensorRT、TensorFlow 或 JAX 的,先被加载或来自 LD_LIBRARY_PATH。",
        "在 tensorrt、tensorflow、jax 之前导入 torch;`unset LD_LIBRARY_PATH`;用 `grep cudnn /proc/PID/maps` "
        "查看加载了哪些。`pip install --force-reinstall` 重装 torch 会带来版本正确的 "
        "`nvidia-cudnn`;`torch.backends.cudnn.enabled = False` 可判断是否为 cuDNN。",
    ),
)
WEIGHTS = Message(
    en=Words(
        "a process crashed while it read weights: segmentation fault{place}",
        "The files are mapped into memory: one is cut short or rewritten meanwhile, the host's memory or its limit "
        "ran out, or the kernel that repacks quantized weights got shapes it cannot take.",
        "Compare the sizes of the files with those on the hub (`hf download MODEL --force-download`), copy them "
        "from the network disk to a local one, look at `free -h`, `ulimit -v` and `dmesg -T`, and try the "
        "unquantized model or another `--load-format`.",
    ),
    zh=Words(
        "进程在读取权重时崩溃:段错误{place_zh}",
        "权重文件被映射到内存:某个文件不完整或被改写、主机内存或其限制耗尽,或重排量化权重的内核遇到无法处理的形状。",
        "将文件大小与 hub 上的比较(`hf download MODEL --force-download`),从网络盘复制到本地盘,查看 `free "
        "-h`、`ulimit -v` 与 `dmesg -T`,并尝试未量化的模型或其他 `--load-format`。",
    ),
)
PLAIN = Message(
    en=Words(
        "a process crashed in native code: segmentation fault{place}",
        "Compiled code below Python read memory that is not there: a package that does not belong to the installed "
        "torch, two copies of one library in the process (LD_LIBRARY_PATH, LD_PRELOAD, conda beside pip), a stack "
        "or memory limit, or a defect. The innermost frame of the current thread tells who was at work.",
        "Run with `PYTHONFAULTHANDLER=1` if no frames stand there. Start once with `env -u LD_PRELOAD -u "
        "LD_LIBRARY_PATH`, reinstall the package of that frame for the installed torch, import torch first, and "
        "`ulimit -s unlimited`. `doctor check --deep` tries the compiled packages one by one; `gdb -batch -ex bt "
        "python core` names the library.",
    ),
    zh=Words(
        "进程在本地代码中崩溃:段错误{place_zh}",
        "Python 之下的编译代码访问了不存在的内存:包与已安装的 torch 不配套、进程中有同一库的两份副本(LD_LIBRARY_PATH、"
        "LD_PRELOAD、conda 与 pip 混用)、栈或内存限制,或缺陷。当前线程最内层的帧说明是谁在工作。",
        "若没有栈,用 `PYTHONFAULTHANDLER=1` 运行。先用 `env -u LD_PRELOAD -u LD_LIBRARY_PATH` 启动一次,按已安装的 "
        "torch 重装该帧所属的包,先导入 torch,并 `ulimit -s unlimited`。`doctor check --deep` "
        "会逐一试验编译型包;`gdb -batch -ex bt python core` 可指出是哪个库。",
    ),
)

#: (what the innermost frames name, what is said then), the first that fits
_BY_FRAME = (
    (re.compile(r"libmpi\b|:(?:ompi_|P?MPI_)\w"), MPI),
    (re.compile(r":mz_zip_writer|PyTorchStreamWriter"), SAVING),
    (re.compile(r"triton/(?:compiler|backends|runtime/jit)"), COMPILER),
    (re.compile(r"pynccl|distributed_c10d|custom_all_reduce|:all_reduce$|:p?ncclA?|libnccl|symm_mem|deep_ep"), NCCL),
    (re.compile(r"<frozen importlib|importlib/|/ctypes/__init__"), IMPORT),
    (re.compile(r"modules/conv\.py|cudnn"), CONVOLUTION),
    (re.compile(r"safetensors|weight_loader|load_weights|load_state_dict|weight_utils"), WEIGHTS),
)
_CAPTURES = re.compile(r"capture_one_batch|cuda_graph_runner|capture_model|cuda/graphs\.py")
#: a thread that only waits: the one that crashed has no Python frames
_WAITS = re.compile(r"/(?:threading|selectors|queue|socket)\.py|watchdog")
_INNER = 3


def _native(hits: Hits) -> tuple[str, ...]:
    """Functions below Python that the handler printed, outermost first as in Python's own traces."""
    told = [hit.groups for hit in hits if hit.groups.get("function")][:_INNER]
    return tuple(f"/{each.get('library') or ''}:{each['function']}" for each in reversed(told))


def explain(hits: Hits) -> Finding:
    """The innermost frames tell what was being done; a graph in capture counts where they tell nothing."""
    frames = next((hit.frames for hit in hits if hit.frames), ()) or _native(hits)
    inner = frames[-1].rpartition("/")[2] if frames and not _WAITS.search(frames[-1]) else ""
    if any((hit.groups.get("signal") or hit.groups.get("caught") or hit.groups.get("bare") or "").startswith("I")
           or hit.groups.get("short") == "ILL" for hit in hits):  # fmt: skip
        message = INSTRUCTION
    else:
        message = next(
            (said for pattern, said in _BY_FRAME if any(pattern.search(each) for each in frames[-_INNER:])),
            CAPTURE if any(_CAPTURES.search(each) for each in frames) else PLAIN,
        )
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        place=f" (`{inner}`)" if inner else "", place_zh=f"(`{inner}`)" if inner else "",
    )  # fmt: skip
