"""Unsloth does not fit the installed Transformers or TRL.

## What it means
Unsloth rewrites source code of Transformers and TRL when it is imported; a release of these that came out
after it has other names, and the rewritten code fails with NameError, ImportError or a refused version.
## What it does to a run
`import unsloth`, or the first model or trainer made with it, raises.
## What to do
Upgrade unsloth and unsloth_zoo together, or install the Transformers and TRL that their metadata name.
## How it is found
In a log: by exceptions whose innermost library frame is Unsloth's.
## References
https://docs.unsloth.ai/get-started/install-and-update
https://github.com/unslothai/unsloth/blob/main/pyproject.toml
https://github.com/unslothai/unsloth/issues/3415
https://github.com/unslothai/unsloth/issues/3057
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF030", name="unsloth-of-another-time", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^NameError: name '(?P<name>\w{1,80})' is not defined", frame=r"unsloth(?:_zoo)?[\\/]"),
    Signature(
        r"^(?:ImportError|ModuleNotFoundError): (?:cannot import name|No module named) "
        r"'(?P<name>(?!unsloth)[\w.]{1,120})'",
        frame=r"unsloth(?:_zoo)?[\\/]",
    ),
    Signature(
        r"^AttributeError: (?:module|type object) '(?:transformers|trl|peft|torch)[\w.]{0,100}' "
        r"has no attribute '(?P<name>\w{1,80})'",
        frame=r"unsloth(?:_zoo)?[\\/]",
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "Unsloth does not find `{name}` in the packages installed beside it",
        "Unsloth rewrites the source of Transformers and TRL when it is imported; these are of "
        "another version than the one it was made for.",
        "Upgrade both of its packages: `pip install -U --no-deps unsloth unsloth_zoo`; if that "
        "does not help, run `pip check`, which tells the ranges of Transformers and TRL that this "
        "release of Unsloth asks for, install versions inside them, and restart the process.",
    ),
    zh=Words(
        "Unsloth 在同环境的包中找不到 `{name}`",
        "Unsloth 在导入时改写 Transformers 和 TRL 的源码;它们与其适配的版本不同。",
        "升级它的两个包:`pip install -U --no-deps unsloth unsloth_zoo`;仍不行则运行 `pip check`,它会给出此 "
        "Unsloth 版本所要求的 Transformers 和 TRL 范围,安装范围内的版本,并重启进程。",
    ),
)
