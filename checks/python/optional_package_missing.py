"""What was asked for needs a package that is not installed.

## What it means
Libraries leave out what only some users need, and look for it when it is asked for: math-verify for a reward,
optimum for GPTQ, kernels, rich, scipy, FastAPI for a server.
## What it does to a run
ImportError with the name of the package, when the script starts or when the feature is first used.
## What to do
Install it into the environment of the interpreter that runs, on every node.
## How it is found
In a log: by the library's own sentence, which names the package.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/rewards/accuracy_rewards.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/utils/import_utils.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/dynamic_module_utils.py
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hit, Hits, Signature

PROBLEM = Problem(id="PYT030", name="optional-package-missing", severity=ERROR, since="0.1")

#: packages whose absence is a problem of its own, and words that are no package
_ELSEWHERE = (
    r"(?:vllm|bitsandbytes|flash[-_]attn|deepspeed|wandb|tensorboard\w{0,3}|mlflow|swanlab|sentencepiece|hf_transfer"
    r"|modelscope|mpi4py|torch|transformers|trl|it|git|the|your|requirements|and|or|from)(?![\w\[-])|trl\[vllm\]"
)

SIGNATURES = (
    Signature(
        r"ImportError: This modeling file requires the following packages that were not found in your environment:"
        r" [^\n]{1,200}?\. Run `pip install (?P<names>[\w\-. ,\[\]]{2,160})`"
    ),
    Signature(
        r"(?:ImportError|ModuleNotFoundError|RuntimeError): [^\n]{4,300}?pip3? install (?:(?:-U|--upgrade) )?[\"']?"
        rf"(?!{_ELSEWHERE})(?P<name>[A-Za-z][\w\-]{{1,40}}(?:\[[\w,]{{1,30}}\])?)(?:[<>=!~]{{1,2}}[\d.,<>=!]{{1,24}})?"
        r"(?=[`'\".,)\s]|$)",
        symptom_of=("TRL", "TRF", "VLL", "BNB", "FLA", "TRK", "DSP", "DAT", "HUB", "RAY", "TOR", "PYT026"),
    ),
    Signature(r"ImportError: Please install the `(?P<name>math_verify)` package to use \w{3,60}"),
    Signature(r"ImportError: The required package '(?P<name>scipy)' is not installed"),
    Signature(r"ImportError: (?P<name>vLLM|SGLang) not install, you may need to run"),
    Signature(r"ImportError: [^\n]{4,160} requires (?P<name>auto(?:awq|-round)|gptqmodel|optimum) to be installed"),
    Signature(r"ImportError: `(?P<name>kernels)` is not installed"),
    Signature(r"RuntimeError: Form data requires \"(?P<name>python-multipart)\" to be installed"),
    Signature(r"ModuleNotFoundError: No module named '(?P<cuda>cuda\.bindings)"),
    Signature(
        r"ImportError: \S{1,60} requires (?P<name>jinja2) to be installed|\bname '(?P<jinja>Extension)' is not defined"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{names} is asked for and not installed in the environment that runs",
        "The library looked for it when the feature that needs it was used.",
        "`python -m pip install {packages}` with the same `python` that starts the run (in its container or virtual "
        "environment), on every node; or switch off the feature that needs it.",
    ),
    zh=Words(
        "需要 {names},而运行环境中没有安装",
        "库在用到相应功能时才查找它。",
        "用启动任务的同一个 `python` 运行 `python -m pip install {packages}`(在其容器或虚拟环境中,每个节点都要);"
        "或关闭需要它的功能。",
    ),
)

#: how the sentence calls it -> how the index does
_DISTRIBUTION = {
    "math_verify": "math-verify", "comet_ml": "comet-ml", "trl[peft]": "peft", "trl[judges]": "llm-blender",
    "Pillow": "pillow", "liger_kernel": "liger-kernel", "flash_attn": "flash-attn --no-build-isolation",
    "qwen_vl_utils": "qwen-vl-utils", "vLLM": "vllm", "SGLang": "sglang[all]",
}  # fmt: skip


_OLD = re.compile(r"[Uu]pgrade|cannot import name|too old|outdated")
#: without one of these a sentence only recommends a package
_WANTED = re.compile(
    r"requir|not install|n't installed|not found|missing|n't find|not available|need|install it|[Pp]lease install"
)


def _own_extension(hit: Hit) -> bool:
    """A name that is undefined in a program of its own, and not in the templates of transformers."""
    return bool(hit.groups.get("jinja") and hit.frames and not any("transformers" in frame for frame in hit.frames))


def explain(hits: Hits) -> Finding | None:
    """Names in the sentence's order, as the package index spells them; an upgrade is asked for what is there."""
    if all(_OLD.search(each.text) or _own_extension(each) for each in hits):
        return None
    text = (
        hits.get("names")
        or hits.get("name")
        or ("jinja2" if hits.get("jinja") else "cuda-bindings" if hits.get("cuda") else "")
    )
    packages = [_DISTRIBUTION.get(each, each) for each in re.findall(r"[\w\-.\[\]]{2,60}", text)]
    names = ", ".join(f"`{each.partition(' ')[0]}`" for each in packages)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), names=names, packages=" ".join(packages),
        confidence=CONFIRMED if any(_WANTED.search(each.text) for each in hits) else LIKELY,
    )  # fmt: skip
