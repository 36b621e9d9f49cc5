"""The server of Weights & Biases refuses the key, or the project.

## What it means
The key is cut, of another server, or revoked; or its account may not write to the entity that was named.
## What it does to a run
`wandb.init` raises when training starts.
## What to do
Log in with a fresh key, and name an entity that the account belongs to.
## How it is found
In a log: by wandb's exception.
## References
https://docs.wandb.ai/support/how_do_i_deal_with_permission_errors
https://wandb.ai/authorize
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRK006", name="wandb-key-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"API key must (?:be 40 characters long, yours was|have 40\+ characters, has) (?P<length>\d{1,4})"),
    Signature(r"(?:AuthenticationError|wandb: ERROR)[^\n]{0,20}API key verification failed"),
    Signature(
        r"(?:CommError|wandb: ERROR)[^\n]{0,60}(?:permission denied|It appears that you do not have"
        r" permission|entity [^\n]{1,80} not found during upsertBucket|user is not logged in|returned"
        r" error 40[13])",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Weights & Biases refused the key or the project of this run",
        "The key has the wrong length, is revoked or belongs to another server (`WANDB_BASE_URL`), or "
        "its account may not write to the entity of `WANDB_ENTITY` / `WANDB_PROJECT`.",
        "Copy the key anew from https://wandb.ai/authorize and run `wandb login --relogin`; check `wandb "
        "status`, `WANDB_API_KEY`, `WANDB_BASE_URL` and that `WANDB_ENTITY` is your user or a team of "
        "yours; or use `WANDB_MODE=offline`.",
    ),
    zh=Words(
        "Weights & Biases 拒绝了本次运行的密钥或项目",
        "密钥长度不对、已被撤销或属于另一台服务器(`WANDB_BASE_URL`),或其账号无权写入 `WANDB_ENTITY` / "
        "`WANDB_PROJECT` 指定的实体。",
        "从 https://wandb.ai/authorize 重新复制密钥并运行 `wandb login --relogin`;检查 `wandb status`、"
        "`WANDB_API_KEY`、`WANDB_BASE_URL`,以及 `WANDB_ENTITY` 是否为你的用户或团队;或使用 "
        "`WANDB_MODE=offline`。",
    ),
)
