"""The installed bitsandbytes has no library for torch's CUDA version.

## What it means
Until 0.49 bitsandbytes holds one compiled library for each CUDA version and takes exactly the one of torch's: 12.6
since 0.45.0, 12.8 since 0.45.3, 12.9 since 0.46.1, 13.0 since 0.48.0. From 0.50.0 on it takes the nearest of the same
major version; CUDA 13.2 came there too.
## What it does to a run
`Configured CUDA binary not found at .../libbitsandbytes_cuda130.so`: quantized models cannot be loaded and 8-bit
optimizers cannot be made.
## What to do
Install a newer bitsandbytes.
## How it is found
torch's CUDA version against the libraries in the released wheels of bitsandbytes.
In a log: by the words of bitsandbytes' loader.
## References
https://huggingface.co/docs/bitsandbytes/installation
https://github.com/bitsandbytes-foundation/bitsandbytes/releases
https://pypi.org/project/bitsandbytes/0.48.0/
"""

from __future__ import annotations

from doctor.checks.bitsandbytes._helpers import optimizer, quantization
from doctor.checks.torch._helpers import trains_on_cpu
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.environment import Environment
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(
    id="BNB002",
    name="bitsandbytes-lacks-torch-cuda",
    severity=ERROR,
    since="0.1",
    affects={"bitsandbytes": ">=0.43.1,<0.50"},
)

SIGNATURES = (
    # an import goes on without the library; the first call that needs it repeats these words
    Signature(
        r"(?<!Original error: )Configured CUDA binary not found at [^\n]{0,200}libbitsandbytes_cuda(?P<cuda>\d{2,3})",
        kind="warning",
    ),
    Signature(r"CUDA Setup failed despite (?:CUDA|GPU) being available"),
    Signature(r"libbitsandbytes_cuda(?P<cuda>\d{2,3})\w{0,16}\.so: cannot open shared object"),
    Signature(
        r"^AttributeError: 'NoneType' object has no attribute "
        r"'c(?:de)?(?:quantize|gemm|adam|lion|get|igemm)\w{0,60}'",
        frame=r"bitsandbytes[\\/]|unsloth[\\/]kernels[\\/]",
    ),
    Signature(
        r"Could not find the bitsandbytes CUDA binary at [^\n]{0,200}libbitsandbytes_cuda(?P<cuda>\d{2,3})",
        kind="warning",
    ),
    Signature(r"Original error: Configured CUDA binary not found at [^\n]{0,200}libbitsandbytes_cuda(?P<cuda>\d{2,3})"),
)

LOG_MESSAGE = Message(
    en=Words(
        "bitsandbytes has no library for the CUDA version of torch",
        "Its wheel holds one library for each CUDA version and loads the one of torch's; a bitsandbytes "
        "that is older than that CUDA lacks it, or the CUDA libraries cannot be found.",
        "Upgrade: `pip install -U bitsandbytes`; run `python -m bitsandbytes` to see what it looked for; "
        'compare `python -c "import torch; print(torch.version.cuda)"`, and take `BNB_CUDA_VERSION` and '
        "stale CUDA folders out of the environment (LD_LIBRARY_PATH).",
    ),
    zh=Words(
        "bitsandbytes 没有适用于 torch 的 CUDA 版本的库",
        "其 wheel 为每个 CUDA 版本各带一个库,并加载与 torch 对应的那个;早于该 CUDA 的 bitsandbytes 没有它"
        ",或找不到 CUDA 库。",
        "升级:`pip install -U bitsandbytes`;运行 `python -m bitsandbytes` 查看它找了什么;对照 `python -c "
        '"import torch; print(torch.version.cuda)"`,并从环境中去掉 `BNB_CUDA_VERSION` 和过期的 CUDA 目录'
        "(LD_LIBRARY_PATH)。",
    ),
)

LOG_COMMANDS = ("pip install -U bitsandbytes",)

MESSAGE = Message(
    en=Words(
        "bitsandbytes {version} has no library for CUDA {cuda}, which torch is built for",
        "It loads exactly the one of torch's CUDA version: `Configured CUDA binary not found`. Quantized models cannot "
        "be loaded, and 8-bit optimizers cannot be made.",
        "Install bitsandbytes {first} or newer.",
    ),
    zh=Words(
        "bitsandbytes {version} 没有适用于 CUDA {cuda}(torch 所用)的库",
        "它只加载与 torch 的 CUDA 版本完全对应的库:`Configured CUDA binary not found`。无法加载量化模型,"
        "也无法创建 8 位优化器。",
        "安装 bitsandbytes {first} 或更新版本。",
    ),
)

#: torch's CUDA -> first release whose Linux wheel holds its library (wheels of 0.44.1 to 0.50.2 listed)
FIRST = {"12.6": "0.45.0", "12.8": "0.45.3", "12.9": "0.46.1", "13.0": "0.48.0", "13.2": "0.50.0"}


@check(PROBLEM)
def lacks_torch_cuda(
    packages: Packages,
    environment: Environment | None,
    training: Training | None,
    script: Script | None,
    world: World | None,
) -> Judgement:
    """An error where the run uses it, else a warning; BNB_CUDA_VERSION chooses another library by hand."""
    build = packages.torch_build
    first = FIRST.get(build.cuda) if build is not None and build.cuda else None
    if build is None or first is None or not packages.matches("bitsandbytes", f"<{first}"):
        return
    if trains_on_cpu(training, world) or (environment is not None and environment.get("BNB_CUDA_VERSION")):
        return
    asked = (quantization(training, script) or optimizer(training)) if training is not None else None
    yield found(
        PROBLEM,
        MESSAGE,
        severity=ERROR if asked is not None else WARNING,
        confidence=LIKELY if packages.conda else CONFIRMED,
        where=place_of(asked),
        evidence=(
            *quoted(asked),
            Evidence("installed packages", f"bitsandbytes {packages.version('bitsandbytes')}, torch CUDA {build.cuda}"),
        ),
        commands=(f'pip install "bitsandbytes>={first}"',),
        version=packages.version("bitsandbytes"),
        cuda=build.cuda,
        first=first,
    )
