"""torch.compile is given an option that this release of PyTorch does not have.

## What it means
`torch.compile(options={...})` takes names of Inductor's settings. Libraries that compile code of their own (Unsloth,
ComfyUI's nodes) set some that came with a later PyTorch.
## What it does to a run
RuntimeError at the first compiled function, with Unsloth at `import unsloth`.
## What to do
Install the PyTorch that the library was made for, or the library of this PyTorch's time.
## How it is found
In a log: by the words of torch, which list every option that it knows.
## References
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/__init__.py
https://github.com/unslothai/unsloth/issues/3947
https://github.com/Comfy-Org/ComfyUI/issues/11457
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR065", name="compile-option-unknown", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^RuntimeError: (?:[^\n:]{1,120}: )?Unexpected optimization option (?P<name>[\w.\-]{1,80}), known options"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`torch.compile` of the installed PyTorch{version} has no option `{name}`",
        "The code that compiles was written for another PyTorch, mostly a newer one.",
        "Upgrade PyTorch with the packages that are built on it (torchvision, xformers, vLLM), as the library's "
        "requirements say; or install the release of the library that belongs to this PyTorch. {unsloth}To run "
        "without compiling: `TORCHDYNAMO_DISABLE=1`.",
    ),
    zh=Words(
        "所装 PyTorch{version} 的 `torch.compile` 没有选项 `{name}`",
        "调用编译的代码是为另一版本的 PyTorch 编写的,通常是更新的版本。",
        "按该库 requirements 的要求升级 PyTorch 以及基于它构建的包(torchvision、xformers、vLLM);或安装与此 PyTorch 同"
        "期的库版本。{unsloth_zh}不编译而运行:`TORCHDYNAMO_DISABLE=1`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Unsloth, the usual one, comes in two packages and keeps what it compiled."""
    unsloth = any("nsloth" in frame for hit in hits for frame in hit.frames)
    installed = hits.versions.get("torch")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=hits.get("name"),
        version=f" {installed}" if installed else "",
        unsloth="For Unsloth: `pip install -U --no-deps unsloth unsloth_zoo`, delete `unsloth_compiled_cache`, and "
        "where that does not help take both from the time of this PyTorch. " if unsloth else "",
        unsloth_zh="Unsloth:`pip install -U --no-deps unsloth unsloth_zoo`,删除 `unsloth_compiled_cache`;仍不行则两个包"
        "都用与此 PyTorch 同期的版本。" if unsloth else "",
    )  # fmt: skip
