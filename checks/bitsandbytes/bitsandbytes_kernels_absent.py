"""The installed bitsandbytes has no kernels for this machine.

## What it means
Its wheel holds one library for each CUDA release, with kernels for the GPUs of its time. Where none loads, Python
goes on until the first call.
## What it does to a run
NameError or RuntimeError at the first quantized layer or 8-bit optimizer step.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://huggingface.co/docs/bitsandbytes/main/en/installation
https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.49.0/bitsandbytes/cextension.py
https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1517
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="BNB008", name="bitsandbytes-kernels-absent", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^NameError: name '(?P<table>str2optimizer\w{1,30})' is not defined",
        Message(
            en=Words(
                "bitsandbytes runs without its CUDA library, so it has no 8-bit optimizer",
                "The library did not load when it was imported (see the warning then), and the tables of its "
                "functions were never made: no wheel for this CUDA or platform (aarch64, ROCm), or no GPU "
                "visible at import.",
                "`python -m bitsandbytes` says which library is looked for. `pip install -U bitsandbytes` (0.46 "
                'or newer has CUDA 12.9 and aarch64); until then `optim="adamw_torch_fused"`.',
            ),
            zh=Words(
                "bitsandbytes 没有加载其 CUDA 库,因此没有 8 位优化器",
                "该库在 import 时未能加载(见当时的警告),其函数表因此没有建立:没有适用于该 CUDA 或平台的 "
                "wheel(aarch64、ROCm),或 import 时没有可见的 GPU。",
                "`python -m bitsandbytes` 会说明查找的库。`pip install -U bitsandbytes`(0.46 或更新包含 CUDA "
                '12.9 与 aarch64);在此之前用 `optim="adamw_torch_fused"`。',
            ),
        ),
    ),
    (
        (
            r"(?:RuntimeError: )?Configured (?P<backend>ROCm|XPU|HPU) binary not found at "
            r"[^\n]{0,300}libbitsandbytes_(?P<binary>\w{2,20})\.so"
        ),
        Message(
            en=Words(
                "bitsandbytes has no library for this {backend} (`{binary}`)",
                "Its wheel holds libraries for some releases of {backend}, and loads exactly the one of the installed "
                "torch; a {backend} that is newer or older than those has none.",
                "`pip install -U bitsandbytes` first; else build it for this machine (`git clone "
                "https://github.com/bitsandbytes-foundation/bitsandbytes && cmake -DCOMPUTE_BACKEND=hip -S . && make "
                "&& "
                "pip install .`), or install the torch of a {backend} release that has one (the list: `ls "
                "$(python -c 'import importlib.util as u; "
                'print(u.find_spec("bitsandbytes").submodule_search_locations[0])\')`). Where nothing is quantized: '
                "`pip "
                "uninstall bitsandbytes`.",
            ),
            zh=Words(
                "bitsandbytes 没有适用于此 {backend}(`{binary}`)的库",
                "其 wheel 只含部分 {backend} 版本的库,并只加载与所装 torch 对应的那个;更新或更旧的 {backend} 没有对应"
                "的库。",
                "先 `pip install -U bitsandbytes`;否则在本机编译(`git clone "
                "https://github.com/bitsandbytes-foundation/bitsandbytes && cmake -DCOMPUTE_BACKEND=hip -S . && make "
                "&& "
                "pip install .`),或安装有对应库的 {backend} 版本的 torch(查看:`ls $(python -c 'import importlib.util "
                "as u; "
                'print(u.find_spec("bitsandbytes").submodule_search_locations[0])\')`)。不需要量化时:`pip uninstall '
                "bitsandbytes`。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: (?:.{0,4}Forgot to compile the bitsandbytes library|[^\n]{0,300}Native code "
            r"method attempted to call: lib\.)"
        ),
        Message(
            en=Words(
                "bitsandbytes found no native library for this machine",
                "A source install was not compiled, or the wheel has none for the CUDA of the installed torch.",
                "`python -m bitsandbytes` says which library is looked for; `pip install -U --force-reinstall "
                "--no-deps bitsandbytes`; for a CUDA without a wheel `export BNB_CUDA_VERSION=126` with one that "
                "it has.",
            ),
            zh=Words(
                "bitsandbytes 没有找到适用于本机的原生库",
                "源码安装未编译,或 wheel 中没有对应所装 torch 的 CUDA 版本的库。",
                "`python -m bitsandbytes` 会说明查找的库;`pip install -U --force-reinstall --no-deps "
                "bitsandbytes`;若 CUDA 没有对应 wheel,用 `export BNB_CUDA_VERSION=126` 指定已有的一个。",
            ),
        ),
    ),
    (
        (
            r"Error (?:named symbol not found|no kernel image is available for execution on the device) at "
            r"line \d{1,5} in file \S{0,200}csrc/\w{1,20}\.cu"
        ),
        Message(
            en=Words(
                "the installed bitsandbytes has no kernels for this GPU",
                "Its library was compiled for other architectures: a GPU newer than the release (Blackwell "
                "before 0.45.3), or one that was dropped (below 7.5 in CUDA 13 wheels).",
                "`pip install -U bitsandbytes` for a new GPU; for an old one a release whose CUDA still knows it "
                "(0.45 with CUDA 12), or compile it there.",
            ),
            zh=Words(
                "所装 bitsandbytes 没有适用于该 GPU 的内核",
                "其库为别的架构编译:GPU 比该版本新(Blackwell 需要 0.45.3),或已不再支持(CUDA 13 wheel 中低于 7.5)。",
                "新 GPU 用 `pip install -U bitsandbytes`;旧 GPU 使用其 CUDA 仍支持它的版本(0.45,CUDA 12),或自行编译。",
            ),
        ),
    ),
)

_AT_IMPORT = 1  # only logged: the import goes on, and the first call that needs the library raises

SIGNATURES = tuple(
    Signature(pattern, kind="warning" if number == _AT_IMPORT else "error") for number, (pattern, _) in enumerate(CASES)
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
