"""One rank of a tensor-parallel engine did not finish loading the model.

## What it means
SGLang's ranks meet once all have loaded their part of the weights. Those that are ready wait five minutes (newer
releases 30) and then name themselves; the one that is missing failed, or still loads.
## What it does to a run
The engine ends, and with it the rollout.
## What to do
Look at the rank that does not report.
## How it is found
In a log: by the message of the ranks that were ready.
## References
https://github.com/sgl-project/sglang/issues/4503
https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/model_executor/model_runner.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH033", name="engine-rank-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"TP rank (?P<ready>\d{1,4}) could finish the model loading, but there are other ranks that di"
        r"dn't finish loading",
        symptom_of=("MEM", "HST", "TOR", "PYT", "CUD", "GPU", "NCC", "HUB", "TRF", "VLL", "LCH018"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "another rank of the SGLang engine did not finish loading; rank {ready} waited for it",
        "The ranks meet after the weights are loaded, for at most five minutes (30 in newer releases). "
        "One was killed (host memory), ran out of GPU memory, stopped with an error of its own, or reads "
        "much more slowly: a network disk, or a node that downloads first.",
        "Search all logs of the engine for the rank that prints no `Load weight end`, on every node, and "
        "`dmesg -T | grep -i 'killed process'` for a kill. If it only reads slowly, copy the model to a "
        "local disk of each node and start again: the second start reads from the page cache. With many "
        "ranks on one host lower the pressure on memory.",
    ),
    zh=Words(
        "SGLang 引擎的另一个 rank 没有完成加载;rank {ready} 一直在等它",
        "各 rank 在加载完权重后汇合,最多等待五分钟(较新版本为 30 分钟)。有 rank 被杀(主机内存)、显存不足"
        "、因自身错误停止,或读取慢得多:网络盘,或该节点先要下载。",
        "在所有节点的引擎日志中找出没有打印 `Load weight end` 的 rank,并用 `dmesg -T | grep -i 'killed "
        "process'` 查看是否被杀。若只是读得慢,请把模型复制到每个节点的本地磁盘后重启:第二次启动会读页缓存"
        "。同一主机 rank 很多时请降低内存压力。",
    ),
)
