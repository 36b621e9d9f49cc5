"""What compilers and linkers ask for by file name, where it comes from, and what is said of it."""

from __future__ import annotations

from typing import Any

from doctor.catalogue.finding import Message, Words

_TOOLKIT = (
    "the CUDA toolkit of torch's CUDA version with its development files (`cuda-toolkit-12-4`, or `conda "
    "install -c nvidia cuda-toolkit=12.4`; for the version see `torch.version.cuda`), and `export "
    "CUDA_HOME=/usr/local/cuda`"
)
_TOOLKIT_ZH = (
    "与 torch 的 CUDA 版本一致、带开发文件的 CUDA 工具包(`cuda-toolkit-12-4`,或 `conda install -c nvidia "
    "cuda-toolkit=12.4`;版本见 `torch.version.cuda`),并 `export CUDA_HOME=/usr/local/cuda`"
)
_CUDNN = (
    "cuDNN's development files (`libcudnn9-dev-cuda-12`, or the headers of the wheel that torch brings: "
    "`export CUDNN_PATH=$(python -c 'import nvidia.cudnn as m; print(list(m.__path__)[0])')` and `export "
    "CPLUS_INCLUDE_PATH=$CUDNN_PATH/include:$CPLUS_INCLUDE_PATH`)"
)
_CUDNN_ZH = (
    "cuDNN 的开发文件(`libcudnn9-dev-cuda-12`,或使用 torch 自带 wheel 中的头文件:`export "
    "CUDNN_PATH=$(python -c 'import nvidia.cudnn as m; print(list(m.__path__)[0])')` 和 `export "
    "CPLUS_INCLUDE_PATH=$CUDNN_PATH/include:$CPLUS_INCLUDE_PATH`)"
)

#: beginning of a header's or library's name -> (what brings it, the same in Chinese)
SOURCES = (
    ("cudnn", _CUDNN, _CUDNN_ZH),
    ("nccl", "NCCL's development files (`apt-get install libnccl2 libnccl-dev`)",
     "NCCL 的开发文件(`apt-get install libnccl2 libnccl-dev`)"),
    ("nvtx", _TOOLKIT, _TOOLKIT_ZH),
    ("nvToolsExt", _TOOLKIT, _TOOLKIT_ZH),
    ("cutlass", "the submodules of the source (`git submodule update --init --recursive`)",
     "源码的子模块(`git submodule update --init --recursive`)"),
    ("cute", "the submodules of the source (`git submodule update --init --recursive`)",
     "源码的子模块(`git submodule update --init --recursive`)"),
    ("cu", _TOOLKIT, _TOOLKIT_ZH),
    ("nv", _TOOLKIT, _TOOLKIT_ZH),
    ("thrust", _TOOLKIT, _TOOLKIT_ZH),
    ("vector_types", _TOOLKIT, _TOOLKIT_ZH),
    ("mpi", ("an MPI with its development files (`apt-get install libopenmpi-dev`, `conda install -c conda-forge "
             "mpi4py openmpi`)"), ("带开发文件的 MPI(`apt-get install libopenmpi-dev`、`conda install -c conda-forge "
                                  "mpi4py openmpi`)")),
    ("libaio", "`apt-get install libaio-dev` (`dnf install libaio-devel`)",
     "`apt-get install libaio-dev`(`dnf install libaio-devel`)"),
    ("aio", "`apt-get install libaio-dev` (`dnf install libaio-devel`)",
     "`apt-get install libaio-dev`(`dnf install libaio-devel`)"),
    ("infiniband", "`apt-get install libibverbs-dev` (rdma-core)", "`apt-get install libibverbs-dev`(rdma-core)"),
    ("ibverbs", "`apt-get install libibverbs-dev` (rdma-core)", "`apt-get install libibverbs-dev`(rdma-core)"),
    ("numa", "`apt-get install libnuma-dev`", "`apt-get install libnuma-dev`"),
    ("ffi", "`apt-get install libffi-dev`", "`apt-get install libffi-dev`"),
    ("openssl", "`apt-get install libssl-dev`", "`apt-get install libssl-dev`"),
    ("ssl", "`apt-get install libssl-dev`", "`apt-get install libssl-dev`"),
    ("torch", ("torch of the version the package is written for, in the environment that builds "
     "(`--no-build-isolation`)"), "该包所针对版本的 torch,且在构建所用环境中(`--no-build-isolation`)"),
    ("hip", "the development files of ROCm (`rocm-dev`, `hip-dev`), or a wheel that is made for ROCm",
     "ROCm 的开发文件(`rocm-dev`、`hip-dev`),或为 ROCm 制作的 wheel"),
    ("stdc++", "the C++ library of the compiler (`apt-get install g++`, `conda install -c conda-forge gxx`)",
     "编译器的 C++ 库(`apt-get install g++`、`conda install -c conda-forge gxx`)"),
    ("gomp", "OpenMP of the compiler (`apt-get install g++ libgomp1`)",
     "编译器的 OpenMP(`apt-get install g++ libgomp1`)"),
)  # fmt: skip
_OTHER = ("the development package that has it (`apt-file search {0}`)", "包含它的开发包(`apt-file search {0}`)")

