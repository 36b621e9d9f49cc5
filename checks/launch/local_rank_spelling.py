"""The launcher passes --local-rank and the script knows --local_rank only.

## What it means
torch.distributed.launch of torch 2 spells the option with a hyphen; scripts written before declare it with an
underscore.
## What it does to a run
Every rank ends while it reads its arguments.
## What to do
Start with torchrun and read LOCAL_RANK.
## How it is found
argparse's message.
## References
https://github.com/speechbrain/speechbrain/issues/2868
https://docs.pytorch.org/docs/stable/distributed.html#launch-utility
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH019", name="local-rank-spelling", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"error: unrecognized arguments: [^\n]{0,300}?--local-rank=\d{1,4}"),
    Signature(r"error: unrecognized arguments: [^\n]{0,300}?--local_rank=\d{1,4}"),
    Signature(r"KeyError: [\"']Override 'local[-_]rank' not found in: "),
)

LOG_MESSAGE = Message(
    en=Words(
        "the launcher's --local-rank argument is unknown to the script",
        "`python -m torch.distributed.launch` passes the local rank as an option, with a hyphen "
        "since torch 2.0 (`--local-rank`) and with an underscore before. The script declares only "
        "the other spelling, or none.",
        'Start with `torchrun`, which passes nothing, and read `int(os.environ["LOCAL_RANK"])`; or '
        'declare both spellings: `parser.add_argument("--local-rank", "--local_rank", type=int)`; or '
        "add `--use-env`.",
    ),
    zh=Words(
        "脚本不认识启动器传入的 --local-rank 参数",
        "`python -m torch.distributed.launch` 以参数传递 local rank:torch 2.0 起用连字符"
        "(`--local-rank`),之前用下划线。脚本只声明了另一种写法,或都没有。",
        '改用 `torchrun`(不传参数)并读取 `int(os.environ["LOCAL_RANK"])`;或同时声明两种写法'
        ':`parser.add_argument("--local-rank", "--local_rank", type=int)`;或加上 `--use-env`。',
    ),
)
