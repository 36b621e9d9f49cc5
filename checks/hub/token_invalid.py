"""The Hub does not accept the token that was sent.

## What it means
The token was revoked or has expired, was copied with a line end or quotes, or an old one in `HF_TOKEN`
hides the good one of `hf auth login`.
## What it does to a run
Downloads, also of public models, and uploads end with 401 or an illegal header.
## What to do
Log in anew, and mend or unset HF_TOKEN.
## How it is found
In a log: by the words of the client.
## References
https://huggingface.co/docs/hub/security-tokens
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hftoken
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="HUB013", name="token-invalid", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Invalid user token\."),
    Signature(r"Invalid credentials in Authorization header"),
    Signature(
        r"(?:LocalProtocolError|InvalidHeader)[^\n]{0,40}(?:Illegal header value b'Bearer|[Ii]nvalid"
        r" [^\n]{0,80}header value[^\n]{0,20}Bearer)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the Hub refused the token of this run",
        "It is expired, revoked, cut or followed by a line end. `HF_TOKEN` goes "
        "before what `hf auth login` has stored, so an old value in the environment hides a good login.",
        "Test with `hf auth whoami`; make a token with the needed right (write, to upload) on "
        "https://huggingface.co/settings/tokens, log in again with `hf auth login`, and set `HF_TOKEN` "
        "anew without quotes or a line end, or unset it.",
    ),
    zh=Words(
        "Hub 拒绝了本次运行的 token",
        "它已过期、被撤销、被截断或末尾带有换行。`HF_TOKEN` 优先于 `hf auth login` 保存的登"
        "录,环境中的旧值会遮住有效的登录。",
        "用 `hf auth whoami` 测试;在 https://huggingface.co/settings/tokens 创建具有所需权限(上传需写权限"
        ")的 token,用 `hf auth login` 重新登录,并重新设置不带引号和换行的 `HF_TOKEN`,或取消设置。",
    ),
)

LOG_COMMANDS = ("hf auth whoami",)