#: tool -> (what brings it, the same in Chinese)
_COMPILER = (("a C++ compiler (`apt-get install -y build-essential`, `dnf install gcc gcc-c++`, `conda install -c "
             "conda-forge gxx`; on clusters `module load gcc`)"),
             ("C++ 编译器(`apt-get install -y build-essential`、`dnf install gcc gcc-c++`、`conda install -c "
             "conda-forge gxx`;集群上 `module load gcc`)"))  # fmt: skip
_RUST = (("Rust (`curl https://sh.rustup.rs -sSf | sh -s -- -y`, then a new shell) - or better a Python for which the "
         "package has a wheel"), ("Rust(`curl https://sh.rustup.rs -sSf | sh -s -- -y`,然后打开新 shell)——更好的做法是"
         "换用该包有 wheel 的 Python 版本"))  # fmt: skip
TOOLS = {
    "cmake": ("`pip install 'cmake<4' ninja`", "`pip install 'cmake<4' ninja`"),
    "ninja": ("`pip install ninja`", "`pip install ninja`"),
    "cargo": _RUST, "rustc": _RUST, "rust": _RUST,
    "make": _COMPILER,
    "git": ("git (`apt-get install -y git`)", "git(`apt-get install -y git`)"),
    "nvcc": (_TOOLKIT, _TOOLKIT_ZH),
}  # fmt: skip

