"""torchvision or torchaudio belongs to another torch.

## What it means
Both are compiled against exactly one torch release, and another one is installed. It happens when torch is upgraded or
downgraded alone, often by vLLM's requirement.
## What it does to a run
`import torchvision` ends with `operator torchvision::nms does not exist`. Transformers imports it for most models when
it is installed, so that `from trl import ...` fails, although nobody uses images.
## What to do
Install the pair that belongs together, or uninstall torchvision and torchaudio where nothing needs them.
## How it is found
The torch that their metadata pin against the one that is installed.
In a log: by torch's own message.
## References
https://github.com/pytorch/vision#installation
https://github.com/vllm-project/vllm/issues/5736
https://github.com/pytorch/pytorch/issues/157648
"""

from __future__ import annotations

from doctor.checks.python._helpers import applies, needs, parsed, satisfies
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Signature
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages

PROBLEM = Problem(id="TOR004", name="torchvision-of-another-torch", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"RuntimeError: operator torchvision::nms does not exist"),
    Signature(
        r"(?:Detected that PyTorch and TorchAudio|Detected that PyTorch and torchvision) were"
        r" compiled with different CUDA (?:major )?versions",
    ),
    Signature(
        r"(?:OSError|ImportError|RuntimeError): [^\n]{0,300}(?:libtorchaudio|torchvision/_C|torchaudio"
        r"/lib/_torchaudio)[\w.\-]{0,60}(?:: undefined symbol: |$)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "torchvision or torchaudio belongs to another torch than the one that is installed",
        "Both are compiled against exactly one torch release. torch was replaced alone, often by vLLM's "
        "requirement or a CPU wheel. Transformers imports torchvision for most models, so text-only runs "
        "end here, too.",
        "Install the pair that belongs together (`pip install --force-reinstall torchvision torchaudio` "
        "from the same index as torch, with the version that the torch release names), or uninstall both "
        "where nothing needs them: `pip uninstall torchvision torchaudio`.",
    ),
    zh=Words(
        "torchvision 或 torchaudio 属于另一个 torch 版本",
        "两者都只针对一个 torch 版本编译。torch 被单独替换,常见于 vLLM 的依赖或 CPU wheel。Transformers "
        "对多数模型都会导入 torchvision,因此纯文本任务也会在此失败。",
        "安装配套的版本(从与 torch 相同的源执行 `pip install --force-reinstall torchvision torchaudio`,版"
        "本与 torch 对应);若不需要则卸载:`pip uninstall torchvision torchaudio`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "torchvision {version} is built for `{requirement}`, and torch {torch} is installed",
        "Its import ends with `operator torchvision::nms does not exist`. Transformers imports it for most models when "
        "it is installed, so `from trl import ...` can fail although nobody uses images.",
        "Install the torchvision that belongs to torch {torch}, or uninstall it where nothing needs it.",
    ),
    zh=Words(
        "torchvision {version} 是为 `{requirement}` 编译的,而安装的是 torch {torch}",
        "导入它会以 `operator torchvision::nms does not exist` 失败。只要安装了它,Transformers 加载多数模型时都会导入,"
        "因此即使不用图像,`from trl import ...` 也可能失败。",
        "安装与 torch {torch} 对应的 torchvision;不需要时可以卸载。",
    ),
)

AUDIO = Message(
    en=Words(
        "torchaudio {version} is built for `{requirement}`, and torch {torch} is installed",
        "Its import ends with an undefined symbol. Only what imports torchaudio is touched: vLLM with audio models, "
        "and feature extractors of Transformers.",
        "Install the torchaudio that belongs to torch {torch}, or uninstall it where nothing needs it.",
    ),
    zh=Words(
        "torchaudio {version} 是为 `{requirement}` 编译的,而安装的是 torch {torch}",
        "导入它会因未定义的符号失败。只影响导入 torchaudio 的程序:处理音频模型的 vLLM,以及 Transformers 的特征提取器。",
        "安装与 torch {torch} 对应的 torchaudio;不需要时可以卸载。",
    ),
)


@check(PROBLEM)
def torchvision_of_another_torch(packages: Packages, interpreter: Interpreter | None) -> Judgement:
    """Judge what the metadata of the installed copies pin."""
    torch = packages.version("torch")
    if torch is None:
        return
    for need in needs(packages):
        if need.owner.name not in {"torchvision", "torchaudio"} or need.name != "torch":
            continue
        requirement = parsed(need.line)
        if requirement is None or not requirement.specifier or not applies(requirement, interpreter):
            continue
        if satisfies(torch, requirement.specifier) is not False:
            continue
        vision = need.owner.name == "torchvision"
        yield found(
            PROBLEM,
            MESSAGE if vision else AUDIO,
            severity=ERROR if vision else WARNING,
            commands=(f'pip install "torch=={torch}" {need.owner.name}', f"pip uninstall -y {need.owner.name}"),
            evidence=(Evidence(f"metadata of {need.owner.name}", f"Requires-Dist: {need.line}"),),
            version=need.owner.version,
            requirement=f"torch{requirement.specifier}",
            torch=torch,
        )
