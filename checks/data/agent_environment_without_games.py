"""The text environment of an agent run found no game.

## What it means
ALFWorld counts the games below its data folder when an environment is made. It counted none: `alfworld-download` was
not run on this machine or by this user, or `ALFWORLD_DATA` names another folder.
## What it does to a run
Workers of the environment hang or die with an empty list (`IndexError`) while the trainer (verl-agent, RAGEN and their
relatives) waits for them.
## What to do
Download the games on every machine that runs workers, and export the folder to them.
## How it is found
In a log: by the count that the environment prints.
## References
https://github.com/alfworld/alfworld/issues/104
https://github.com/alfworld/alfworld/issues/95
https://github.com/alfworld/alfworld/blob/master/README.md
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT061", name="agent-environment-without-games", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Overall we have 0 games in split=(?P<split>\w{1,60})"),)

LOG_MESSAGE = Message(
    en=Words(
        "the ALFWorld environment found no game for `{split}`",
        "Its data were not downloaded here, or `ALFWORLD_DATA` points elsewhere (default `~/.cache/alfworld`, another "
        "one for each user and container). Workers then hang or end with an empty list while the trainer waits for "
        "them.",
        "`alfworld-download -f` on every machine that runs workers, then look: `ls "
        "${{ALFWORLD_DATA:-~/.cache/alfworld}}/json_2.1.1`. Export `ALFWORLD_DATA` before `ray start`, so that the "
        "workers inherit it. Games without `game.tw-pddl` and those marked unsolvable do not count.",
    ),
    zh=Words(
        "ALFWorld 环境没有找到 `{split}` 的任何游戏",
        "本机没有下载其数据,或 `ALFWORLD_DATA` 指向别处(默认 `~/.cache/alfworld`,每个用户和容器各不相同)。此时 worker "
        "会卡住或因空列表退出,而训练端仍在等待。",
        "在每台运行 worker 的机器上执行 `alfworld-download -f`,再检查 `ls "
        "${{ALFWORLD_DATA:-~/.cache/alfworld}}/json_2.1.1`。在 `ray start` 之前导出 `ALFWORLD_DATA`,使 worker 继承它。"
        "没有 `game.tw-pddl` 的游戏以及标为不可解的游戏不计入。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Where it happens in a run that went on, the finding is dropped by itself."""
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, split=hits.get("split")
    )
