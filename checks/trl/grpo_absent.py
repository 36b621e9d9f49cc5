"""The installed TRL has no GRPOTrainer.

## What it means
GRPO came to TRL in 0.14.0. pip installs an older one without a word where the interpreter is too old for
it: Python 3.8 gets TRL 0.11.
## What it does to a run
`from trl import GRPOTrainer` raises an ImportError as soon as the script starts.
## What to do
Install TRL 0.14.0 or newer, in an interpreter of Python 3.9 or newer.
## How it is found
The script imports GRPO's classes and the installed TRL is older than 0.14.0.
In a log: by the import that fails.
## References
https://github.com/huggingface/trl/releases/tag/v0.14.0
https://pypi.org/project/trl/0.14.0/
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Where, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.script import Script

PROBLEM = Problem(id="TRL005", name="grpo-trainer-absent", severity=ERROR, since="0.1", affects={"trl": "<0.14"})

SIGNATURES = (
    Signature(
        r"ImportError: cannot import name '(?P<name>GRPO(?:Trainer|Config))' from 'trl'"
        r"(?! \([^)\n]{0,300}(?<!__init__)\.py\))"
    ),
    Signature(r"AttributeError: module '?trl'? has no attribute '?(?P<name>GRPO(?:Trainer|Config))\b"),
)

LOG_CONFIDENCE = LIKELY
LOG_MESSAGE = Message(
    en=Words(
        "the installed TRL has no `{name}`",
        "GRPO came with TRL 0.14.0; what is installed in this environment is older (or `trl` is "
        "another file or folder on the path).",
        "Upgrade: `pip install -U trl` (0.14 or newer, with the Transformers that it requires), "
        'and look which one is found: `python -c "import trl; print(trl.__version__, '
        'trl.__file__)"`.',
    ),
    zh=Words(
        "已安装的 TRL 没有 `{name}`",
        "GRPO 自 TRL 0.14.0 起提供;此环境中安装的版本更旧(或 `trl` 是路径上的其他文件或目录)。",
        "升级:`pip install -U trl`(0.14 或更新,以及其所需的 Transformers),并查看找到的是哪一个:"
        '`python -c "import trl; print(trl.__version__, trl.__file__)"`。',
    ),
)

MESSAGE = Message(
    en=Words(
        "TRL {version} has no `{name}`; it came in 0.14.0",
        "The import fails as soon as the script starts. pip chooses such an old TRL without a word when "
        "the interpreter is too old for a newer one (Python 3.8).",
        "Install TRL 0.14.0 or newer in an interpreter of Python 3.9 or newer.",
    ),
    zh=Words(
        "TRL {version} 没有 `{name}`;它自 0.14.0 起才有",
        "脚本一启动,导入就会失败。当解释器过旧(Python 3.8)时,pip 会不加提示地选择这样旧的 TRL。",
        "在 Python 3.9 或更新的解释器中安装 TRL 0.14.0 或更新版本。",
    ),
)


NAMES = ("GRPOTrainer", "GRPOConfig")


@check(PROBLEM, requires=("PYT001",))
def grpo_absent(script: Script, packages: Packages) -> Judgement:
    """Judge the import; the engine has compared the version."""
    for name in NAMES:
        place = script.imports.get(f"trl.{name}")
        if place is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                where=Where(file=place.file, line=place.line, column=place.column),
                commands=('pip install "trl>=0.14"',),
                evidence=(Evidence(place.file, f"import of trl.{name}", place.line),),
                name=name,
                version=installed(packages, "trl"),
            )
            return
