"""The Hub answers 429: too many requests.

## What it means
Clients without a token share a small limit per address. Every rank of every job on a node (or behind one
gateway) asks for itself, and streaming data sets ask again for each shard.
## What it does to a run
The ranks that got 429 raise, the others wait for them.
## What to do
Log in, and let one process download.
## How it is found
In a log: by the status of the answer.
## References
https://huggingface.co/docs/hub/rate-limits
https://github.com/huggingface/datasets/issues/7506
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HUB010", name="hub-rate-limited", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"429 Client Error(?:: Too Many Requests for url: https?://(?P<host>[\w.\-]{1,60}))?"),
    Signature(
        r"Client error '429 Too Many Requests' for url 'https?://(?P<host>[\w.\-]{0,40}(?:huggingface\.co|hf\.co))"
    ),
    Signature(r"HfHubHTTPError[^\n]{0,60}429[^\n]{0,80}(?:rate limit|Too Many Requests)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Hub refused requests with 429 Too Many Requests (rate limit)",
        "Requests without a token have a low limit per address, and every rank of the job sends its own, "
        "above all when a dataset is streamed.",
        "Authenticate in every process (`export HF_TOKEN=...` or `hf auth login`); download once before "
        "the run (`hf download REPO --repo-type dataset`) and set `HF_HUB_OFFLINE=1`, or load from the "
        "local folder; upgrade `huggingface_hub`, whose newer releases wait and retry.",
    ),
    zh=Words(
        "Hub 以 429 Too Many Requests(限流)拒绝了请求",
        "不带 token 的请求按地址限额很低,而作业的每个 rank 都各自发送请求,流式读取数据集时尤甚。",
        "在每个进程中认证(`export HF_TOKEN=...` 或 `hf auth login`);在运行之前下载一次(`hf download REPO "
        "--repo-type dataset`)并设置 `HF_HUB_OFFLINE=1`,或从本地目录加载;升级会等待并重试的新版 "
        "`huggingface_hub`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Other services answer 429 as well: keep to the Hub's hosts where the line names one."""
    hosts = hits.values("host")
    if hosts and not any(host.endswith(("huggingface.co", "hf.co", "hf-mirror.com")) for host in hosts):
        return None
    if not hosts and not any("Hub" in hit.text or "hub" in "".join(hit.frames) for hit in hits):
        return None
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence())
