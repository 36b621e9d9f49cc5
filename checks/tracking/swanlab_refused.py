"""SwanLab refuses the login, or the server of SwanLab.

## What it means
SwanLab writes to its cloud unless it is told otherwise, and asks for an API key for that. A batch job and a worker of
Ray have no terminal to type it.
## What it does to a run
The run ends where logging starts; with older releases it goes on and loses its metrics.
## What to do
Log in beforehand, or write to a local folder.
## How it is found
In a log: by SwanLab's messages.
## References
https://docs.swanlab.cn/en/api/py-login.html
https://docs.swanlab.cn/en/api/py-init.html
https://github.com/modelscope/ms-swift/issues/9689
https://github.com/SwanHubX/SwanLab/issues/946
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="TRK011", name="swanlab-refused", severity=ERROR, since="0.1")

KEY = Message(
    en=Words(
        "SwanLab does not take the API key",
        "The key is wrong or incomplete, belongs to another server than the one that is asked (a private "
        "deployment has its own), or the old one is kept in ~/.swanlab.",
        "Copy it anew from https://swanlab.cn/space/~/settings and run `swanlab login --relogin` (`--host URL` "
        "for a private server), or `export SWANLAB_API_KEY=...` for the process that logs (with Ray also for its "
        "workers); without a cloud: `export SWANLAB_MODE=local` or `offline`. `pip install -U swanlab` where the "
        "server is newer.",
    ),
    zh=Words(
        "SwanLab 不接受 API Key",
        "密钥错误或不完整,属于另一台服务器(私有化部署有自己的密钥),或 ~/.swanlab 中保存的是旧密钥。",
        "从 https://swanlab.cn/space/~/settings 重新复制,运行 `swanlab login --relogin`(私有部署加 `--host "
        "URL`),或为负责记录的进程 `export SWANLAB_API_KEY=...`(Ray 的 worker 也要);不用云端时 `export "
        "SWANLAB_MODE=local` 或 `offline`。服务端较新时 `pip install -U swanlab`。",
    ),
)
ASKS = Message(
    en=Words(
        "SwanLab has no API key, and no terminal to ask for one",
        "The mode is cloud (online) unless it is set, and nobody logged in for this user. In a batch job, in a "
        "container and in a worker of Ray nothing can be typed.",
        "`swanlab login` once on this machine, or `export SWANLAB_API_KEY=...` before the start (with Ray on "
        "every node); or write locally: `export SWANLAB_MODE=local` (or `offline`, `disabled`), and look with "
        "`swanlab watch`.",
    ),
    zh=Words(
        "SwanLab 没有 API Key,也没有终端可供输入",
        "未设置时模式为 cloud(online),而该用户尚未登录。批处理作业、容器和 Ray 的 worker 中无法输入。",
        "在本机执行一次 `swanlab login`,或启动前 `export SWANLAB_API_KEY=...`(Ray 的每个节点都要);或写到本地:`export"
        " SWANLAB_MODE=local`(或 `offline`、`disabled`),用 `swanlab watch` 查看。",
    ),
)
SERVER = Message(
    en=Words(
        "the server of SwanLab answers with an error ({code})",
        "The request reached it: 401 and 403 are the login, 404 a private server that is older or newer than the "
        "package, 5xx and 499 the service or a proxy in between.",
        "401/403: `swanlab login --relogin`. 404 with a private server: install the release of the package that "
        "it names. Otherwise try again, and to go on without it `export SWANLAB_MODE=local` or `offline` and "
        "`swanlab sync` later.",
    ),
    zh=Words(
        "SwanLab 服务器返回错误({code})",
        "请求已到达:401、403 是登录问题,404 是私有服务器与软件包版本不匹配,5xx 与 499 是服务或中间代理的问题。",
        "401/403:`swanlab login --relogin`。私有服务器的 404:安装其要求的软件包版本。其他情况先重试;不依赖云"
        "端时 `export SWANLAB_MODE=local` 或 `offline`,之后用 `swanlab sync` 上传。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"Failed to initialize the SwanLab client\. Please check if the provided API key|swanlab\.(?:\w{1"
            r",20}\.)?(?:ValidationError|AuthenticationError): "
        ),
        KEY,
        CONFIRMED,
    ),
    (
        Signature(
            r"Failed to initialize SwanLab in online mode: no (?:TTY is available|API key was provided)|swanl"
            r"ab\.(?:\w{1,20}\.)?KeyFileError: |api key not configured \(no-tty\), call `swanlab\.login"
        ),
        ASKS,
        CONFIRMED,
    ),
    (
        Signature(r"swanlab\.(?:\w{1,20}\.)?ApiError: [^\n]{0,300}?(?:'| )(?P<code>[45]\d\d)\b"),
        SERVER,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
