"""SGLang's scheduler did not finish a batch in time, and its watchdog ended the server.

## What it means
A thread watches that the scheduler goes on while it has a batch. When none was finished for `--watchdog-timeout`
seconds (300 unless set), it prints the stacks of all schedulers and ends the server.
## What it does to a run
Server and engines end; requests in flight are lost.
## What to do
Find what the scheduler waited for: another rank, a compilation, storage.
## How it is found
In a log: by the line of the watchdog, unless an error of another process explains it.
## References
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/managers/scheduler.py
https://docs.sglang.ai/advanced_features/server_arguments.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL088", name="sglang-watchdog-timeout", severity=ERROR, since="0.1")

_CAUSES = ("NCC", "MEM", "GPU", "TOR", "HST", "CUD", "LCH", "VLL", "DAT", "CKP", "NUM", "RAY", "VRL")

SIGNATURES = (
    Signature(
        r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<seconds>[\d.]{1,9})",
        symptom_of=_CAUSES,
    ),
    Signature(
        r"Health check failed\. Server couldn't get a response from detokenizer for last (?P<waited>\d{1,5}) seconds",
        symptom_of=_CAUSES,
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "SGLang's scheduler finished no batch for {seconds} s, so its watchdog ended the server",
        "The scheduler was busy or waiting the whole time. With several GPUs or nodes a rank waits in a collective for "
        "one that hangs or died; else a kernel is compiled (DeepGEMM, Triton, torch.compile, on the first request of a "
        "shape), a cache or a file on slow storage is waited for, or the model really needs longer for one prefill.",
        "Read the stacks that py-spy printed just above: the one rank that stands elsewhere than the others is to "
        "blame. Compile before serving (`python -m sglang.compile_deep_gemm` with the server's arguments), give each "
        "node its cache folder on a local disk, and raise `--watchdog-timeout` (for example 3600; slime "
        "`--sglang-watchdog-timeout`) only where the work is known to be long. For a hang: "
        "`NCCL_DEBUG=INFO`, `--disable-custom-all-reduce`, `--disable-cuda-graph` one at a time.",
    ),
    zh=Words(
        "SGLang 的调度器 {seconds} 秒没有完成任何批次,其 watchdog 结束了服务",
        "调度器在此期间一直忙碌或等待。多 GPU 或多节点时,某个 rank 在集合通信中等待挂住或已退出的 rank;否则是在编译内核"
        "(DeepGEMM、Triton、torch.compile,某形状的首个请求),等待慢速存储上的缓存或文件,或一次 prefill 确实更久。",
        "查看上方 py-spy 打印的堆栈:与其他 rank 所在位置不同的那个 rank 就是问题所在。服务之前先编译(用服务端的参数运行"
        " `python -m sglang.compile_deep_gemm`),各节点的缓存目录放在本地盘;只有确知耗时较长时才提高 "
        "`--watchdog-timeout`(如 3600;slime 为 `--sglang-watchdog-timeout`)。若为挂起:`NCCL_DEBUG=INFO`、"
        "`--disable-custom-all-reduce`、`--disable-cuda-graph` 逐一尝试。",
    ),
)

HEALTH = Message(
    en=Words(
        "SGLang's server answered no health check for {waited} s",
        "The check sends one token through the scheduler, and nothing came back: the scheduler is busy with a long "
        "prefill or a compilation, waits for another rank, or has ended. A router, Kubernetes or the trainer then "
        "takes the engine for dead and restarts it or answers 503.",
        "Look in the server's log for what the scheduler did last (an error there is the cause). If it is only slow: "
        "`SGLANG_HEALTH_CHECK_TIMEOUT=120` for the server, probes and routers with more patience (they should ask "
        "`/health`, not `/health_generate`, under load), and a smaller `--chunked-prefill-size`. If it stands still, "
        "read its stack with `py-spy dump --pid PID`.",
    ),
    zh=Words(
        "SGLang 服务在 {waited} 秒内没有应答健康检查",
        "该检查让一个 token 经过调度器,却没有返回:调度器忙于很长的 prefill 或编译,在等待其他 rank,或已经退出。router、"
        "Kubernetes 或训练框架会因此认为引擎已死,将其重启或返回 503。",
        "在服务端日志中查看调度器最后做了什么(若有报错即为原因)。若只是慢:为服务端设置 "
        "`SGLANG_HEALTH_CHECK_TIMEOUT=120`,放宽探针与 router 的等待(高负载时应访问 `/health` 而非 "
        "`/health_generate`),并减小 `--chunked-prefill-size`。若停住不动,用 `py-spy dump --pid PID` 查看堆栈。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The watchdog's word counts more than a health check that was missed."""
    seconds = hits.get("seconds")
    return found(
        PROBLEM, LOG_MESSAGE if seconds else HEALTH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        seconds=(seconds or "").removesuffix(".0"), waited=hits.get("waited") or "",
    )  # fmt: skip
