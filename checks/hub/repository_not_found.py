"""The Hub knows no such repository, or does not show it.

## What it means
A slip in the name, a private repository without a token, or a local folder that does not exist: all three
look the same, for the Hub does not tell strangers what it hides.
## What it does to a run
Loading raises before anything is downloaded.
## What to do
Check the name, the token and the path.
## How it is found
In a log: by the exception of the client.
## References
https://huggingface.co/docs/huggingface_hub/quick-start#authentication
https://github.com/huggingface/huggingface_hub/blob/v1.0.0/src/huggingface_hub/utils/_http.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HUB012", name="repository-not-found", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Repository Not Found for url: https?://[\w.\-]{1,60}/(?:api/)?(?:models/|datasets/)?(?P<repo"
        r">[\w.\-]{1,96}(?:/(?!(?:resolve|tree|raw)/)[\w.\-]{1,96}?)?)(?:/|\.?$|\.\s)",
    ),
    Signature(r"OSError: (?P<repo>[^\s]{1,200}) is not a local folder and is not a valid model identifier"),
    Signature(r"ValueError: Invalid repository ID or local directory specified: '(?P<repo>[^'\n]{1,200})'"),
    Signature(r"RepositoryNotFoundError: ", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "no repository or folder `{repo}` for this user",
        "The Hub answers the same for a name that does not exist and for a private one that the sent "
        "token may not see; a name that was meant as a folder is looked for beside the working directory "
        "first.",
        "Check the spelling on https://huggingface.co and, for a private repository, the login: `hf auth "
        "whoami`, `hf auth login` or `HF_TOKEN`; for a local model give the absolute path of the folder.",
    ),
    zh=Words(
        "对该用户而言不存在仓库或目录 `{repo}`",
        "对于不存在的名称和所用 token 无权查看的私有仓库,Hub 的回答相同;原本指目录的名称会先在工作目录中查找。",
        "在 https://huggingface.co 上核对拼写;私有仓库则检查登录:`hf auth whoami`、`hf auth login` 或 "
        "`HF_TOKEN`;本地模型请给出目录的绝对路径。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Silent where the address is told without an exception: a program caught it and takes something else."""
    raised = any(hit.frames or hit.signature in (1, 2) for hit in hits) or hits.of(3)
    told = next((hit for hit in hits if hit.groups.get("repo")), None)
    if told is None or not raised:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        repo=told.groups["repo"],
    )
