"""The model or dataset brings code of its own, and nobody allowed it to run.

## What it means
A repository can hold Python files that define its architecture. They are run only with
`trust_remote_code=True`; without a terminal there is nobody to ask.
## What it does to a run
Loading raises ValueError.
## What to do
Read the code, then pass `trust_remote_code=True` everywhere the model is loaded.
## How it is found
In a log: by the exception of Transformers or vLLM.
## References
https://huggingface.co/docs/transformers/models#custom-models
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/dynamic_module_utils.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF016", name="remote-code-not-trusted", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: (?:The repository (?:for )?|Loading )(?P<model>[^\s]{1,200}) (?:contains custom"
        r" code which must be executed|requires you to execute)",
    ),
    Signature(r"ValueError: Loading this model requires you to execute custom code"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a model with code of its own was loaded without `trust_remote_code=True`",
        "Its repository defines the architecture in Python files, which run on this machine only where "
        "that is allowed.",
        "After reading the code pass `trust_remote_code=True`: to `from_pretrained`, in TRL with "
        '`model_init_kwargs={{"trust_remote_code": True}}` or `--trust_remote_code`, in vLLM '
        "`--trust-remote-code`, in veRL `trust_remote_code=True`. An architecture that newer "
        "Transformers has built in needs only an upgrade.",
    ),
    zh=Words(
        "加载自带代码的模型时没有设置 `trust_remote_code=True`",
        "其仓库用 Python 文件定义架构,只有获得允许才会在本机运行。",
        "阅读代码后传入 `trust_remote_code=True`:传给 `from_pretrained`;TRL 中用 "
        '`model_init_kwargs={{"trust_remote_code": True}}` 或 `--trust_remote_code`;vLLM 中用 '
        "`--trust-remote-code`;veRL 中用 `trust_remote_code=True`。若新版 Transformers 已内置该架构,升级"
        "即可。",
    ),
)
