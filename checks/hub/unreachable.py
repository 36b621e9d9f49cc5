"""The Hub cannot be reached from this machine.

## What it means
Compute nodes often have no way to the internet, or only through a proxy or a mirror; a firewall or DNS can
cut it off for a while.
## What it does to a run
The first file that is not in the cache ends the run, sometimes after minutes of retries on every rank.
## What to do
Download beforehand and run offline, or give the node a way out.
## How it is found
In a log: by the exception of the client, with the host that did not answer.
## References
https://huggingface.co/docs/transformers/installation#offline-mode
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HUB009", name="hub-unreachable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"We couldn't connect to 'https?://[^'\n]{1,80}' to load",
        symptom_of=("HUB001", "HUB003", "HUB012", "HUB013"),
    ),
    Signature(
        r"MaxRetryError\([^\n]{0,60}host='(?P<host>[\w.\-]{0,40}(?:huggingface\.co|hf\.co|hf-mirror\.c"
        r"om))'(?![^\n]{0,2000} thrown while requesting )",
        symptom_of=("HUB014",),
    ),
    Signature(
        r"(?:HfHubHTTPError|HTTPError): 50[0234] Server Error[^\n]{0,80} for url: "
        r"https?://(?P<gateway>[\w.\-]{0,40}(?:huggingface\.co|hf\.co|hf-mirror\.com))",
    ),
    Signature(
        r"An error happened while trying to locate the files? on the Hub,? and we cannot find the"
        r" (?:requested files|appropriate snapshot folder)",
        symptom_of=("HUB001", "HUB014", "HST025"),
    ),
    Signature(
        r"ConnectionError: Couldn't reach '(?P<dataset>[^'\n]{1,160})' on the Hub"
        r" \((?:ConnectionError|LocalEntryNotFoundError|ConnectTimeout|ReadTimeout)",
        symptom_of=("HUB001",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Hugging Face Hub could not be reached, and the files are not in the cache",
        "This machine has no route to it: no internet on compute nodes, a proxy that is not set, DNS, or "
        "a firewall; or the name of the model is misspelt, so that the cache has nothing of it; or the Hub (or the "
        "mirror) answered that it has trouble itself (50x).",
        "Try again first if it answered 50x. Test with `curl -sI https://huggingface.co | head -1` there. "
        "Download on a machine with a network, `hf download REPO` into a shared `HF_HOME`, and run with "
        "`HF_HUB_OFFLINE=1` or a local path; or set `https_proxy`, or a mirror with `HF_ENDPOINT`.",
    ),
    zh=Words(
        "无法访问 Hugging Face Hub,且缓存中没有这些文件",
        "本机没有通向它的路由:计算节点没有外网、未设置代理、DNS 或防火墙;或模型名拼写有误,缓存中自然没有;或 Hub(或镜像)"
        "自身出现故障(50x)。",
        "若返回 50x 请先重试。在同一节点上用 `curl -sI https://huggingface.co | head -1` 测试。在有网络的机器上用 `hf "
        "download REPO` 下载到共享的 `HF_HOME`,并以 `HF_HUB_OFFLINE=1` 或本地路径运行;或设置 "
        "`https_proxy`,或用 `HF_ENDPOINT` 指定镜像。",
    ),
)

LOG_COMMANDS = ("curl -sI https://huggingface.co | head -1",)

LOG_CONFIDENCE = LIKELY