FILE = Message(
    en=Words(
        "a package is compiled and {what} `{name}` is not found",
        "There was no ready-made wheel for this Python, platform and torch, or an operation is compiled at its first "
        "use; the development files that this takes are not installed, or lie where compiler and linker do not look.",
        "Install {source}. Where it is installed already, say where: headers with `export CPATH=/path/include`, "
        "libraries with `export LIBRARY_PATH=/path/lib64` (a `lib*.so.12` without a plain `lib*.so` beside it needs "
        "a link: `ln -s`). Then clear what was half built (`rm -rf ~/.cache/torch_extensions`, `pip cache purge`) "
        "and try again. Or take a release or a Python with a ready-made wheel.",
    ),
    zh=Words(
        "正在编译某个包,但找不到{what_zh} `{name}`",
        "没有适合当前 Python、平台和 torch 的现成 wheel,或某个算子在首次使用时编译;所需的开发文件未安装,或位于编译器"
        "和链接器不查找的位置。",
        "安装{source_zh}。若已安装,请指明位置:头文件(header)用 `export CPATH=/path/include`,库用 `export "
        "LIBRARY_PATH=/path/lib64`(只有 `lib*.so.12` 而没有 `lib*.so` 时需 `ln -s` 建链接)。然后清除未完成的构建"
        "(`rm -rf ~/.cache/torch_extensions`、`pip cache purge`)再试。或换用有现成 wheel 的版本或 Python。",
    ),
)
TOOL = Message(
    en=Words(
        "a package is compiled from source, and `{name}` is not there",
        "There is no ready-made wheel of it for this Python and platform, so it is compiled, which takes this tool. "
        "Slim containers and fresh machines do not have it.",
        "Install {source}. Or do without compiling: take a Python for which the package has wheels "
        "(`pip download --only-binary :all: --no-deps PACKAGE` tells), or a newer release of it.",
    ),
    zh=Words(
        "需要从源码编译某个包,而 `{name}` 不存在",
        "没有适合当前 Python 和平台的现成 wheel,因此需要编译,而编译需要此工具。精简容器和新机器上没有它。",
        "安装{source_zh}。或避免编译:换用该包有 wheel 的 Python 版本(`pip download --only-binary :all: --no-deps "
        "PACKAGE` 可查),或更新的版本。",
    ),
)
WINDOWS = Message(
    en=Words(
        "a package is compiled on Windows, and the C++ compiler of Visual Studio is not found",
        "There is no ready-made wheel of it for this Python, so it is compiled, which takes Microsoft Visual C++ "
        "(`cl.exe`).",
        "Install the Build Tools for Visual Studio 2022 with `Desktop development with C++` and start from the `x64 "
        "Native Tools` prompt; or take a Python for which the package has a wheel (3.10 to 3.12 mostly), or WSL2.",
    ),
    zh=Words(
        "正在 Windows 上编译某个包,但找不到 Visual Studio 的 C++ 编译器",
        "没有适合当前 Python 的现成 wheel,因此需要用 Microsoft Visual C++(`cl.exe`)编译。",
        "安装 Build Tools for Visual Studio 2022(勾选 `Desktop development with C++`),从 `x64 Native Tools` 命令行启动;"
        "或换用该包有 wheel 的 Python(多为 3.10 到 3.12),或使用 WSL2。",
    ),
)
CMAKE = Message(
    en=Words(
        "a package is compiled whose build is too old for CMake 4 (it asks for CMake < {name})",
        "CMake 4 refuses build files that were written for releases before {name}. The package has no ready-made "
        "wheel for this Python, else nothing would be compiled.",
        "Take a release of the package with a wheel for this Python (sentencepiece: 0.2.1 or newer for Python "
        "3.13), or Python 3.11 or 3.12. Else build with an older CMake: `pip install 'cmake<4'` and "
        "`--no-build-isolation`, or let CMake accept it: `CMAKE_POLICY_VERSION_MINIMUM=3.5 pip install ...`.",
    ),
    zh=Words(
        "正在编译的包对 CMake 4 来说太旧(它要求 CMake < {name})",
        "CMake 4 拒绝为 {name} 之前版本编写的构建文件。该包没有适合当前 Python 的现成 wheel,否则无需编译。",
        "选用对当前 Python 有 wheel 的版本(sentencepiece:Python 3.13 需 0.2.1 及以上),或改用 Python 3.11 或 3.12。否"
        "则用旧版 CMake 构建:`pip install 'cmake<4'` 加 `--no-build-isolation`,或让 CMake 接受"
        ":`CMAKE_POLICY_VERSION_MINIMUM=3.5 pip install ...`。",
    ),
)
GCC = Message(
    en=Words(
        "this CUDA toolkit does not accept the installed gcc: it takes {name} at most",
        "nvcc works with the compilers that were there when it was released; the system's gcc is newer.",
        "Install an older one and name it: `apt-get install gcc-{name} g++-{name}`, `export CC=gcc-{name} "
        'CXX=g++-{name} NVCC_PREPEND_FLAGS="-ccbin g++-{name}"` (conda: `conda install -c conda-forge gxx={name}`); '
        "or install a newer CUDA toolkit of the same major version as torch's. Or take a ready-made wheel.",
    ),
    zh=Words(
        "此 CUDA 工具包不接受已安装的 gcc:最高支持 {name}",
        "nvcc 只支持其发布时已有的编译器,而系统的 gcc 更新。",
        "安装较旧的 gcc 并指定:`apt-get install gcc-{name} g++-{name}`,`export CC=gcc-{name} CXX=g++-{name} "
        'NVCC_PREPEND_FLAGS="-ccbin g++-{name}"`(conda:`conda install -c conda-forge gxx={name}`);或安装与 torch 主版本'
        "相同的较新 CUDA 工具包;或使用现成 wheel。",
    ),
)
VISUAL = Message(
    en=Words(
        "this CUDA toolkit does not accept the installed Visual Studio",
        "nvcc works with the Visual Studio releases that were there when it was made.",
        "Install the toolset that it names (2017 to 2022) beside the newer one and start from its prompt, or a "
        "newer CUDA toolkit; `-allow-unsupported-compiler` skips the check at your own risk. Or take a ready-made "
        "wheel.",
    ),
    zh=Words(
        "此 CUDA 工具包不接受已安装的 Visual Studio",
        "nvcc 只支持其制作时已有的 Visual Studio 版本。",
        "在较新版本旁安装其指明的工具集(2017 到 2022)并从其命令行启动,或安装更新的 CUDA 工具包;"
        "`-allow-unsupported-compiler` 可跳过检查,风险自负。或使用现成 wheel。",
    ),
)
STANDARD = Message(
    en=Words(
        "the C++ compiler is too old, or the extension is built for an older standard: torch's headers need C++{name}",
        "torch 2.1 and newer need a compiler with C++17 (gcc 9 or newer), and extensions that do not force an older "
        "`-std`.",
        "Use a newer compiler: `conda install -c conda-forge gxx=11` or `module load gcc/11`, `export CC=gcc "
        "CXX=g++`. Where setup.py says `-std=c++14`, make it `-std=c++{name}`, or take a release of the package "
        "made for this torch.",
    ),
    zh=Words(
        "C++ 编译器太旧,或扩展按较旧标准构建:torch 的头文件需要 C++{name}",
        "torch 2.1 及以上需要支持 C++17 的编译器(gcc 9 及以上),扩展也不能强制较旧的 `-std`。",
        "使用更新的编译器:`conda install -c conda-forge gxx=11` 或 `module load gcc/11`,`export CC=gcc CXX=g++`。若 "
        "setup.py 写着 `-std=c++14`,改为 `-std=c++{name}`,或选用为此 torch 制作的版本。",
    ),
)
OPERATION = Message(
    en=Words(
        "DeepSpeed's setup.py cannot compile its operation `{name}` here, and gives up",
        "It was told to build all operations ahead (`DS_BUILD_OPS=1`, the default on Windows in older releases). "
        "`async_io` needs libaio, which exists on Linux only; others need nvcc and a GPU architecture.",
        "Install without building ahead: `DS_BUILD_OPS=0 pip install deepspeed` (Windows: `set DS_BUILD_OPS=0`, "
        "`set DS_BUILD_AIO=0`), or leave out this one (`DS_BUILD_AIO=0` for async_io). On Linux `apt-get install "
        "libaio-dev` gives async_io. On Windows take a release with a wheel, or WSL2.",
    ),
    zh=Words(
        "DeepSpeed 的 setup.py 无法在此编译算子 `{name}`,因此退出",
        "它被要求预先编译全部算子(`DS_BUILD_OPS=1`,旧版在 Windows 上的默认值)。`async_io` 需要 libaio,只有 Linux 才有;"
        "其他算子需要 nvcc 和 GPU 架构。",
        "不预先编译地安装:`DS_BUILD_OPS=0 pip install deepspeed`(Windows:`set DS_BUILD_OPS=0`、`set "
        "DS_BUILD_AIO=0`),或只跳过该算子(async_io 用 `DS_BUILD_AIO=0`)。Linux 上 `apt-get install libaio-dev` 即可得"
        "到 async_io。Windows 上请选用有 wheel 的版本,或使用 WSL2。",
    ),
)

