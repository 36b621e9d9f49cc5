"""A compiled extension counted the references to None wrongly, and Python ends itself.

## What it means
Before Python 3.12 `None` is counted like any object. An extension that gives one reference back too often lets the
count run down, slowly, until the interpreter sees None go and stops.
## What it does to a run
It ends in the middle of training with a fatal error whose place has nothing to do with the mistake.
## What to do
Use Python 3.12 or newer, where None cannot go, and upgrade the compiled packages.
## How it is found
In a log, by the interpreter's own message.
## References
https://peps.python.org/pep-0683/
https://github.com/verl-project/verl/issues/6449
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT027", name="refcount-of-none", severity=ERROR, since="0.1", affects={"python": "<3.12"})

SIGNATURES = (Signature(r"Fatal Python error: none_dealloc: deallocating None"),)

LOG_MESSAGE = Message(
    en=Words(
        "Python ended itself: an extension dropped a reference to None too often",
        "Some compiled package gives a reference to `None` back that it never took, a little with each call, until the "
        "count is used up. The place of the error is that of the last one and not of the mistake.",
        "Use Python 3.12 or newer, where `None` is immortal. Else upgrade the compiled packages that the loop calls "
        "most (tokenizers, image and data readers, Ray, pyarrow); `python -X faulthandler` shows who was at work.",
    ),
    zh=Words(
        "Python 自行终止:某个扩展多次错误释放了 None 的引用",
        "某个编译扩展每次调用都多归还一次 `None` 的引用,直到计数耗尽。报错的位置只是最后一次,并非出错之处。",
        "使用 Python 3.12 或更新版本(其中 `None` 是不朽对象)。"
        "否则升级循环中调用最多的编译包(tokenizers、图像与数据读取、"
        "Ray、pyarrow);`python -X faulthandler` 可显示当时在运行的代码。",
    ),
)
