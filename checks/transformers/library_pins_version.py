"""A library refuses the installed version of another one.

## What it means
The library checks at import which release of a dependency lies beside it, and stops outside the range it was
tested with.
## What it does to a run
The import raises ImportError; nothing runs.
## What to do
Install a release inside the range, or a newer release of the library that checks.
## How it is found
In a log: by the words of the check, which name range and version.
## References
https://github.com/huggingface/transformers/blob/v4.57.0/src/transformers/utils/versions.py
https://github.com/hiyouga/LlamaFactory/issues/5647
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF026", name="library-pins-version", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ImportError|PackageNotFoundError|DistributionNotFound): (?P<wanted>[\w.\-]{1,40}(?:"
        r"\[[\w,]{1,30}\])?[<>=!~][^\n]{1,200}?) is required for a normal functioning of this "
        r"module, but found (?P<name>[\w.\-]{1,40})==(?P<have>\d[\w.+]{0,28}\w)"
    ),
)


LOG_MESSAGE = Message(
    en=Words(
        "`{name}` {have} is installed, outside of the range that the importing library accepts",
        "A library checks this version when it is imported and stops: it accepts {range}.",
        'Install a version inside the range in this environment: `pip install "{wanted}"`, or '
        "upgrade the library that asks for it. The checks of LLaMA-Factory can be switched off "
        "with `DISABLE_VERSION_CHECK=1`, at your own risk.",
    ),
    zh=Words(
        "已安装的 `{name}` {have} 不在导入方所接受的范围内",
        "某个库在导入时检查该版本并停止:它接受 {range}。",
        '在此环境中安装范围内的版本:`pip install "{wanted}"`,或升级提出要求的库。LLaMA-Factory '
        "的检查可用 `DISABLE_VERSION_CHECK=1` 关闭,风险自负。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Give the range without the name that every part of it repeats."""
    wanted = hits.get("wanted") or ""
    name = hits.get("name") or ""
    accepted = ", ".join(f"`{each.strip()}`" for each in wanted.removeprefix(name).split(",") if each.strip())
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), name=name, have=hits.get("have") or "?",
        wanted=wanted, range=accepted,
    )  # fmt: skip
