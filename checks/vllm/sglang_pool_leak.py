"""SGLang found that its pool of KV-cache slots does not add up.

## What it means
When a scheduler is idle, all slots must be free or in the prefix cache. It counts them, and ends itself when some are
missing or counted twice: the release has a bug in the way this combination of options hands slots out.
## What it does to a run
The server ends (older releases only warn), often at the end of a rollout, when it becomes idle.
## What to do
Take another release, or leave out the option that brings the bug in.
## How it is found
In a log: by the words of the check.
## References
https://github.com/sgl-project/sglang/issues/11970
https://github.com/sgl-project/sglang/issues/6888
https://github.com/sgl-project/sglang/issues/7130
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL089", name="sglang-pool-leak", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:ValueError|AssertionError|RuntimeError): (?P<pool>(?:"
        r"token_to_kv_pool_allocator|req_to_token_pool|\w{0,30}pool\w{0,20}"
        r") memory leak detected|Mem Leak Detected)!",
        keywords=("emory leak detected", "Mem Leak Detected"),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "SGLang's own check found slots of its KV cache that nobody holds or that are held twice",
        "It is no lack of memory: this release hands slots out wrongly under some combination of options, and ends the "
        "server when it becomes idle and the sum is not right. Known cases: releases around 0.5.3.post3, pages above "
        "one token with speculative decoding or `--enable-mixed-chunk`, hybrid (Mamba) models with the prefix cache.",
        "Upgrade SGLang, or go back to the release before the one that brought it. Until then leave the special option "
        "out: `--page-size 1`, no `--enable-mixed-chunk`, no speculative decoding, `--disable-radix-cache`, or "
        "`--disable-overlap-schedule`, one at a time.",
    ),
    zh=Words(
        "SGLang 的自检发现 KV cache 中有无人持有或被重复持有的槽位",
        "这不是显存不足:该版本在某些选项组合下分配槽位有误,在空闲且总数对不上时结束服务。已知情形:0.5.3.post3 前后的版"
        "本,page 大于 1 且使用推测解码或 `--enable-mixed-chunk`,混合(Mamba)模型使用前缀缓存。",
        "升级 SGLang,或退回引入该问题之前的版本。在此之前逐一去掉特殊选项:`--page-size 1`,不用 "
        "`--enable-mixed-chunk`,不用推测解码,`--disable-radix-cache`,或 `--disable-overlap-schedule`。",
    ),
)
