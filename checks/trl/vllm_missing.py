"""GRPO is to use vLLM, which is not installed.

## What it means
`use_vllm=True` needs vLLM in the interpreter that trains, in server mode too: TRL's client comes from it.
## What it does to a run
The trainer raises ImportError after the model was loaded.
## What to do
Install vLLM in a version that the installed TRL accepts, or set `use_vllm=False`.
## How it is found
`use_vllm` is true and the interpreter's packages hold no vLLM.
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/vllm_integration
"""

from __future__ import annotations

from doctor.checks.trl._helpers import installed, is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL023", name="vllm-missing", severity=ERROR, since="0.1", affects={"trl": ">=0.14"})

SIGNATURES = (
    Signature(r"ImportError: vLLM is not available and `use_vllm` is set to True"),
    Signature(
        r"ImportError: vLLM is not installed\. Please install it with `pip install (?:vllm|trl\[vllm\])`",
    ),
    Signature(r"vllm\.entrypoints\.\w{1,40}\.\w{1,40}' \(ModuleNotFoundError: No module named 'vllm'\)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`use_vllm=True`, and vLLM cannot be found by the interpreter that trains",
        "The package is not installed in this environment, or it lies in another one than the "
        "interpreter that ran the script.",
        "Install it through TRL's own extra, which picks a version that this TRL accepts: `pip install "
        '"trl[vllm]"`; or set `use_vllm=False`.',
    ),
    zh=Words(
        "`use_vllm=True`,但训练所用的解释器找不到 vLLM",
        "该环境没有安装此包,或它装在与运行脚本的解释器不同的环境里。",
        '通过 TRL 的 extra 安装,它会选择该 TRL 接受的版本:`pip install "trl[vllm]"`;或设置 `use_vllm=False`。',
    ),
)

LOG_COMMANDS = ('pip install "trl[vllm]"',)

MESSAGE = Message(
    en=Words(
        "`use_vllm=True`, and vLLM is not installed for the interpreter that trains",
        "TRL raises ImportError when the trainer is built, after the model was loaded.",
        "Install vLLM through TRL's own extra, which picks a version that this TRL accepts.",
    ),
    zh=Words(
        "`use_vllm=True`,但训练所用的解释器中没有安装 vLLM",
        "模型加载之后,构建训练器时 TRL 会抛出 ImportError。",
        "通过 TRL 的 extra 安装 vLLM,它会选择该 TRL 接受的版本。",
    ),
)


@check(PROBLEM)
def vllm_missing(training: Training, packages: Packages) -> Judgement:
    """Judge a proven absence only."""
    setting = training.get("use_vllm")
    if not is_grpo(training) or setting is None or not truth(setting.value):
        return
    if "vllm" in packages.distributions or packages.modules.get("vllm"):
        return
    if not packages.complete:
        yield Skip("the list of installed packages is not complete")
        return
    version = installed(packages, "trl")
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f'pip install "trl[vllm]=={version}"',),
    )
