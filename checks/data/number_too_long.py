"""A number in an answer or a file has more digits than Python turns into an integer.

## What it means
Since 3.11 (and late releases of the versions before) Python refuses to turn text of more than 4300 digits into an
integer, and the reverse, so that a hostile text cannot stall a program.
## What it does to a run
A reward function that calls `int(answer)` (or evaluates it) ends the step when a model writes digits without end,
which models in training do.
## What to do
Catch ValueError in the reward function, or look at the length first.
## How it is found
In a log: by Python's own message.
## References
https://docs.python.org/3/library/stdtypes.html#int-max-str-digits
https://github.com/NovaSky-AI/SkyThought/pull/28
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="DAT050", name="number-too-long", severity=ERROR, since="0.1")

DIGITS = Message(
    en=Words(
        "a text with more than {limit} digits is to become an integer, which Python refuses",
        "In a training it is mostly a completion that repeats digits without end and reached `int(...)`, `eval` or "
        "sympy "
        "in a reward function or grader: one bad answer. A file of data with such a number reads the same.",
        "Treat it as wrong instead of failing: `try: value = int(text) except (ValueError, OverflowError): return "
        "0.0`, or check `len(text) < 1000` first. `sys.set_int_max_str_digits(0)` takes the limit away, and lets "
        "such answers cost minutes.",
    ),
    zh=Words(
        "一段超过 {limit} 位数字的文本要转换成整数,被 Python 拒绝",
        "训练中多半是不断重复数字的回答进入了奖励函数或评分器的 `int(...)`、`eval` 或 sympy:只是一个坏答案。含有这种数"
        "字的"
        "数据文件表现相同。",
        "判为错误而不是让程序失败:`try: value = int(text) except (ValueError, OverflowError): return 0.0`,或先检查"
        " `len(text) < 1000`。`sys.set_int_max_str_digits(0)` 可取消限制,但这样的答案会耗费数分钟。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"ValueError: Exceeds the limit \((?P<limit>\d{1,9})(?: digits)?\) for integer string conversion"),
        DIGITS,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
