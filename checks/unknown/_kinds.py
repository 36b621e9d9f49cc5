"""What kind of problem an unknown exception is, by its type: what that kind usually means and what to try first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from doctor.base.patterns import later


@dataclass(frozen=True)
class Kind:
    """Whole sentences about one kind of failure, in English and Chinese: what it is, and what to do first."""

    what: str
    what_zh: str
    first: str
    first_zh: str


IMPORT = Kind(
    "This kind is a matter of installation: a package is missing, broken, or made for another version of its "
    "neighbour.",
    "这类失败属于安装问题:缺少包、包已损坏,或与相邻包的版本不匹配。",
    "Run `doctor check` in the same environment; compare the versions of the package that imports and of the "
    "one that is imported.",
    "在同一环境中运行 `doctor check`,核对导入方与被导入包的版本。",
)
ARGUMENT = Kind(
    "This kind comes from a call that does not fit the installed version: an argument was renamed, removed or "
    "not there yet.",
    "这类失败通常因为调用方式与已安装版本不符:参数被改名、删除或尚不存在。",
    "Compare the call in your own code with the signature in the installed version, or install the version the "
    "code was written for.",
    "将自己代码中的调用与已安装版本的函数签名对照,或安装代码所针对的版本。",
)
CONFIGURATION = Kind(
    "A library refused a value it was given; the settings that lead there are the place to look.",
    "库拒绝了传入的值,应检查相关设置。",
    "Look up what the refusing function expects and compare it with the configuration and launch command.",
    "查明拒绝该值的函数期望什么,并与配置和启动命令对照。",
)
SETTINGS = Kind(
    "A check of the settings refused them; its message says what it wants otherwise, or which of them exclude each "
    "other.",
    "设置检查拒绝了这些设置;异常消息说明了应改成什么,或哪些设置彼此冲突。",
    "Change what the message names, in the configuration file or the command. Names and rules change with releases: "
    "compare with the reference or an example of the installed one.",
    "按异常消息所提到的项修改配置文件或启动命令。名称与规则会随版本变化:与已安装版本的配置说明或示例对照。",
)
OWN_CODE = Kind(
    "It was raised in your own code, not in a library.",
    "异常出自用户自己的代码,而非库。",
    "Start with the innermost frame of your own code that is named above, with the data it had at that step.",
    "从上面给出的自己代码的最内层栈帧入手,检查当时的数据。",
)
OWN_ATTRIBUTE = Kind(
    "Your own code asks an object for an attribute or method that its class does not have: it was written for another "
    "class (another model, or the one inside a wrapper of PEFT, DDP, DeepSpeed or Accelerate) or for another release "
    "of the library.",
    "自己的代码访问了对象的类所没有的属性或方法:代码是为另一个类(另一种模型,或 PEFT、DDP、DeepSpeed、Accelerate 包装"
    "之内的对象)或库的另一版本编写的。",
    "Print `type(obj)` and `dir(obj)` at the innermost frame of your own code that is named above; take the object out "
    "of its wrapper (`accelerator.unwrap_model(model)`, `model.get_base_model()`), change the line to what this class "
    "offers, or install the releases that the project's requirements name.",
    "在上面给出的自己代码的最内层栈帧打印 `type(obj)` 与 `dir(obj)`;把对象从包装中取出"
    "(`accelerator.unwrap_model(model)`、`model.get_base_model()`),按该类提供的内容修改这一行,或安装项目 requirements "
    "所列的版本。",
)
CUDA = Kind(
    "A CUDA error is reported late: the call that shows it need not be the one that caused it.",
    "CUDA 错误是异步上报的:报错的调用未必是出错的调用。",
    "Run once more with `CUDA_LAUNCH_BLOCKING=1` so that the traceback points at the call that failed.",
    "用 `CUDA_LAUNCH_BLOCKING=1` 重跑一次,使回溯指向真正出错的调用。",
)
HIP = Kind(
    "HIP, AMD's counterpart of CUDA, reports errors late: the call that shows it need not be the one that caused it.",
    "HIP(AMD 的 CUDA 对应物)异步上报错误:报错的调用未必是出错的调用。",
    "Run once more with `AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1` so that the traceback points at the call that "
    "failed, with `AMD_LOG_LEVEL=3` for the call's arguments, and with one GPU alone (`HIP_VISIBLE_DEVICES=0`; an "
    "integrated one is a GPU too). Compare `torch.version.hip` with the ROCm that the installed driver supports.",
    "用 `AMD_SERIALIZE_KERNEL=3 HIP_LAUNCH_BLOCKING=1` 重跑一次,使回溯指向真正出错的调用;用 `AMD_LOG_LEVEL=3` "
    "查看调用参数;并只用一张 GPU(`HIP_VISIBLE_DEVICES=0`,核显也算一张)。将 `torch.version.hip` "
    "与已安装驱动所支持的 ROCm 对照。",
)
MEMORY = Kind(
    "Memory ran out; the traceback shows who asked last, not who holds it.",
    "内存或显存耗尽;回溯显示的是最后一次申请者,而非占用者。",
    "Note the sizes in the message, then lower batch size, sequence length or the share that vLLM reserves.",
    "记下消息中的大小,然后减小批大小、序列长度或 vLLM 预留的比例。",
)
NETWORK = Kind(
    "A connection failed: the other side is not there, or something between refuses it.",
    "连接失败:对端不存在,或中间环节拒绝连接。",
    "Check that the other side runs and listens at that address, and what `http_proxy` and `no_proxy` say.",
    "确认对端正在该地址监听,并检查 `http_proxy` 与 `no_proxy`。",
)
REFUSED = Kind(
    "A server was reached, and answers with an error: it does not have what is asked for (404), wants another login "
    "(401, 403), or is in trouble itself (50x).",
    "已连上服务器,但它返回错误:没有所请求的内容(404)、需要其他登录身份(401、403),或服务器自身故障(50x)。",
    "Read the address in the message: a name that was meant as a folder, a slip in it, or the wrong server; for a "
    "login look at the token of that server, for 50x try again later.",
    "查看异常消息中的地址:本意是目录的名称、拼写错误或服务器不对;登录问题检查该服务器的 token,50x 请稍后重试。",
)
FILES = Kind(
    "A file or folder is not there, not readable, or not what it should be.",
    "文件或目录不存在、不可读,或内容不符。",
    "Check the path from the machine and container where the process ran, its permissions and the free space.",
    "在进程所在的机器和容器中检查该路径、权限与剩余空间。",
)
ENDPOINT = Kind(
    "A connection that somebody still uses is gone: of a socket, or of a network mount (FUSE, NFS), which the line "
    "does not tell apart because it names no path.",
    "仍在使用的连接已断开:可能是套接字,也可能是网络挂载(FUSE、NFS);该行没有给出路径,无法区分。",
    "Look at the innermost frame: for a file, `mount` and `df -hT` show whether its mount still answers (`umount -l`, "
    "then mount it again); for a socket, why the other side closed it.",
    "查看最内层栈帧:若是文件,用 `mount` 与 `df -hT` 查看挂载是否仍有响应(`umount -l` 后重新挂载);"
    "若是套接字,查明对端为何关闭。",
)
OTHER = Kind(
    "Its type alone does not tell what kind of problem it is.",
    "仅凭类型无法判断属于哪类问题。",
    "Read the traceback in the evidence from its innermost frame outwards.",
    "从最内层栈帧开始阅读依据中的回溯。",
)

SHAPE = Kind(
    "Two tensors do not fit together in size: a batch, a sequence or a vocabulary has another length than the code "
    "there expects.",
    "两个张量的大小不匹配:批次、序列或词表的长度与该处代码的预期不同。",
    "Print the shapes that enter the innermost frame; compare padding, truncation, the number of generations and the "
    "size of tokenizer and embedding.",
    "打印进入最内层栈帧的张量形状;核对填充、截断、每个提示的生成数,以及分词器与嵌入层的大小。",
)
DTYPE = Kind(
    "Tensors of different precision meet: one part of the model was loaded or cast to another dtype than the rest.",
    "不同精度的张量相遇:模型的一部分以另一种 dtype 加载或转换。",
    "Load all of it in one dtype (`torch_dtype`/`dtype`), and let one place decide about mixed precision: trainer, "
    "Accelerate or DeepSpeed.",
    "以同一种 dtype 加载整个模型(`torch_dtype`/`dtype`),并只在一处决定混合精度:训练器、Accelerate 或 DeepSpeed。",
)
GRADIENT = Kind(
    "Autograd refuses the backward pass: a graph is missing, was freed, or was changed between forward and backward.",
    "自动求导拒绝反向传播:计算图缺失、已释放,或在前向与反向之间被改动。",
    "Look at what is frozen, at gradient checkpointing (`use_reentrant`) and at in-place changes on the way to the "
    "loss.",
    "检查哪些参数被冻结、梯度检查点(`use_reentrant`)以及通向损失的原位修改。",
)
COLLECTIVE = Kind(
    "Communication between ranks failed; the rank that says so need not be the one that is to blame.",
    "rank 之间的通信失败;报错的 rank 未必是出问题的一方。",
    "Read the logs of all ranks for the one that stopped first, and check network interface and `/dev/shm`.",
    "阅读所有 rank 的日志,找出最先停止的一个,并检查网络接口与 `/dev/shm`。",
)
STATE = Kind(
    "Saved weights or states do not fit the model that they are loaded into, or the file is not whole.",
    "保存的权重或状态与加载它的模型不符,或文件不完整。",
    "Check that the checkpoint belongs to this model and library version, and that its files are complete.",
    "确认检查点属于该模型与库版本,且文件完整。",
)
COMPILER = Kind(
    "Compiling a kernel or a graph failed; the model itself would run without being compiled.",
    "编译内核或计算图失败;不编译时模型本身可以运行。",
    "Run once more without it: `TORCHDYNAMO_DISABLE=1` for torch.compile, `enforce_eager=True` for vLLM.",
    "不编译再运行一次:torch.compile 用 `TORCHDYNAMO_DISABLE=1`,vLLM 用 `enforce_eager=True`。",
)
DEFINITION = Kind(
    "A name that the code relies on does not exist in what is installed: two packages are of different eras, or an "
    "import is missing.",
    "代码依赖的名称在已安装的包中不存在:两个包的版本不属于同一时期,或缺少导入。",
    "Compare the version of the package that raised with the versions it was released for (`pip show`), and upgrade "
    "or pin one of the two.",
    "将抛出异常的包与其发布时所支持的版本对照(`pip show`),升级或固定其中之一。",
)

UNMADE = Kind(
    "Your own code uses a name before anything of that name was made: it is written in another way elsewhere, its "
    "import is missing, the cell or the branch that makes it did not run, or it was made inside a function.",
    "自己的代码使用了尚未定义的名称:别处的写法不同、缺少 import、定义它的单元格或分支没有执行,或它只在某个函数内部定义"
    "。",
    "Search that file for the name and for names like it; add the import, run the notebook from its beginning, or give "
    "it a value before the branch. Where it stands in a `finally` or `except`, the exception above is the cause.",
    "在该文件中查找该名称及相近的名称;补上 import、从头运行 notebook,或在分支之前赋值。若它位于 `finally` 或 "
    "`except` 中,原因是上面那个异常。",
)
NOTHING = Kind(
    "A value that the code needs there is `None`: a setting that was not given, an object that was not made, or a "
    "function that returned nothing.",
    "该处代码需要的值是 `None`:某个设置没有给出,某个对象没有创建,或某个函数没有返回值。",
    "See in the innermost frame which name is `None`, and where it should have been set: an option, a column, a "
    "return.",
    "在最内层栈帧中看哪个名称是 `None`,以及它应在何处被设置:选项、数据列或返回值。",
)
OTHER_TYPE = Kind(
    "A value has another type than the code there expects: often a column of the data or a setting in another form.",
    "某个值的类型与该处代码的预期不同:常常是数据列或设置的形式不同。",
    "Print the value that enters the innermost frame; compare it with the form that the documentation shows (text or "
    "a list of messages, a number or a string).",
    "打印进入最内层栈帧的值,与文档给出的形式比较(文本或消息列表,数字或字符串)。",
)
ENTRY = Kind(
    "An entry that the code looks up by name is not there: a column of the data, a key of the configuration, or the "
    "name of a weight.",
    "代码按名称查找的条目不存在:数据列、配置键或权重名称。",
    "Print the names that are there, and compare them with the one it asks for; a setting that should have added it "
    "may be off.",
    "打印现有的名称并与所需的比较;也可能是本应添加它的设置没有打开。",
)

INVARIANT = Kind(
    "A library found its own data at odds with itself: two lengths or shapes that should be equal are not. That is a "
    "bug of this release, or a function of yours that it calls returned something of another length.",
    "库发现自己的数据前后矛盾:本应相等的两个长度或形状不相等。这是该版本的缺陷,或它调用的你的函数返回了不同长度的内容。"
    "",
    "Search the library's issues for the asserted line and try a newer release; compare the lengths that your own "
    "rollout, reward or generate function returns with those of its inputs.",
    "用断言的那一行在该库的 issue 中搜索,并尝试更新的版本;核对自己的 rollout、奖励或生成函数返回的长度与输入是否一致。",
)
EMPTY = Kind(
    "Something that must not be empty is: nothing was generated, selected or left over after filtering.",
    "不应为空的内容为空:没有生成、选中任何内容,或过滤之后什么也没剩下。",
    "Print the length of what enters the innermost frame and go back to where it became empty: a generation that "
    "failed earlier in the log, a filter or a mask that keeps nothing, an empty file or split.",
    "打印进入最内层栈帧的内容的长度,并追溯它在何处变空:日志中更早失败的生成、什么都不保留的过滤或掩码、空文件或空划"
    "分。",
)

_BY_TYPE = (
    (later(r"ImportError|ModuleNotFound|undefined symbol|DLL"), IMPORT),
    (later(r"OutOfMemory|MemoryError|OOM"), MEMORY),
    (later(r"AcceleratorError|Cuda|CUDA|CUDNN|NVML"), CUDA),
    (later(r"Dynamo|Inductor|BackendCompiler|CompilationError|OutOfResources|PTXAS"), COMPILER),
    (later(r"DistBackend|DistNetwork|DistStore|NCCL|Rendezvous"), COLLECTIVE),
    (later(r"Connection|Timeout|HTTP|URL|SSL|Socket|Proxy|Remote|gaierror"), NETWORK),
    (later(r"FileNotFound|Permission|IsADirectory|NotADirectory|FileExists|OSError|IOError|Safetensor"), FILES),
    (later(r"NameError|UnboundLocalError"), DEFINITION),
    (later(r"^ValidationError$"), SETTINGS),
    (later(r"CheckpointError"), GRADIENT),
)
#: what a message speaks of, for types that say nothing themselves
_BY_MESSAGE = (
    (later(r"out of memory|bad_alloc|Cannot allocate memory", re.IGNORECASE), MEMORY),
    (later(r"\bCUDA (?:driver )?error\b|\bcuda\w* error\b|CUBLAS_|CUDNN_", re.IGNORECASE), CUDA),
    (later(r"NCCL|ProcessGroup|process group|Gloo|TCPStore|collective", re.IGNORECASE), COLLECTIVE),
    (
        later(r"requires?[ _](?:a )?grad|backward|in-?place operation|autograd|inference tensor", re.IGNORECASE),
        GRADIENT,
    ),
    (
        later(r"state[_ ]dict|(?<!activation )(?<!gradient )checkpoint(?!ing|[- ]engine)|safetensors", re.IGNORECASE),
        STATE,
    ),
    (later(r"scalar type|dtype|\bHalf\b|BFloat16|bfloat16|float16"), DTYPE),
    (
        later(
            r"input\.numel\(\) == 0|Expected reduction dim|tensor of 0 elements|arg is an empty sequence|"
            r"iterable argument is empty|non-empty (?:TensorList|list|sequence)|torch\.cat\(\): expected a non-empty"
        ),
        EMPTY,
    ),
    (
        later(
            r"must match the size|size of tensor|shapes? cannot be|invalid for input of size|dimension(?!s by name)|"
            r"Sizes of tensors"
        ),
        SHAPE,
    ),
)
#: what these speak of is a limit or a fault, also where a check puts it into words of its own
_ALWAYS = (MEMORY, CUDA, COLLECTIVE)
#: exceptions and words by which a check refuses what was asked for, whatever else it names
_CHECKING = ("ValueError", "AssertionError", "NotImplementedError")
_REFUSING = later(
    r"\b(?:must be one of|should be one of|not (?:currently |yet )?supported|[Uu]nsupported|[Ii]ncompatible"
    r"|not compatible|not implemented|only supports?|requires (?!grad)|mutually exclusive"
    r"|cannot be (?:used|enabled|combined) )"
)
#: an attribute that an object of some class lacks
_LACKS = later(r"' object has no attribute '|^type object '")
_HIP = later(r"\bHIP (?:runtime )?error\b|\bhipError[A-Z]|HIPBLAS_STATUS|\bMIOpen\b|miopenStatus")
#: words of requests and httpx for an answer that is an error, of the dynamic loader for a library
_ANSWERED = later(
    r"\b[45]\d\d (?:Client|Server) Error\b|^(?:Client|Server) error '[45]\d\d |too many [45]\d\d error responses"
)
_LOADED = later(
    r"undefined symbol|cannot open shared object|invalid ELF header|version `\w{1,20}_[\d.]{1,10}' not found"
)
_NAMES = ("NameError", "UnboundLocalError")
_LOOKUPS = ("KeyError", "AttributeError", "IndexError")
_NONE = later(r"\bNoneType\b|\bis None\b|\bNone is not a\b")
_TYPES = later(
    r"can only concatenate|unsupported operand|indices must be|not supported between instances|must be (?:str|a "
    r"string|Tensor)"
    r"|object is not (?:callable|iterable|subscriptable)|argument of type '\w{1,40}' is not (?:iterable|a container)"
    r"|expected string or bytes|argument '\w{1,40}' \(position "
    r"\d{1,2}\) must be"
)
_UNEQUAL = later(r"(?:\b[Ll]en(?:gth)?s?\b|\bshapes?\b|\.size\b)[^\n]{0,120}(?:!=|==| vs\.? | does not match )")
_CALL = later(r"unexpected keyword argument|required positional argument|positional arguments? but")


#: functions that check settings, in files about them
_CHECKS = later(
    r"/(?:config|configs|schemas?|arguments|hparams|parser|validation)\b[\w/]*(?:\.py:\d{1,6}) "
    r"\((?:_?(?:valid|verify|check)\w{0,60}|__post_init__)\)$"
)
#: files of torch that fit saved states to a model
_STATES = later(r"^torch/distributed/(?:fsdp/_optim_utils|checkpoint/\w{1,40}|_state_dict_utils)\.py")
#: folders of torch and Triton in which code is compiled
_COMPILERS = later(r"^(?:torch/_(?:inductor|dynamo|functorch|higher_order_ops)|triton/(?:compiler|backends))/")


def kind_of(exception: str, *, own_code: bool, message: str = "", worded: str = "", place: str = "") -> Kind:
    """The kind of an exception; `own_code`: whether its innermost frame, `place`, is the user's own.

    `worded`: what a library said of it on the way out, which tells the subject where a failed look-up does not.
    """
    told = message[:2000]
    typed = _of_type(exception, told, own_code=own_code)
    if typed is not None:
        return typed
    placed = _of_place(exception, place)
    if placed is not None:
        return placed
    if exception in ("RuntimeError", "ValueError", "AssertionError", "Exception", "NotImplementedError"):
        refusing = exception in _CHECKING and _REFUSING.search(told)
        for pattern, kind in _BY_MESSAGE:
            if (not refusing or kind in _ALWAYS) and pattern.search(told):
                return kind
    if exception in _LOOKUPS and worded:
        for pattern, kind in _BY_MESSAGE:
            if pattern.search(worded[:2000]):
                return kind
    if exception == "TypeError" and _CALL.search(told):
        return ARGUMENT  # also where own code calls a library's function that has changed
    if exception in ("TypeError", "AttributeError") and _NONE.search(told):
        return NOTHING  # own code hits it too, where a setting of a library was left out
    if own_code and exception == "AttributeError" and _LACKS.search(told):
        return OWN_ATTRIBUTE
    return OWN_CODE if own_code else _of_library(exception, told)


def _of_type(exception: str, told: str, *, own_code: bool) -> Optional[Kind]:
    """The kind that a type tells; torch names the errors of HIP after CUDA, or after no maker."""
    if _HIP.search(told):
        return HIP
    if _ANSWERED.search(told):
        return REFUSED
    if exception == "OSError" and _LOADED.search(told):
        return IMPORT
    if exception == "OSError" and "Transport endpoint" in told:
        return ENDPOINT
    if own_code and exception in _NAMES:
        return UNMADE
    return next((kind for pattern, kind in _BY_TYPE if pattern.search(exception)), None)


def _of_place(exception: str, place: str) -> Optional[Kind]:
    """The kind that the place tells, whatever the message speaks of."""
    if _COMPILERS.search(place):
        return COMPILER
    if exception == "KeyError" and _STATES.search(place):
        return STATE
    return SETTINGS if exception in ("ValueError", "AssertionError") and _CHECKS.search(place) else None


def _of_library(exception: str, message: str) -> Kind:
    """The kind of what a library raised, where neither type nor subject told."""
    if exception == "TypeError" and _TYPES.search(message):
        return OTHER_TYPE
    if exception in ("TypeError", "AttributeError"):
        return ARGUMENT
    if exception == "KeyError":
        return ENTRY
    if exception == "AssertionError" and _UNEQUAL.search(message):
        return INVARIANT
    if exception in ("ValueError", "AssertionError", "NotImplementedError") or "Config" in exception:
        return CONFIGURATION
    return OTHER
