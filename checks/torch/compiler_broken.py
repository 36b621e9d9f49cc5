"""Triton or torch.compile cannot compile its helpers with the C compiler of this machine.

## What it means
Triton builds a small C stub for the driver on first use, and inductor builds C++ code for the CPU, with the
compiler that CC, CXX or PATH names. They need a working gcc, its own headers and those of Python.
## What it does to a run
The first kernel that is compiled ends the process: often inside vLLM's start, where the engine core only
passes the error on.
## What to do
Install a C compiler and Python's headers, or name a working one with CC.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/19656
https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/1168
https://github.com/woct0rdho/triton-windows#readme
https://github.com/woct0rdho/triton-windows/issues/3
https://github.com/huggingface/peft/issues/2152
https://github.com/triton-lang/triton/blob/v3.3.0/python/triton/runtime/build.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR017", name="compiler-broken", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Failed to find C compiler\. Please specify via CC"),
    Signature(
        r"(?:InvalidCxxCompiler: )?No working C\+\+ compiler found in torch\._inductor\.config\.cpp\.cxx",
    ),
    Signature(
        r"fatal error: (?P<header>Python\.h|std(?:def|lib|io|int|bool|arg)\.h|limits\.h|string\.h|feat"
        r"ures\.h|bits/[\w\-./]{1,40}\.h|omp\.h): No such file or directory",
    ),
    Signature(r"(?:ld|collect2)[^\n]{0,60}: cannot find -l(?P<library>cuda|c|m|pthread)\b"),
    Signature(r"lib(?P<library>cuda)\.so cannot found!"),
    Signature(r"(?P<ldconfig>CalledProcessError: Command '?\['/sbin/ldconfig', '-p'\]|'/sbin/ldconfig'$)"),
    Signature(r"error: include file '(?P<header>Python\.h)' not found"),
    Signature(
        r"CalledProcessError: Command '?\[[^\n]{0,200}(?:gcc|g\+\+|clang|/cc|-cc'|-c\+\+'|ccache)[^\n]{0,1000}(?:cu"
        r"da_utils|__triton_launcher|/main\.c|driver)",
        symptom_of=("TOR",),
    ),
    Signature(
        r"\b(?P<windows>(?:cl|CL|gcc|tcc|clang)\.(?:exe|EXE))', '[^'\n]{1,200}\\main\.c'",
        keywords=("\\main.c'",),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no C compiler was found, which Triton and torch.compile need at run time",
        "Triton compiles a stub for the driver on first use, and inductor compiles C++ for the CPU. Slim "
        "containers and some clusters have no gcc.",
        "Install one (`apt-get install -y build-essential python3-dev`, `dnf install gcc gcc-c++ "
        "python3-devel`, `conda install -c conda-forge gxx`) or name it with CC and CXX. "
        "`--enforce-eager` or TORCH_COMPILE_DISABLE=1 avoid torch.compile, not Triton's kernels.",
    ),
    zh=Words(
        "没有找到 C 编译器,而 Triton 和 torch.compile 在运行时需要它",
        "Triton 首次使用时会为驱动编译一个存根,inductor 会为 CPU 编译 C++。精简容器和部分集群没有 gcc。",
        "安装编译器(`apt-get install -y build-essential python3-dev`、`dnf install gcc gcc-c++ "
        "python3-devel`、`conda install -c conda-forge gxx`),或用 CC 和 CXX 指定。`--enforce-eager` 或 "
        "TORCH_COMPILE_DISABLE=1 只能避开 torch.compile,不能避开 Triton 内核。",
    ),
)

LOG_MESSAGE_PYTHON = Message(
    en=Words(
        "the compiler does not find `Python.h`, which extensions and Triton's stub include",
        "The headers of this Python are not installed: they come in a package of their own on most "
        "systems. It is no fault of torch or vLLM.",
        "Install them for the Python in use: `apt-get install -y python3-dev` (or `python3.12-dev`), "
        "`dnf install python3-devel`; or use a conda or uv Python, which brings them. On Windows the embedded "
        "Python of portable packages lacks them: copy the folders `include` and `libs` of an installed Python "
        "of the same version beside its python.exe.",
    ),
    zh=Words(
        "编译器找不到扩展与 Triton 存根所需的 `Python.h`",
        "没有安装此 Python 的头文件:多数系统把它放在单独的包中。这不是 torch 或 vLLM 的问题。",
        "为所用的 Python 安装:`apt-get install -y python3-dev`(或 `python3.12-dev`)、`dnf install "
        "python3-devel`;或使用自带头文件的 conda 或 uv Python。Windows 便携包的嵌入式 Python 没有头文件:"
        "从同版本的完整 Python 复制 `include` 与 `libs` 两个目录到其 python.exe 旁。",
    ),
)

LOG_MESSAGE_HEADER = Message(
    en=Words(
        "the C compiler does not find its own header `{header}`: its installation is broken",
        "`{header}` belongs to the compiler or the C library. The gcc that CC or PATH names is "
        "incomplete, mixed from two versions, or a wrapper (ccache) around one that is gone. Triton and "
        "inductor only pass the error on.",
        "Repair it (`apt-get install --reinstall gcc libc6-dev`, `dnf reinstall gcc glibc-devel`), or "
        "name a working one: `export CC=/usr/bin/gcc CXX=/usr/bin/g++`. Test it with `echo '#include "
        "<{header}>' | $CC -E - > /dev/null`.",
    ),
    zh=Words(
        "C 编译器找不到自己的头文件 `{header}`:安装已损坏",
        "`{header}` 属于编译器或 C 库。CC 或 PATH 指向的 gcc 不完整、混用了两个版本,或是包装(ccache)着一"
        "个已不存在的编译器。Triton 和 inductor 只是传递该错误。",
        "修复它(`apt-get install --reinstall gcc libc6-dev`、`dnf reinstall gcc glibc-devel`),或指定可用"
        "的编译器:`export CC=/usr/bin/gcc CXX=/usr/bin/g++`。用 `echo '#include <{header}>' | $CC -E - > "
        "/dev/null` 测试。",
    ),
)

LOG_MESSAGE_LINK = Message(
    en=Words(
        "the linker does not find `libcuda.so`, the library of the driver",
        "Triton's stub and some extensions are linked with it. It is not where the linker looks: only libcuda.so.1 is "
        "there, or the container has no driver.",
        "Check `ldconfig -p | grep libcuda`. Set TRITON_LIBCUDA_PATH (or LIBRARY_PATH) to the folder of "
        "libcuda.so, for instance /usr/lib/x86_64-linux-gnu or /usr/local/cuda/lib64/stubs; start "
        "containers with `--gpus all`.",
    ),
    zh=Words(
        "链接器找不到驱动的库 `libcuda.so`",
        "Triton 存根和部分扩展需要链接它。它不在链接器的搜索路径上:只有 libcuda.so.1,或容器中没有驱动。",
        "检查 `ldconfig -p | grep libcuda`。把 TRITON_LIBCUDA_PATH(或 LIBRARY_PATH)设为 libcuda.so 所在目"
        "录,例如 /usr/lib/x86_64-linux-gnu 或 /usr/local/cuda/lib64/stubs;容器请用 `--gpus all` 启动。",
    ),
)

LOG_MESSAGE_LIBC = Message(
    en=Words(
        "the linker does not find `lib{library}`, a part of the C library: its installation is incomplete",
        "The files for linking come with the development package of the C library. It is missing, only the static "
        "or the shared kind is there, or a compiler of conda looks into its own empty sysroot.",
        "Install it: `apt-get install -y libc6-dev`, `dnf install glibc-devel` (with `-static` in the command also "
        "`glibc-static`), in conda `conda install -c conda-forge gcc gxx sysroot_linux-64`; or name another compiler: "
        "`export CC=/usr/bin/gcc CXX=/usr/bin/g++`.",
    ),
    zh=Words(
        "链接器找不到 C 库的一部分 `lib{library}`:其安装不完整",
        "链接所需的文件由 C 库的开发包提供。该包缺失,只有静态或只有共享版本,或 conda 的编译器在自己空的 sysroot 中"
        "查找。",
        "安装它:`apt-get install -y libc6-dev`、`dnf install glibc-devel`(命令中带 `-static` 时还需 `glibc-static`),"
        "conda 中 `conda install -c conda-forge gcc gxx sysroot_linux-64`;或指定其他编译器:`export CC=/usr/bin/gcc "
        "CXX=/usr/bin/g++`。",
    ),
)

LOG_MESSAGE_LDCONFIG = Message(
    en=Words(
        "Triton asks `ldconfig` where the driver's libcuda.so lies, and that command fails",
        "`/sbin/ldconfig -p` is not there (slim images, NixOS, some clusters) or ends with an error (no or a broken "
        "/etc/ld.so.cache, a read-only container). Triton needs the folder before it compiles its first kernel; "
        "torch.compile and vLLM only pass the failure on.",
        "Tell Triton the folder: `export TRITON_LIBCUDA_PATH=/usr/lib/x86_64-linux-gnu` (where `find / -name "
        "'libcuda.so*'` finds it), in every process of the run. Or mend the command: run `ldconfig` once as root, "
        "install `libc-bin`, put it into the image.",
    ),
    zh=Words(
        "Triton 用 `ldconfig` 查询驱动的 libcuda.so 位置,而该命令在此系统上失败",
        "`/sbin/ldconfig -p` 不存在(精简镜像、NixOS、部分集群)或返回错误(没有或损坏的 /etc/ld.so.cache、只读容器)。"
        "Triton 在编译第一个内核之前需要该目录;torch.compile 与 vLLM 只是传递该错误。",
        "直接告诉 Triton 目录:`export TRITON_LIBCUDA_PATH=/usr/lib/x86_64-linux-gnu`(用 `find / -name 'libcuda.so*'` "
        "找到的位置),对所有进程生效。或修复该命令:以 root 运行一次 `ldconfig`,安装 `libc-bin`,并写入镜像。",
    ),
)

LOG_MESSAGE_COMMAND = Message(
    en=Words(
        "the C compiler failed on the stub that Triton compiles",
        "The compiler's own message stands above the traceback or was not kept. Usual reasons: Python's "
        "headers are missing, the driver's libcuda.so is not found (there is only libcuda.so.1, or the compiler is "
        "conda's, which does not look into the system's folders), or gcc itself is incomplete.",
        "Run the command of the message by hand and read what it says; install `build-essential` and "
        "`python3-dev`, or name the system's compiler: `export CC=/usr/bin/gcc CXX=/usr/bin/g++`. For `-lcuda`: "
        "`export TRITON_LIBCUDA_PATH=` the folder of libcuda.so.1 and link it there: `ln -s libcuda.so.1 libcuda.so`.",
    ),
    zh=Words(
        "C 编译器在编译 Triton 的存根时失败",
        "编译器自己的报错在调用栈上方,或没有保留。常见原因:缺少 Python 头文件、找不到驱动的 libcuda.so(只有 "
        "libcuda.so.1,或使用的是不搜索系统目录的 conda 编译器),或 gcc 不完整。",
        "手动执行报错中的命令并查看输出;安装 `build-essential` 和 `python3-dev`,或指定系统编译器:`export "
        "CC=/usr/bin/gcc CXX=/usr/bin/g++`。若是 `-lcuda`:`export TRITON_LIBCUDA_PATH=` 设为 libcuda.so.1 "
        "所在目录,并在其中建立链接:`ln -s libcuda.so.1 libcuda.so`。",
    ),
)

LOG_MESSAGE_WINDOWS = Message(
    en=Words(
        "the C compiler failed on the stub that Triton compiles on Windows",
        "Triton compiles a small C file with Python's headers and links it with `python3XX.lib` and `cuda.lib`. The "
        "embedded Python of portable packages has neither headers nor `libs`; MinGW's gcc does not take these "
        "libraries; MSVC needs its build tools and a Windows SDK. What the compiler said stands above the traceback.",
        "`pip install -U triton-windows` in place of triton (one for the installed torch: 3.3 for torch 2.7, 3.2 for "
        "2.6): newer ones bring a compiler of their own (TinyCC). For an embedded Python copy `include` and `libs` of "
        "an installed Python of the same version beside its python.exe. Else take WSL 2, or do without Triton: "
        "`TORCHDYNAMO_DISABLE=1`, `torch_compile=False`.",
    ),
    zh=Words(
        "在 Windows 上,C 编译器编译 Triton 的存根时失败",
        "Triton 用 Python 头文件编译一个小的 C 文件,并链接 `python3XX.lib` 与 `cuda.lib`。便携包的嵌入式 Python 既没有"
        "头文件也没有 `libs`;MinGW 的 gcc 不适用于这些库;MSVC 需要其生成工具和 Windows SDK。编译器自己的报错在调用栈上"
        "方。",
        "`pip install -U triton-windows` 代替 triton(与已安装的 torch 配套:torch 2.7 用 3.3,2.6 用 3.2):较新版本自带编"
        "译器(TinyCC)。嵌入式 Python 请从同版本的完整 Python 复制 `include` 与 `libs` 到其 python.exe 旁。否则使用 "
        "WSL 2,或不用 Triton:`TORCHDYNAMO_DISABLE=1`、`torch_compile=False`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """What the compiler lacks tells what to install."""
    header, library = hits.get("header"), hits.get("library")
    if hits.get("ldconfig"):
        return found(PROBLEM, LOG_MESSAGE_LDCONFIG, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED)
    if hits.get("windows"):
        return found(PROBLEM, LOG_MESSAGE_WINDOWS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if hits.of(0) or hits.of(1):
        message = LOG_MESSAGE
    elif header:
        message = LOG_MESSAGE_PYTHON if header == "Python.h" else LOG_MESSAGE_HEADER
    else:
        message = LOG_MESSAGE_COMMAND
        if library:
            message = LOG_MESSAGE_LINK if library == "cuda" else LOG_MESSAGE_LIBC
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is LOG_MESSAGE_COMMAND else CONFIRMED,
        header=header,
        library=library,
    )
