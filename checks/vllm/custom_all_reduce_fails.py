"""vLLM's own all-reduce cannot map the memory of the other GPUs.

## What it means
Within one machine vLLM exchanges small tensors through buffers that the GPUs map from each other (CUDA IPC).
That fails where peer access is not given, in some containers and virtual machines, and for memory of an
allocator that IPC cannot share (`expandable_segments`).
## What it does to a run
Workers end while CUDA graphs are captured or registered, without a Python exception.
## What to do
Switch it off: NCCL does the same, a little slower for small tensors.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/usage/troubleshooting/
https://github.com/vllm-project/vllm/issues/5613
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL056", name="custom-all-reduce-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:Failed: )?Cuda error \S{0,200}custom_all_reduce\.cuh:\d{1,5} '(?P<why>[\w ]{1,60})'",
    ),
    Signature(
        r"RuntimeError: CUDART error: (?P<why>[\w ]{1,60})",
        frame=r"custom_all_reduce\.py",
    ),
    Signature(
        r"RuntimeError: CUDA error: (?P<why>invalid argument|invalid resource handle|peer access is not "
        r"supported[\w ]{0,40})",
        frame=r"custom_all_reduce\.py:|sgl_kernel[\\/]allreduce\.py:",
    ),
    Signature(r"AssertionError: (?P<why>libcudart(?:\.so)? is not loaded) in the current process"),
    Signature(
        r"_pickle\.UnpicklingError: (?P<why>[\w ]{1,40}, '[^\n']{1,8}')",
        frame=r"(?:custom_)?all_reduce_utils\.py:gpu_p2p_access_check",
    ),
    Signature(
        r"CalledProcessError: Command '\['[^\n]{1,300}all_reduce_utils\.py'\]'"
        r" (?P<why>returned non-zero exit status \d{1,3}|died with <Signals\.SIG(?!INT)\w{1,8})"
    ),
    Signature(r"RuntimeError: Error happened when batch testing (?P<why>peer-to-peer access from \([\d, ]{1,300}\))"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the custom all-reduce of vLLM or SGLang failed: {why}",
        "It maps memory of the other GPUs of this machine by CUDA IPC. That is not possible here: no "
        "peer access between the cards (PCIe switches, virtual machines, MIG), a container without the "
        "host IPC namespace, or memory of `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, which IPC "
        "cannot share. Or the test of peer access, a process of its own that runs at the start, failed.",
        "Start with `--disable-custom-all-reduce` (`disable_custom_all_reduce=True` in Python), so that NCCL does "
        "it. Unset `PYTORCH_CUDA_ALLOC_CONF` for the engine, run the container with `--ipc=host`, and check "
        "`nvidia-smi topo -p2p r`. Where the test failed, its own error stands above; a `libcudart` that is not "
        "loaded (ROCm, a torch of another source) can be named to vLLM in `VLLM_CUDART_SO_PATH`, and a message "
        "printed into the test's answer goes away with a newer vLLM.",
    ),
    zh=Words(
        "vLLM 或 SGLang 的 custom all-reduce 失败:{why}",
        "它通过 CUDA IPC 映射本机其他 GPU 的显存。此处无法做到:显卡之间没有 peer access(PCIe 交换、虚拟机、MIG),容"
        "器没有主机 IPC 命名空间,或显存来自 `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`,IPC 无法共享。也可能"
        "是启动时以独立进程进行的 peer access 测试失败。",
        "用 `--disable-custom-all-reduce`(Python 中 `disable_custom_all_reduce=True`)启动,改由 NCCL 完成。为引擎取"
        "消 `PYTORCH_CUDA_ALLOC_CONF`,容器使用 `--ipc=host`,并检查 `nvidia-smi topo -p2p r`。若是测试失败,其自身的"
        "错误在上方;未加载的 `libcudart`(ROCm、其他来源的 torch)对 vLLM 可用 `VLLM_CUDART_SO_PATH` 指定;测试结果中"
        "混入的提示信息在较新的 vLLM 中不再发生。",
    ),
)

LOG_CONFIDENCE = LIKELY
