"""wandb's helper process does not start.

## What it means
`wandb.init` starts `wandb-core` and waits for it to write its port into a file. A slow or full file system, many ranks
that start it at once, a limit on processes or memory, or a program that may not be executed keep it from that.
## What it does to a run
The run ends in `wandb.init`, although nothing is wrong with the training.
## What to do
Give it more time, or leave wandb out.
## How it is found
In a log: by the exceptions of wandb's service.
## References
https://github.com/wandb/wandb/issues/1409
https://github.com/wandb/wandb/issues/11503
https://docs.wandb.ai/models/ref/python/experiments/settings
https://github.com/wandb/wandb/blob/main/wandb/sdk/lib/service/service_port_file.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRK007", name="wandb-service-not-started", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ServiceStartPortError\b|Service(?:PollForToken|StartTimeout|StartProcess)Error: (?:Failed to "
        r"read port info after (?P<seconds>[\d.]{1,8})|"
        r"Timed out waiting for wandb service to start after (?P<waited>[\d.]{1,8})|[^\n]{1,80}(?:exited with|port))"
    ),
    Signature(r"wandb\.errors\.(?:\w{1,20}\.)?(?:UsageError|CommError): Error communicating with wandb process"),
)

LOG_MESSAGE = Message(
    en=Words(
        "wandb's helper process did not start{seconds}",
        "`wandb.init` starts `wandb-core` on this machine and waits for its port, even when it is offline. "
        "It is slow or dies where the temporary folder or home lies on a slow or full network drive, every "
        "rank starts one, memory or processes are limited, or a virus scanner holds the program.",
        "Wait longer: `export WANDB_X_SERVICE_WAIT=300` (older releases: `WANDB__SERVICE_WAIT=300`), with "
        "`TMPDIR` and `WANDB_DIR` on a local disk that has room (`df -h /tmp`), and start it on rank 0 "
        "only. Upgrade: `pip install -U wandb`. To train without it: `export WANDB_MODE=disabled`, or "
        '`report_to="none"`. `debug-internal.log` and `debug-core.log` under `wandb/` tell what it did.',
    ),
    zh=Words(
        "wandb 的辅助进程没有启动{seconds_zh}",
        "`wandb.init` 会在本机启动 `wandb-core` 并等待其端口,离线时也是如此。临时目录或主目录位于缓慢或已满"
        "的网络盘、每个 rank 都启动一个、内存或进程数受限,或杀毒软件占用该程序时,它会很慢或退出。",
        "延长等待:`export WANDB_X_SERVICE_WAIT=300`(旧版本:`WANDB__SERVICE_WAIT=300`),把 `TMPDIR` 和"
        " `WANDB_DIR` 放在有空间的本地磁盘(`df -h /tmp`),并只在 rank 0 上启动。升级:`pip install -U wandb`"
        '。不用它训练:`export WANDB_MODE=disabled` 或 `report_to="none"`。`wandb/` 下的'
        " `debug-internal.log` 和 `debug-core.log` 会说明原因。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Say how long it was waited for, where the log does."""
    seconds = hits.get("seconds") or hits.get("waited")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        seconds=f" within {seconds} s" if seconds else "", seconds_zh=f"(等待了 {seconds} 秒)" if seconds else "",
    )  # fmt: skip
