"""vLLM and torch are built for different major versions of CUDA.

## What it means
vLLM's compiled part is linked against the CUDA runtime it was built with, which torch brings along. A plain
version number means the build of the package index; others carry a suffix (`+cu129`).
## What it does to a run
`ImportError: libcudart.so.12: cannot open shared object file` (or `.so.13`) when vLLM is imported.
## What to do
Install the torch build that the vLLM release was made for, or the vLLM build of your CUDA from vLLM's
release page.
## How it is found
The CUDA of vLLM's release, and torch's own version file.
## References
https://docs.vllm.ai/en/latest/getting_started/installation/gpu.html
https://github.com/vllm-project/vllm/blob/v0.19.1/setup.py
"""

from __future__ import annotations

from doctor.checks.trl._helpers import imports_vllm
from doctor.checks.vllm._helpers import release_of
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="VLL021", name="vllm-built-for-other-cuda", severity=ERROR, since="0.1", affects={"vllm": ">=0.6"})

MESSAGE = Message(
    en=Words(
        "vLLM {vllm} is built for CUDA {cuda}, and the installed torch for CUDA {other}",
        "vLLM needs `libcudart.so.{major}`, which this torch does not bring: the import of vLLM ends with "
        "`cannot open shared object file`.",
        "Install a torch built for CUDA {major}, or the vLLM build that belongs to your torch.",
    ),
    zh=Words(
        "vLLM {vllm} 针对 CUDA {cuda} 构建,而安装的 torch 针对 CUDA {other} 构建",
        "vLLM 需要 `libcudart.so.{major}`,而该 torch 不附带它:导入 vLLM 时会报 `cannot open shared object file`。",
        "安装针对 CUDA {major} 的 torch,或与你的 torch 匹配的 vLLM 构建。",
    ),
)


@check(PROBLEM)
def cuda_of_another_torch(
    packages: Packages, launch: Launch | None, training: Training | None, script: Script | None
) -> Judgement:
    """Builds from source, builds with a suffix and commands that do without vLLM are left alone."""
    if imports_vllm(launch, training, script) is False:
        return
    release, build, installed = release_of(packages), packages.torch_build, packages.distributions.get("vllm")
    if release is None or release.cuda is None or build is None or build.cuda is None or installed is None:
        return
    version = installed.version or ""
    major, other = release.cuda.split(".")[0], build.cuda.split(".")[0]
    if installed.editable or "+" in version or major == other:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        vllm=version,
        cuda=release.cuda,
        other=build.cuda,
        major=major,
        confidence=LIKELY,
        commands=(f"pip install 'vllm=={version}' 'torch{release.torch or ''}'",),
        evidence=(Evidence("torch/version.py", f"{build.version}, CUDA {build.cuda}"),),
    )
