"""A download from a hub was cut off in the middle.

## What it means
The connection came about and broke while data came: a proxy or firewall that ends long or encrypted connections, an
unsteady line, a mirror with trouble.
## What it does to a run
The run ends while it loads a model or a data set; what was there remains in the cache as a part.
## What to do
Try again, or download beforehand with a tool that resumes.
## How it is found
In a log: by the exceptions of the HTTP clients, where a client of a hub called them.
## References
https://github.com/huggingface/huggingface_hub/blob/v0.34.0/src/huggingface_hub/file_download.py
https://huggingface.co/docs/huggingface_hub/guides/download
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhubdownloadtimeout
https://github.com/huggingface/huggingface_hub/issues/1498
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="HUB018", name="download-broken-off", severity=ERROR, since="0.1")

BROKEN = Message(
    en=Words(
        "a download from a hub was cut off before its end",
        "The other side, or something between (a proxy, a firewall, an unsteady line), closed the connection "
        "while data came, or no data came for the client's time-out. The repository and the token are in order.",
        "Start again: finished files are kept, and broken ones are resumed. More patience: `export "
        "HF_HUB_DOWNLOAD_TIMEOUT=60 HF_HUB_ETAG_TIMEOUT=60`. Better download beforehand, again until it is whole: "
        "`until hf download REPO; do sleep 10; done` (fewer at once: `--max-workers 2`; without Xet: "
        "`HF_HUB_DISABLE_XET=1`), or from a mirror: `export HF_ENDPOINT=https://hf-mirror.com`; then run with "
        "`HF_HUB_OFFLINE=1`.",
    ),
    zh=Words(
        "从 Hub 下载时连接中途断开",
        "对端或中间设备(代理、防火墙、不稳定的线路)在传输过程中关闭了连接,或在客户端时限内没有数据到达。仓库"
        "与 token 没有问题。",
        "重新启动:已完成的文件会保留,未完成的会续传。提高耐心:`export HF_HUB_DOWNLOAD_TIMEOUT=60 "
        "HF_HUB_ETAG_TIMEOUT=60`。更好的做法是事先反复下载直到完整:`until hf download REPO; do sleep 10; "
        "done`(减少并发:`--max-workers 2`;不用 Xet:`HF_HUB_DISABLE_XET=1`),或使用镜像:`export "
        "HF_ENDPOINT=https://hf-mirror.com`;然后用 `HF_HUB_OFFLINE=1` 运行。",
    ),
)
RUST = Message(
    en=Words(
        "`hf_transfer` lost the connection while it downloaded from the Hub",
        "The fast downloader opens many connections and neither retries nor says why one failed: an unsteady line, a "
        "proxy (it does not know all of them), a mirror that limits connections, or a full disk.",
        "Download with the ordinary client, which resumes and tells the reason: `HF_HUB_ENABLE_HF_TRANSFER=0 hf "
        "download REPO`, again until it is whole, then start with `HF_HUB_OFFLINE=1`. Check `df -h` of `HF_HOME`.",
    ),
    zh=Words(
        "`hf_transfer` 从 Hub 下载时失去连接",
        "该高速下载器同时打开很多连接,既不重试也不说明原因:线路不稳、代理(并非都支持)、镜像限制连接数,或磁盘已满。",
        "改用普通客户端下载,可续传并给出原因:`HF_HUB_ENABLE_HF_TRANSFER=0 hf download REPO`,反复执行直到完整,再以 "
        "`HF_HUB_OFFLINE=1` 启动。检查 `HF_HOME` 所在磁盘 `df -h`。",
    ),
)
SSL = Message(
    en=Words(
        "the encrypted connection to {host} was broken off",
        "The other side ended the TLS connection without a word, mostly during the handshake: a firewall or proxy "
        "that does not let this host through, or a proxy that is spoken to in another way than it wants "
        "(`https_proxy` that begins with `https://`).",
        "Test with `curl -sI https://{host} | head -1`. Behind a proxy: `export https_proxy=http://HOST:PORT` "
        "(http, also for https traffic); where the site is blocked use a mirror (`export "
        "HF_ENDPOINT=https://hf-mirror.com`) or download elsewhere and run with `HF_HUB_OFFLINE=1`; otherwise try "
        "again.",
    ),
    zh=Words(
        "与 {host} 的加密连接被中断",
        "对端没有说明就结束了 TLS 连接,多在握手阶段:防火墙或代理不放行该主机,或代理的写法不对(`https_proxy` "
        "以 `https://` 开头)。",
        "用 `curl -sI https://{host} | head -1` 测试。在代理后面:`export https_proxy=http://主机:端口`(https"
        " 流量也写 http);站点被屏蔽时使用镜像(`export HF_ENDPOINT=https://hf-mirror.com`),或在别处下载后用 "
        "`HF_HUB_OFFLINE=1` 运行;否则重试。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"ChunkedEncodingError: \('Connection broken: |IncompleteRead\(\d{1,15} bytes read|ReadTimeoutErr"
            r"or: HTTPSConnectionPool\(host='[\w.\-]{0,40}(?:huggingface\.co|hf\.co|modelscope\.cn|hf-mirror"
            r"\.com)|RemoteProtocolError: peer closed connection without sending complete message body",
            frame="[\\\\/](?:huggingface_hub|modelscope(?:_hub)?|datasets|fsspec|transformers)[\\\\/]",
            symptom_of=("HST", "CKP"),
        ),
        BROKEN,
        LIKELY,
    ),
    (
        Signature(
            r"SSLError: HTTPSConnectionPool\(host='(?P<host>[\w.\-]{3,80})'[^\n]{0,600}(?:SSLEOFError|UNEXPEC"
            r"TED_EOF|EOF occurred in violation of protocol|WRONG_VERSION_NUMBER)",
            symptom_of=("HST025", "HUB008", "TRK"),
        ),
        SSL,
        LIKELY,
    ),
    (
        Signature(r"RuntimeError: An error occurred while (?:down|up)loading using `hf_transfer`", symptom_of=("CKP",)),
        RUST,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
