"""The installed tensordict is not the one that veRL and the installed torch go with.

## What it means
veRL keeps its batches in TensorDicts, and their behaviour changed between releases: `key in batch`, locking, the
modules of torch that tensordict imports.
## What it does to a run
The import fails, or the first batch that is put together.
## What to do
Install the release that veRL names.
## How it is found
In a log: by tensordict's refusal of `in`, and by errors that its own files raise while they are imported.
## References
https://github.com/verl-project/verl/blob/main/setup.py
https://github.com/verl-project/verl/blob/main/docs/ascend_tutorial/quick_start/ascend_quick_start.rst
https://github.com/pytorch/tensordict/blob/v0.6.0/tensordict/base.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL040", name="tensordict-of-another-release", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"NotImplementedError: TensorDict does not support membership checks with the `in` keyword"),
    Signature(
        r"^ImportError: cannot import name '\w{1,60}' from 'torch[\w.]{0,100}'", frame=r"-packages[\\/]tensordict[\\/]"
    ),
    Signature(
        r"^AttributeError: module 'torch[\w.]{0,100}' has no attribute '\w{1,60}'",
        frame=r"-packages[\\/]tensordict[\\/]",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the installed tensordict is of another release than this veRL and this torch",
        "Old releases refuse `key in batch` and import parts of torch that newer ones do not have; new ones want a "
        "newer torch. pip takes any release unless veRL's own requirements were installed, and on ARM there were no "
        "wheels for some.",
        "Install the one that veRL's setup.py names: `tensordict>=0.8.0,<=0.10.0,!=0.9.0` in newer releases, "
        "`tensordict==0.6.2` in those that go with vLLM up to 0.8. Where no wheel exists (ARM): `pip install "
        "git+https://github.com/pytorch/tensordict@v0.6.2`.",
    ),
    zh=Words(
        "所装的 tensordict 与此 veRL 及此 torch 不属于同一时期",
        "旧版不支持 `key in batch`,并会导入新版 torch 中已没有的部分;新版则要求更新的 torch。若没有按 veRL 的依赖安"
        "装,pip 会装任意版本;ARM 上部分版本没有 wheel。",
        "安装 veRL 的 setup.py 所指的版本:较新的为 `tensordict>=0.8.0,<=0.10.0,!=0.9.0`,配 vLLM 0.8 及以前的为 "
        "`tensordict==0.6.2`。没有 wheel 时(ARM):`pip install "
        "git+https://github.com/pytorch/tensordict@v0.6.2`。",
    ),
)