_SIMPLE = {"floor": CMAKE, "newest": GCC, "visual": VISUAL, "standard": STANDARD, "op": OPERATION, "msvc": WINDOWS}
_LANGUAGES = {"C": "gcc", "CXX": "g++", "CUDA": "nvcc"}


def told(kind: str, name: str) -> tuple[Message, dict[str, Any]]:
    """What is said of a thing that is absent or does not fit, and what fills its words.

    Args:
        kind: name of the group that caught it: "header", "library", "tool", "language", "rust", or one of `_SIMPLE`.
        name: what it caught.

    """
    if kind in _SIMPLE:
        return _SIMPLE[kind], {"name": name}
    if kind in ("header", "library"):
        source, source_zh = source_of(name)
        what, what_zh = ("the header", "头文件") if kind == "header" else ("the library", "库")
        return FILE, {"name": name, "source": source, "source_zh": source_zh, "what": what, "what_zh": what_zh}
    tool = _LANGUAGES.get(name, name) if kind == "language" else "cargo" if kind == "rust" else name
    base = tool.replace("\\", "/").rpartition("/")[2]
    if base in ("cl", "cl.exe"):
        return WINDOWS, {}
    source, source_zh = TOOLS.get(base, _COMPILER)
    return TOOL, {"name": base, "source": source, "source_zh": source_zh}


def source_of(name: str) -> tuple[str, str]:
    """What brings a header or library, in English and in Chinese."""
    found = next(((en, zh) for begin, en, zh in SOURCES if name.startswith((begin, f"lib{begin}"))), None)
    return found or (_OTHER[0].format(name), _OTHER[1].format(name))
