"""vLLM before 0.12 reads a tokenizer attribute that transformers 5 dropped.

## What it means
vLLM up to 0.11.2 reads `all_special_tokens_extended` of the tokenizer. Transformers 5.0 has no such
attribute.
## What it does to a run
`AttributeError: ... has no attribute all_special_tokens_extended` while the engine loads its tokenizer.
## What to do
Install transformers older than 5, or a vLLM that supports it.
## How it is found
The installed versions, and what the command imports. vLLM's own requirement forbids the pair from 0.11.1 on only.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/transformers_utils/tokenizer.py
https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

from doctor.checks.trl._helpers import imports_vllm
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(
    id="VLL020",
    name="transformers-5-tokenizers",
    severity=ERROR,
    since="0.1",
    affects={"vllm": "<0.12", "transformers": ">=5.0.0"},
)

SIGNATURES = (Signature(r"has no attribute '?all_special_tokens_extended"),)

LOG_MESSAGE = Message(
    en=Words(
        "this vLLM reads `all_special_tokens_extended`, which transformers 5 dropped",
        "vLLM before 0.12 wraps the tokenizer with attributes that transformers removed in 5.0.0, so "
        "every start of the engine fails.",
        "Install `'transformers<5'`, or vLLM 0.12.0 or newer (0.24 and newer are made for transformers 5).",
    ),
    zh=Words(
        "此 vLLM 会读取 `all_special_tokens_extended`,而 transformers 5 已移除它",
        "0.12 之前的 vLLM 包装分词器时会用到 transformers 5.0.0 移除的属性,因此引擎每次启动都会失败。",
        "安装 `'transformers<5'`,或 vLLM 0.12.0 及以上版本(0.24 起支持 transformers 5)。",
    ),
)

LOG_COMMANDS = ("pip install 'transformers<5'",)

MESSAGE = Message(
    en=Words(
        "vLLM {vllm} cannot load tokenizers of transformers {transformers}",
        "It reads `all_special_tokens_extended`, which transformers 5.0 has dropped, and ends with an "
        "AttributeError while the engine starts.",
        "Install transformers older than 5, or vLLM 0.24.0 or newer, which is made for transformers 5.",
    ),
    zh=Words(
        "vLLM {vllm} 无法加载 transformers {transformers} 的 tokenizer",
        "它读取 transformers 5.0 已移除的 `all_special_tokens_extended`,引擎启动时会以 AttributeError 退出。",
        "安装低于 5 的 transformers,或为 transformers 5 而做的 vLLM 0.24.0 及以上版本。",
    ),
)


@check(PROBLEM)
def transformers_5_tokenizers(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """The engine has compared both versions; a command that does without vLLM is left alone."""
    imported = imports_vllm(launch, training, script)
    if imported is False:
        return
    vllm, transformers = packages.version("vllm"), packages.version("transformers")
    yield found(
        PROBLEM,
        MESSAGE,
        vllm=vllm,
        transformers=transformers,
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        commands=("pip install 'transformers<5'",),
        evidence=(Evidence("installed packages", f"vllm {vllm}, transformers {transformers}"),),
    )
