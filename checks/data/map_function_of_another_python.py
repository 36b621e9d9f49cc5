"""The function of `map` was packed for another Python than the one that unpacks it.

## What it means
`datasets` hands functions to its worker processes by dill, which takes code objects apart. A dill older than the
Python that runs does not know the fields of code objects.
## What it does to a run
TypeError in each worker, then "One of the subprocesses has abruptly died".
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://github.com/uqfoundation/dill/releases
https://github.com/datajuicer/data-juicer/issues/691
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT049", name="map-function-of-another-python", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"TypeError: code\(\) argument (?P<number>\d{1,2}) must be (?P<want>\w{1,12}), not "
            r"(?P<got>\w{1,12})"
        ),
        Message(
            en=Words(
                "dill (or cloudpickle) cannot rebuild a function for this Python (code object, argument {number})",
                "The installed dill (or cloudpickle) is older than the Python release, or the two sides run "
                "different ones (a Ray or Spark cluster, a cache written by another Python).",
                "`pip install -U dill multiprocess datasets cloudpickle` in the environment that runs (dill "
                "0.3.6 or newer for Python 3.11), the same Python on all nodes, and delete the dataset cache; "
                "`num_proc=1` gets around it.",
            ),
            zh=Words(
                "dill(或 cloudpickle)无法为该 Python 重建函数(code 对象,第 {number} 个参数)",
                "所装 dill(或 cloudpickle)比该 Python 版本旧,或两侧 Python 不同(Ray、Spark 集群,或由其他 Python "
                "写出的缓存)。",
                "在运行的环境中 `pip install -U dill multiprocess datasets cloudpickle`(Python 3.11 需要 dill "
                "0.3.6 或更新),全部节点使用相同的 Python,并删除数据集缓存;`num_proc=1` 可以绕过。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
