"""A worker of vLLM did not answer in time.

## What it means
The engine core sends each step to its workers and waits (300 s for one step; 40 s in older releases). A worker that
hangs in a collective, compiles, swaps, or lost its GPU does not answer.
## What it does to a run
The engine declares itself dead, and every request fails.
## What to do
Find the worker that hangs; raise the limit only where the work is slow.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/usage/troubleshooting/
https://github.com/vllm-project/vllm/issues/17965
https://github.com/vllm-project/vllm/pull/18558
https://github.com/vllm-project/vllm/pull/19544
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL063", name="worker-call-timed-out", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TimeoutError: RPC call to (?P<call>\w{1,60}) timed out",
        symptom_of=("NCC", "TOR", "MEM", "CUD", "GPU"),
    ),
    Signature(
        r"No available shared memory broadcast block found in (?P<seconds>\d{1,5}) seconds",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a worker of vLLM did not answer `{call}` in time",
        "It hangs or is very slow: a collective between tensor or pipeline parallel ranks waits for one "
        "that failed or for a broken link, a kernel is compiled for the first time, a request is "
        "extremely long, or the GPU fell out. The messages about the shared memory broadcast before it "
        "say the same: nobody takes the work.",
        "Look for the first error or the last line of each worker, and take `py-spy dump --pid PID` of "
        "all workers while it hangs; `nvidia-smi` and `dmesg | grep -i xid` for the card. Try "
        "`--enforce-eager`, `--disable-custom-all-reduce` and NCCL_P2P_DISABLE=1 one by one to see which "
        "link hangs, and upgrade vLLM. If it is only slow (compilation, long prefill), raise "
        "`VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS` (300; older releases wait 40 s and do not read it).",
    ),
    zh=Words(
        "vLLM 的一个 worker 没有及时应答 `{call}`",
        "它挂起或非常慢:张量或流水并行各 rank 之间的集合通信在等待出错的 rank 或故障链路,首次编译内核,请"
        "求极长,或 GPU 掉线。此前关于共享内存广播的提示含义相同:没有人取走任务。",
        "查看各 worker 的首个错误或最后一行,并在挂起时对所有 worker 执行 `py-spy dump --pid PID`;用 "
        "`nvidia-smi` 与 `dmesg | grep -i xid` 检查显卡。逐一尝试 `--enforce-eager`、"
        "`--disable-custom-all-reduce`、NCCL_P2P_DISABLE=1 以确定挂起的环节,并升级 vLLM。若只是慢(编译、"
        "长 prefill),提高 `VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS`(300;旧版只等 40 秒且不读取它)。",
    ),
)

LOG_CONFIDENCE = LIKELY
