"""The Hub does not let this run write where it wants to push.

## What it means
`push_to_hub` makes a repository and commits to it. The token may only read, or the repository belongs to a user or an
organisation that the account may not write for: often the example's author, whose name was left in the script.
## What it does to a run
The trainer raises while it is made, at the first save, or at the very end, when the model is to be pushed.
## What to do
Log in with a token that may write, and name a repository of your own; or do not push.
## How it is found
In a log: by refusals of addresses that only uploads use, and by the Hub's words for them.
## References
https://huggingface.co/docs/hub/security-tokens
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.push_to_hub
https://github.com/huggingface/huggingface_hub/issues/1312
https://github.com/huggingface/deep-rl-class/issues/508
https://github.com/katanaml/sparrow/issues/21
"""

from __future__ import annotations

import re

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="HUB019", name="upload-refused", severity=ERROR, since="0.1")

_REPO = r"https?://[\w.\-]{1,60}/(?:api/)?(?:models/|datasets/|spaces/)?(?P<repo>[\w.\-]{1,96}/[\w.\-]{1,96}?)"
_UPLOAD = r"(?:/(?:commit|preupload)/|\.git/info/lfs/objects/batch)"

SIGNATURES = (
    Signature(rf"40[13] Client Error: (?:Forbidden|Unauthorized) for url: {_REPO}{_UPLOAD}"),
    Signature(rf"^Cannot access content at: {_REPO}{_UPLOAD}"),
    Signature(r"40[13] Client Error: (?:Forbidden|Unauthorized) for url: https?://[\w.\-]{1,60}/api/repos/create\b"),
    Signature(r"^Cannot access content at: https?://[\w.\-]{1,60}/api/repos/create\b"),
    Signature(
        r"(?:You don't have the rights to create a \w{1,10} under (?:the|this) namespace(?: .(?P<owner>[\w.\-]{1,96}"
        r").)?|you must use a write token)",
    ),
    Signature(r"Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Hub does not let this run write to {target}",
        "The token may only read (or, fine-grained, not write there), nobody is logged in, or the name before the "
        "slash is not the account's own: it stayed from an example, is an organisation that lets the account only "
        "read, or is spelled otherwise (capitals count).",
        "See whose token it is: `hf auth whoami`. Make one with the right to write on "
        "https://huggingface.co/settings/tokens, `hf auth login` (and unset an old `HF_TOKEN`, which goes first). Push "
        'to a repository of your own: `hub_model_id="YOUR_NAME/MODEL"`, or the argument of `push_to_hub(...)`. Not '
        "needed at all: `push_to_hub=False`, and upload what was saved later with `hf upload YOUR_NAME/MODEL FOLDER`.",
    ),
    zh=Words(
        "Hub 不允许本次运行写入{target_zh}",
        "token 只有读权限(细粒度 token 则对该处没有写权限)、没有登录,或斜杠前的名称不是该账号自己的:沿用了示例中的名"
        "称、属于只给该账号读权限的组织,或大小写等拼写不同。",
        "查看 token 属于谁:`hf auth whoami`。在 https://huggingface.co/settings/tokens 创建具有写权限的 token,执行 "
        '`hf auth login`(并取消旧的 `HF_TOKEN`,它优先)。推送到自己的仓库:`hub_model_id="YOUR_NAME/MODEL"`,或 '
        "`push_to_hub(...)` 的参数。如果不需要推送:`push_to_hub=False`,之后用 `hf upload YOUR_NAME/MODEL FOLDER` 上传"
        "已保存的内容。",
    ),
)

LOG_COMMANDS = ("hf auth whoami",)

_OWNER = re.compile(r"under (?:the|this) namespace .([\w.\-]{1,96}).")


def explain(hits: Hits) -> Finding:
    """Name the repository, or the account or organisation, where a line does."""
    repo = hits.get("repo")
    owner = hits.get("owner") or next((name for hit in hits for name in _OWNER.findall(hit.text)), "")
    if repo:
        target, target_zh = f"the repository `{repo}`", f"仓库 `{repo}`"
    elif owner:
        target, target_zh = f"repositories of `{owner}`", f"属于 `{owner}` 的仓库"
    else:
        target, target_zh = "the repository that it pushes to", "所要推送的仓库"
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS, target=target,
        target_zh=target_zh,
    )  # fmt: skip
