"""The old `pynvml` distribution shadows NVIDIA's own bindings.

## What it means
`pynvml` before 12.0 brings a copy of the bindings as a folder `pynvml/`, which Python prefers to the module
`pynvml.py` of the official `nvidia-ml-py`. The copy is of 2022 and older.
## What it does to a run
torch warns "The pynvml package is deprecated", and functions and constants of newer drivers are missing for everything
that reads GPUs: torch's memory and utilisation calls, vLLM, this doctor.
## What to do
Uninstall `pynvml` and install `nvidia-ml-py`.
## How it is found
The installed distributions.
## References
https://pypi.org/project/pynvml/
https://github.com/vllm-project/vllm/issues/12386
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT013", name="pynvml-unofficial", severity=WARNING, since="0.1", affects={"pynvml": "<12"})

MESSAGE = Message(
    en=Words(
        "The outdated distribution `pynvml` {version} takes the place of `nvidia-ml-py`",
        "It brings an old copy of the bindings under the same import name. What newer drivers offer is missing for all "
        "that read GPUs through `import pynvml`.",
        "Uninstall `pynvml` and install `nvidia-ml-py`.",
    ),
    zh=Words(
        "过时的发行包 `pynvml` {version} 占用了 `nvidia-ml-py` 的位置",
        "它以同一个导入名带来一份旧的绑定,通过 `import pynvml` 读取 GPU 的程序都用不到新驱动提供的功能。",
        "卸载 `pynvml`,安装 `nvidia-ml-py`。",
    ),
)


@check(PROBLEM)
def unofficial_pynvml(packages: Packages) -> Judgement:
    """The engine has compared the version: from 12.0 on `pynvml` only depends on the official one."""
    version = packages.version("pynvml")
    official = packages.version("nvidia-ml-py")
    yield found(
        PROBLEM,
        MESSAGE,
        commands=("pip uninstall -y pynvml", "pip install --force-reinstall nvidia-ml-py"),
        evidence=(Evidence("installed packages", f"pynvml {version}, nvidia-ml-py {official or 'not installed'}"),),
        version=version,
    )
