"""A client made for httpx below 0.28 meets a newer httpx.

## What it means
httpx 0.28 removed the argument `proxies` of its clients. openai before 1.55.3, anthropic before 0.40, groq, cohere,
and older releases of gradio and litellm still pass it.
## What it does to a run
The first client that is made raises, even where no proxy is set.
## What to do
Upgrade the library that passes it, or install httpx below 0.28.
## How it is found
In a log: by the exception.
## References
https://github.com/encode/httpx/releases/tag/0.28.0
https://github.com/openai/openai-python/issues/1902
https://github.com/openai/openai-python/releases/tag/v1.55.3
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="PYT045", name="openai-older-than-httpx", severity=ERROR, since="0.1")

PROXIES = Message(
    en=Words(
        "the installed library passes `proxies`, which httpx 0.28 and newer does not take",
        "The argument was removed from httpx's clients in 0.28. Which proxy is set does not matter: the call "
        "itself fails. openai before 1.55.3 and other clients of that age pass it.",
        "Upgrade the library in whose file the call stands: `pip install -U openai` (anthropic, litellm, gradio "
        "...), or keep the older httpx: `pip install 'httpx<0.28'`.",
    ),
    zh=Words(
        "已安装的库传入 `proxies`,而 httpx 0.28 及以后不接受它",
        "httpx 0.28 从客户端中删除了该参数。与设置了哪个代理无关:调用本身就失败。1.55.3 之前的 openai 以及同"
        "期的其他客户端会传入它。",
        "升级发出该调用的库:`pip install -U openai`(anthropic、litellm、gradio 等),或使用旧的 httpx:`pip "
        "install 'httpx<0.28'`。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"TypeError: (?:(?:Async|Sync)?(?:HttpxClientWrapper|Client)\.)?__init__\(\) got an unexpected ke"
            r"yword argument 'proxies'",
            frame=r"[\\/](?:openai|anthropic|groq|cohere|litellm|gradio|gradio_client|langchain\w*|mistralai|together|httpx)[\\/]",
        ),
        PROXIES,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
