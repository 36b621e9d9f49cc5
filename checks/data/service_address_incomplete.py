"""A request was sent to an address without `http://`, or to none at all.

## What it means
Reward functions, search tools and judges call a server by an address of the configuration. It is empty, `None`, a
placeholder that nobody filled in, or lacks its scheme; with a controller (FastChat) an empty address means that no
worker registered.
## What it does to a run
`requests` raises MissingSchema, `httpx` UnsupportedProtocol, at the first reward or tool call.
## What to do
Start the server first, and give its address whole: `http://host:port`.
## How it is found
In a log: by the exception and the address it quotes.
## References
https://requests.readthedocs.io/en/latest/api/#requests.exceptions.MissingSchema
https://github.com/Agent-RL/ReCall/issues/70
https://github.com/openreasoner/openr/issues/18
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.redact import redact_text
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT062", name="service-address-incomplete", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"MissingSchema: Invalid URL '(?P<url>[^'\n]{0,200})': No scheme supplied"),
    Signature(r"UnsupportedProtocol: Request URL is missing an 'http://' or 'https://' protocol"),
)

HUB = Message(
    en=Words(
        "the address of the model hub has no `https://`",
        "Downloads go to the address in `HF_ENDPOINT`, which was set without its scheme (or is empty but set).",
        "`export HF_ENDPOINT=https://hf-mirror.com` (or your own mirror, whole), or `unset HF_ENDPOINT`; the same in "
        "the job script, in a container's `-e` and before `ray start`.",
    ),
    zh=Words(
        "模型 Hub 的地址缺少 `https://`",
        "下载使用 `HF_ENDPOINT` 中的地址,而它没有写协议(或设置为空)。",
        "`export HF_ENDPOINT=https://hf-mirror.com`(或写全自己的镜像地址),或 `unset HF_ENDPOINT`;作业脚本、容器的 `-e` "
        "以及 `ray start` 之前也要一致。",
    ),
)

EMPTY = Message(
    en=Words(
        "a server was called, and its address is empty: `{url}`",
        "What stands before the path was never set: an option or environment variable of the reward, search or judge "
        "server, or the answer of a controller with which no worker has registered (not started, still loading, or of "
        "another model name).",
        "Start the server and wait until it answers: `curl -s http://HOST:PORT/`. Then set its address whole, "
        "`http://HOST:PORT`, in the configuration, and export variables before `ray start`, so that workers have them. "
        "With a controller look which workers it lists, and use their model name.",
    ),
    zh=Words(
        "调用了某个服务,但其地址为空:`{url}`",
        "路径之前的部分没有设置:奖励、搜索或评审服务的选项或环境变量缺失,或控制器中没有 worker 注册(未启动、仍在加载或"
        "模型名称不同)。",
        "先启动服务并等到有应答:`curl -s http://HOST:PORT/`。然后在配置中写全地址 `http://HOST:PORT`,环境变量要在 `ray "
        "start` 之前导出,使 worker 能够得到。使用控制器时,查看它列出了哪些 worker,并使用相同的模型名称。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a server was called by an address without `http://`: `{url}`",
        "`{url}` was taken from an option, a variable or the code: a placeholder that nobody filled in, a host and "
        "port without scheme, or a local path where the option is for a server.",
        "Write the address whole, `http://HOST:PORT`, where the innermost frame of your own code takes it from, and "
        "look that the server answers: `curl -s http://HOST:PORT/`. Where a local file was meant, use the option for "
        "files, or a release that accepts a path there.",
    ),
    zh=Words(
        "调用某个服务所用的地址缺少 `http://`:`{url}`",
        "`{url}` 来自某个选项、变量或代码:没有填写的占位符、不带协议的主机和端口,或在服务地址选项中填了本地路径。",
        "在你代码最内层栈帧取得该地址的地方写全:`http://HOST:PORT`,并确认服务有应答:`curl -s http://HOST:PORT/`。若本意"
        "是本地文件,请用相应的文件选项,或使用接受路径的版本。",
    ),
)

UNNAMED = Message(
    en=Words(
        "a server was called by an address that does not begin with `http://`",
        "The address comes from an option, an environment variable or the code: it is empty, a placeholder that nobody "
        "filled in, or a host and port without scheme. The exception does not quote it.",
        "See in your own innermost frame where the address comes from (`base_url`, `OPENAI_BASE_URL`, the URL of the "
        "reward or search server), and write it whole: `http://HOST:PORT`. Export variables before `ray start`. Look "
        "that the server answers: `curl -s http://HOST:PORT/`.",
    ),
    zh=Words(
        "调用某个服务所用的地址不以 `http://` 开头",
        "地址来自某个选项、环境变量或代码:为空、是没有填写的占位符,或是不带协议的主机和端口。该异常没有写出地址。",
        "在你代码的最内层栈帧查看地址的来源(`base_url`、`OPENAI_BASE_URL`、奖励或搜索服务的 URL),并写全:`http://"
        "HOST:PORT`。环境变量要在 `ray start` 之前导出。确认服务有应答:`curl -s http://HOST:PORT/`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """What stands before the first slash tells an address that was never set from one that lacks its scheme."""
    url = hits.get("url")
    if any("huggingface_hub" in frame for hit in hits for frame in hit.frames):
        message = HUB
    elif url is None:
        message = UNNAMED
    else:
        message = EMPTY if url.partition("/")[0] in ("", "None", "null") else LOG_MESSAGE
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message in (HUB, UNNAMED) else CONFIRMED,
        url=redact_text(url or ""),
    )
