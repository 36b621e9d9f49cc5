"""torch_npu cannot use an Ascend NPU.

## What it means
The libraries of CANN and of the driver come with no Python package: they are found through the variables that CANN's
`set_env.sh` sets, and in a container the driver's folder has to be mounted. Calls that reach the NPU fail with a number
when the card is in error or taken, or when the versions do not belong together.
## What it does to a run
The import of torch_npu or the first call to the NPU ends the process.
## What to do
Source the environment of CANN, mount driver and devices, and look at the card with `npu-smi info`.
## How it is found
In a log: by the missing library or by torch_npu's message with the call and its number.
## References
https://github.com/vllm-project/vllm-ascend/issues/19
https://docs.vllm.ai/projects/ascend/en/latest/installation.html
https://gitcode.com/Ascend/pytorch
https://github.com/hiyouga/LlamaFactory/issues/3796
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR038", name="npu-call-failed", severity=ERROR, since="0.1")

#: these come with the driver on the host, all others with CANN
_OF_DRIVER = frozenset({"ascend_hal", "drvdsmi_host", "c_sec"})

SIGNATURES = (
    Signature(
        r"(?:^|[\s:])lib(?P<library>ascend_hal|ascendcl|hccl|ge_runner|opapi|nnopbase|msprofiler|drvdsmi_host|c_sec"
        r"|acl_op_compiler|acl_dvpp|atb(?:_\w{1,20})?|asdops|mki|tbe_adapter)\.so"
        r"(?:\.\d{1,3})?: cannot open shared object file",
    ),
    Signature(
        r"(?:RuntimeError|NPU function error): (?:call )?(?P<operation>aclnn\w{2,60}|aclop\w{2,60}) (?:failed|error)"
        r"(?:, error code is (?P<status>\d{1,7}))?",
        symptom_of=("MEM026", "NCC029"),
    ),
    Signature(
        r"NPU function error: (?P<call>(?!call )[\w:]{2,80})[^\n]{0,80}error code is (?P<number>\d{1,7})",
        symptom_of=("MEM020", "MEM026", "NCC029"),
    ),
    Signature(r"(?P<absent>aclnn\w{2,80}) or \w{2,100} not in lib\w{2,20}\.so"),
    Signature(
        r"(?P<compiler>EC0010|Failed to import Python module) ?(?::|\[)[^\n]{0,120}?(?:No module named "
        r"'(?P<module>[\w.]{1,60})'"
        r"|\[(?P<failure>\w{1,40}Error): )",
        keywords=("Failed to import Python module",),
    ),
    Signature(
        r"\bOp (?P<kernelless>\w{1,60}) does not has any binary|Parse dynamic kernel config fail"
        r"|[Cc]annot parse json for config file \[(?P<config>[^\]\n]{1,300})\]"
        r"|binary_info_config\.json of socVersion \[\w{1,40}\] does not support opType \[(?P<type>\w{1,60})\]",
    ),
    Signature(
        r"set (?P<variable>ASCEND_(?:RT_)?VISIBLE_DEVICES|ASCEND_DEVICE_ID):(?P<devices>[\d,\- ]{1,80}) error, "
        r"input data rang\w{0,2} ?\[(?P<range>\d{1,3}-\d{1,3})\)",
    ),
    Signature(
        r"\bE[A-Z0-9]\d{4}: [^\n]{0,100}?Failed to compile Op \[(?P<uncompiled>[\w/\-]{1,100})",
        keywords=("Failed to compile Op [",),
        symptom_of=("MEM026",),
    ),
    Signature(
        r"RuntimeError: (?P<call>ACL stream synchronize) failed, error code: ?(?P<number>\d{1,7})",
        symptom_of=("MEM020", "MEM026", "NCC029"),
    ),
)

HIDDEN = Message(
    en=Words(
        "`{variable}` names NPU {devices}, and this process has only {range} (the last excluded)",
        "Only so many NPUs were given to the container or the machine, and they are counted from 0 there, whatever "
        "their numbers on the host. A number outside makes all of them vanish, so that torch_npu finds no valid "
        "device.",
        "`npu-smi info` in the same container shows what is there: number from 0 (`export {variable}=0,1`), or give "
        "the container the cards (`--device /dev/davinci4`, `-e ASCEND_VISIBLE_DEVICES=4` of the Ascend runtime, "
        "which stands for the host's numbers) and do not set `ASCEND_RT_VISIBLE_DEVICES` inside as well.",
    ),
    zh=Words(
        "`{variable}` 指定了 NPU {devices},而该进程只有 {range}(不含末尾)",
        "容器或机器只得到这些 NPU,并从 0 开始编号,与宿主机编号无关。超出范围会使全部 NPU 不可见,torch_npu "
        "因而找不到有效设备。",
        "在同一容器中用 `npu-smi info` 查看现有的卡:从 0 编号(`export {variable}=0,1`),或把卡交给容器(`--device "
        "/dev/davinci4`,或 Ascend runtime 的 `-e ASCEND_VISIBLE_DEVICES=4`,使用宿主机编号),且不要在容器内再设置 "
        "`ASCEND_RT_VISIBLE_DEVICES`。",
    ),
)

LOG_MESSAGE_OPERATION = Message(
    en=Words(
        "an operation of the Ascend NPU failed: `{operation}`",
        "{status}CANN refused it or it went wrong on the card: a dtype, shape or layout that this operation does not "
        "take on this NPU, a CANN without the kernels of this card, or versions of CANN, torch_npu and vLLM-Ascend "
        "that do not belong together. CUDA has no part in it.",
        "Read the lines with a code (EZ1001 and EZ3003: an argument or a missing kernel; EZ9999: inner error) below. "
        "Use bfloat16 or float16, install the CANN kernels of this chip, and take the triple of versions that the "
        "release table of torch_npu or vLLM-Ascend names. `export ASCEND_LAUNCH_BLOCKING=1` shows the call.",
    ),
    zh=Words(
        "昇腾 NPU 的算子失败:`{operation}`",
        "{status_zh}CANN 拒绝了它,或在卡上出错:该算子在此 NPU 上不支持的 dtype、形状或布局,CANN 缺少该芯片的 kernels,或"
        " CANN、torch_npu、vLLM-Ascend 版本不配套。与 CUDA 无关。",
        "查看下方带错误码的行(EZ1001、EZ3003:参数问题或缺少算子;EZ9999:内部错误)。使用 bfloat16 或 float16,安装该芯片的"
        " CANN kernels,并采用 torch_npu 或 vLLM-Ascend 版本配套表中的一组版本。`export ASCEND_LAUNCH_BLOCKING=1` 可显示"
        "出错的调用。",
    ),
)

LOG_MESSAGE_DRIVER = Message(
    en=Words(
        "`lib{library}.so`, a library of the Ascend driver, is not found",
        "It comes with the NPU's driver on the host, not with CANN or a Python package. In a container "
        "the driver's folder and the devices must be mounted; else its path is missing in "
        "LD_LIBRARY_PATH.",
        "Start the container with `--device /dev/davinci0 ... --device /dev/davinci_manager --device "
        "/dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v "
        "/usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi`, and `export "
        "LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64/driver:/usr/local/Ascend/driver/lib64/common:"
        "$LD_LIBRARY_PATH`. "
        "`npu-smi info` must work inside.",
    ),
    zh=Words(
        "找不到昇腾驱动的库 `lib{library}.so`",
        "它随宿主机的 NPU 驱动提供,不在 CANN 或 Python 包中。容器需要挂载驱动目录与设备;否则是 "
        "LD_LIBRARY_PATH 中缺少其路径。",
        "启动容器时加上 `--device /dev/davinci0 ... --device /dev/davinci_manager --device "
        "/dev/devmm_svm --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v "
        "/usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi`,并 `export "
        "LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64/driver:/usr/local/Ascend/driver/lib64/common:"
        "$LD_LIBRARY_PATH`"
        "。容器内 `npu-smi info` 必须可用。",
    ),
)

LOG_MESSAGE_CANN = Message(
    en=Words(
        "`lib{library}.so`, a library of CANN, is not found",
        "torch_npu needs CANN (toolkit, kernels, and nnal for vLLM-Ascend), which no Python package "
        "brings. Its variables are not set in the shell, batch script or Ray worker that runs this, or "
        "CANN is not installed.",
        "`source /usr/local/Ascend/ascend-toolkit/set_env.sh` (and "
        "`/usr/local/Ascend/nnal/atb/set_env.sh`) before the start, on every node and before `ray "
        "start`; check `echo $ASCEND_HOME_PATH`. CANN, torch and torch_npu must be a triple that "
        "torch_npu's release table lists.",
    ),
    zh=Words(
        "找不到 CANN 的库 `lib{library}.so`",
        "torch_npu 需要 CANN(toolkit、kernels,vLLM-Ascend 还需要 nnal),没有 Python 包会附带它。运行此程序"
        "的 shell、批处理脚本或 Ray worker 没有设置其变量,或没有安装 CANN。",
        "启动前在每个节点、在 `ray start` 之前 `source /usr/local/Ascend/ascend-toolkit/set_env.sh`(以及 "
        "`/usr/local/Ascend/nnal/atb/set_env.sh`);用 `echo $ASCEND_HOME_PATH` 检查。CANN、torch 与 "
        "torch_npu 必须是 torch_npu 版本配套表中的一组。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a call to the Ascend NPU failed: `{call}`, code {number}",
        "The number alone does not tell why. The card may be in error or held by another process, a task "
        "on it ran too long or touched wrong memory (reported late, like CUDA errors), or driver, CANN "
        "and torch_npu do not belong together. CUDA has no part in it.",
        "Read the lines with a code (E followed by letters and digits) below the traceback, and "
        "`~/ascend/log/debug/plog`. `npu-smi info` shows the health of each card and who is on it: end "
        "what is left over, `npu-smi set -t reset -i ID -c 0` as root resets one. `export "
        "ASCEND_LAUNCH_BLOCKING=1` makes the traceback point at the call that failed.",
    ),
    zh=Words(
        "对昇腾 NPU 的调用失败:`{call}`,错误码 {number}",
        "仅凭该数字看不出原因。可能是卡处于故障或被另一进程占用,卡上任务超时或访问了错误内存(像 CUDA 错误"
        "一样延迟报告),或驱动、CANN、torch_npu 版本不配套。与 CUDA 无关。",
        "查看回溯下方带错误码(E 加字母数字)的行,以及 `~/ascend/log/debug/plog`。`npu-smi info` 显示各卡健"
        "康状况与占用者:结束残留进程,以 root 执行 `npu-smi set -t reset -i ID -c 0` 可复位。`export "
        "ASCEND_LAUNCH_BLOCKING=1` 让回溯指向真正失败的调用。",
    ),
)


ABSENT = Message(
    en=Words(
        "the installed CANN has no operation `{absent}`, which torch_npu calls",
        "torch_npu was built for a newer CANN than the one whose libraries were loaded, or the kernels package and "
        "the toolkit of CANN are of different releases, or another CANN stands first in the environment.",
        "Install the CANN toolkit, kernels and nnal of one release, the one that torch_npu's (vLLM-Ascend's) release "
        "table lists, and source its own `set_env.sh` (`cat $ASCEND_HOME_PATH/version.cfg` tells what is loaded); or "
        "take an older torch_npu that fits the CANN.",
    ),
    zh=Words(
        "所装 CANN 没有 torch_npu 调用的算子 `{absent}`",
        "torch_npu 针对的 CANN 比所加载的更新,或 CANN 的 kernels 包与 toolkit 版本不同,或环境中另一个 CANN 排在前面。",
        "安装同一版本的 CANN toolkit、kernels 与 nnal,即 torch_npu(vLLM-Ascend)版本配套表所列的版本,并 source "
        "其自己的 `set_env.sh`(`cat $ASCEND_HOME_PATH/version.cfg` 可看到所加载的版本);或换用与该 CANN 配套的较旧 "
        "torch_npu。",
    ),
)
COMPILER = Message(
    en=Words(
        "CANN's operator compiler cannot import a Python module{which}",
        "The compiler (TBE) runs in the Python of the program and needs packages of its own there: `numpy` below 2 up "
        "to CANN 8.2, `decorator`, `sympy`, `scipy`, `attrs`, `psutil`, `cloudpickle`, `protobuf` and others. Without "
        "them the first `torch.npu.set_device` fails with an inner error of ACL.",
        "`pip install 'numpy<2' attrs cython decorator sympy cffi pyyaml pathlib2 psutil protobuf==3.20 scipy "
        "requests absl-py cloudpickle` in that environment, and source CANN's `set_env.sh` in the shell that starts "
        "the program, so that `te` and `tbe` are found.",
    ),
    zh=Words(
        "CANN 的算子编译器无法导入 Python 模块{which_zh}",
        "编译器(TBE)在程序的 Python 中运行,需要自己的依赖包:CANN 8.2 及以前要求 `numpy` 低于 2,另有 `decorator`、"
        "`sympy`、`scipy`、`attrs`、`psutil`、`cloudpickle`、`protobuf` 等。缺少时,第一次 `torch.npu.set_device` 就会以"
        " ACL 内部错误失败。",
        "在该环境中 `pip install 'numpy<2' attrs cython decorator sympy cffi pyyaml pathlib2 psutil protobuf==3.20 "
        "scipy requests absl-py cloudpickle`,并在启动程序的 shell 中 source CANN 的 `set_env.sh`,以便找到 `te` 与 "
        "`tbe`。",
    ),
)
UNCOMPILED = Message(
    en=Words(
        "CANN could not compile an operator for the NPU: `{uncompiled}`",
        "Operators without a ready-made binary are compiled on first use (TBE). It fails where CANN is older than "
        "torch_npu expects, toolkit and kernels are of different releases, the operator does not take these shapes, "
        "dtypes or this chip, or the compiler's Python packages are missing. Model and CUDA have no part in it.",
        "Read the lines of the same code below it, and `~/ascend/log/debug/plog`. Install the CANN (toolkit and "
        "kernels of one release) that torch_npu's release table names, or the torch_npu that belongs to the CANN that "
        "is there. `torch.npu.set_compile_mode(jit_compile=False)` before the model is made takes ready binaries "
        "where there are any.",
    ),
    zh=Words(
        "CANN 无法为 NPU 编译算子:`{uncompiled}`",
        "没有现成二进制的算子在首次使用时编译(TBE)。CANN 比 torch_npu 所需的旧、toolkit 与 kernels 版本不同、算子不支"
        "持这些形状、dtype 或该芯片,或缺少编译器的 Python 依赖时会失败。与模型和 CUDA 无关。",
        "查看其下同一错误码的行以及 `~/ascend/log/debug/plog`。安装 torch_npu 版本配套表指定的 CANN(toolkit 与 "
        "kernels 同一版本),或安装与现有 CANN 配套的 torch_npu。在创建模型之前 "
        "`torch.npu.set_compile_mode(jit_compile=False)` 可在有现成二进制时直接使用。",
    ),
)
KERNELS = Message(
    en=Words(
        "CANN has no compiled kernels for this NPU{which}",
        "The operators of CANN come as binaries for one chip each (910, 910B, 910_93, 310P), in a package of their "
        "own beside the toolkit. It is not installed, is that of another chip or another release, or its files "
        "cannot be read.",
        "Install the kernels package of this chip and of the toolkit's own release: `npu-smi info` names the chip, "
        "then `./Ascend-cann-kernels-910b_8.0.RC3_linux.run --install` (newer CANN: `Ascend-cann-910b-ops`), and "
        "source `set_env.sh` anew. `ls $ASCEND_HOME_PATH/opp/built-in/op_impl/ai_core/tbe/kernel` must have a folder "
        "for the chip. Images of CANN (`quay.io/ascend/cann`) bring both; take the tag of the chip.",
    ),
    zh=Words(
        "CANN 没有该 NPU 的算子二进制(kernels){which_zh}",
        "CANN 的算子按芯片(910、910B、910_93、310P)以单独的 kernels 包提供。该包没有安装,"
        "属于其他芯片或其他版本,或其文件不可读。",
        "安装与芯片、toolkit 版本一致的 kernels 包:`npu-smi info` 可看到芯片,然后 "
        "`./Ascend-cann-kernels-910b_8.0.RC3_linux.run --install`(较新的 CANN:`Ascend-cann-910b-ops`),并重新 source "
        "`set_env.sh`。`ls $ASCEND_HOME_PATH/opp/built-in/op_impl/ai_core/tbe/kernel` 中必须有该芯片的目录。CANN 镜像"
        "(`quay.io/ascend/cann`)两者都带,请选择对应芯片的标签。",
    ),
)
#: first digits of an aclnn status -> what kind it is (ACLNN_ERR_PARAM_*, ACLNN_ERR_RUNTIME_*, ACLNN_ERR_INNER_*)
_STATUS = {
    "161": ("Its code stands for an argument that the operation does not take. ", "该错误码表示算子不接受某个参数。"),
    "361": ("Its code stands for a failure in CANN's runtime. ", "该错误码表示 CANN runtime 失败。"),
    "561": (
        (
            "Its code stands for an inner error: often the kernels of this chip are not installed, or CANN and the "
            "card's driver and firmware do not match. "
        ),
        "该错误码表示内部错误:常为没有安装该芯片的 kernels,或 CANN 与驱动、固件版本不匹配。",
    ),
}


def _kernels(hits: Hits) -> Finding:
    """The package of binaries for the chip."""
    name = hits.get("kernelless") or hits.get("type")
    return found(
        PROBLEM, KERNELS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, commands=("npu-smi info",),
        which=f": `{name}` is missing" if name else "", which_zh=f":缺少 `{name}`" if name else "",
    )  # fmt: skip


def _other(hits: Hits) -> Finding | None:
    """An operation that CANN does not have, a compiler that lacks a package, or cards that are not there."""
    if hits.get("variable"):
        return found(
            PROBLEM, HIDDEN, where=hits.where(), evidence=hits.evidence(), commands=("npu-smi info",),
            variable=hits.get("variable") or "", devices=(hits.get("devices") or "").strip(),
            range=(hits.get("range") or "").replace("-", " to "),
        )  # fmt: skip
    if hits.of(5):
        return _kernels(hits)
    if uncompiled := hits.get("uncompiled"):
        return found(
            PROBLEM, UNCOMPILED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            uncompiled=uncompiled, commands=("npu-smi info",),
        )  # fmt: skip
    module, absent = hits.get("module") or hits.get("failure"), hits.get("absent")
    if not absent and not hits.get("compiler"):
        return None
    return found(
        PROBLEM, ABSENT if absent else COMPILER, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        absent=absent or "", which=f": `{module}`" if module else "", which_zh=f":`{module}`" if module else "",
    )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """A library that is not found, or a call that the NPU refused."""
    other = _other(hits)
    if other is not None:
        return other
    status, status_zh = _STATUS.get((hits.get("status") or "")[:3], ("", ""))
    library, operation = hits.get("library"), hits.get("operation")
    message = LOG_MESSAGE_DRIVER if library in _OF_DRIVER else LOG_MESSAGE_CANN if library else LOG_MESSAGE
    return found(
        PROBLEM,
        LOG_MESSAGE_OPERATION if operation and not library else message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if library else LIKELY,
        library=library or "",
        operation=operation or "",
        status=status,
        status_zh=status_zh,
        call=hits.get("call") or "",
        number=hits.get("number") or "",
        commands=("npu-smi info",),
    )
