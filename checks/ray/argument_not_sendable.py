"""Something that is handed to a Ray task or actor cannot be sent.

## What it means
Arguments, results, classes and functions go to another process as bytes. Locks, open files, CUDA streams, connections
and loggers with them cannot be turned into bytes, and what is larger than gRPC or Ray's limit is refused.
## What it does to a run
The call fails before the actor or task starts.
## What to do
Make the object in the worker instead of sending it; put large ones into the object store.
## How it is found
In a log: by Ray's words, with the object that its own search points at.
## References
https://docs.ray.io/en/latest/ray-core/objects/serialization.html#troubleshooting
https://github.com/ray-project/ray/blob/master/python/ray/_private/utils.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="RAY031", name="argument-not-sendable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Could not serialize the (?P<kind>argument|actor class|function|put value|return value|exception) "),
    Signature(
        r"ValueError: The (?P<large>actor|remote function) (?P<name>[\w.<>]{1,160}) is too large "
        r"\((?P<size>\d{1,7}) MiB > "
        r"FUNCTION_SIZE_ERROR_THRESHOLD",
    ),
    Signature(r"(?:Received|Sent) message larger than max \((?P<message>\d{1,12}) vs\. (?P<limit>\d{1,12})\)"),
    Signature(r"FAIL serialization: [^\n]{0,40}cannot pickle '(?P<type>[\w. ]{1,60})' object", kind="sign"),
    Signature(r"FailTuple\((?P<culprit>\w{1,60}) \[obj=", kind="sign"),
)

PICKLE = Message(
    en=Words(
        "Ray cannot send {what}to another process{type}",
        "It goes there as bytes, and something inside it has no such form: a lock or thread, an open file or socket, a "
        "CUDA stream or process group, a generator, a logger or client that holds one of these. A function or class "
        "also carries along every global name that it uses.",
        "Do not send the object: send what it is made from (a path, a configuration) and make it inside the actor's "
        "`__init__` or the task. Keep such globals out of the module that defines the remote function. "
        "`ray.util.inspect_serializability(obj, name='obj')` shows the part that is to blame; a class of your own may "
        "leave it out with `__getstate__`.",
    ),
    zh=Words(
        "Ray 无法把 {what_zh}发送到另一个进程{type_zh}",
        "它以字节形式发送,而其中某部分没有这样的形式:锁或线程、打开的文件或 socket、CUDA stream 或进程组、生成器,或持有"
        "这些的 logger、客户端。函数或类还会带上它用到的所有全局变量。",
        "不要发送该对象:发送构造它所需的内容(路径、配置),在 actor 的 `__init__` 或任务中构造。不要在定义远程函数的模块"
        "中放这类全局变量。`ray.util.inspect_serializability(obj, name='obj')` 可指出问题所在;自己的类可用 "
        "`__getstate__` 去掉它。",
    ),
)
LARGE = Message(
    en=Words(
        "{what} is {size} MiB large, more than Ray sends along",
        "Its definition carries data: a model, data set or array that stands outside of it as a global or closure is "
        "packed together with the code, for each call anew.",
        "Take the data out: `ref = ray.put(data)` once and pass `ref` as an argument, or load it inside the actor from "
        "a path that every node sees.",
    ),
    zh=Words(
        "{what} 大小为 {size} MiB,超过 Ray 随代码发送的上限",
        "其定义携带了数据:位于其外的模型、数据集或数组作为全局变量或闭包,每次调用都会与代码一起打包。",
        "把数据移出:先 `ref = ray.put(data)`,再把 `ref` 作为参数传入;或在 actor 内从所有节点可见的路径加载。",
    ),
)
MESSAGE_SIZE = Message(
    en=Words(
        "a message of {size} MiB was to be sent, and gRPC's limit is {limit} MiB",
        "Many small arguments, a large batch in one call, or the package of `runtime_env` went over one connection (of "
        "Ray, its client, or a service of your own).",
        "Send less at once: `ray.put` the data and pass references, split the batch; for a service of your own set "
        "`grpc.max_receive_message_length` on both sides. With Ray's client (`ray://`) run the driver on the cluster.",
    ),
    zh=Words(
        "要发送 {size} MiB 的消息,而 gRPC 的上限为 {limit} MiB",
        "大量小参数、一次调用中的大批次,或 `runtime_env` 的包经由同一连接(Ray、其 client 或自己的服务)发送。",
        "每次少发一些:用 `ray.put` 存放数据并传引用,拆分批次;自己的服务在两端设置 "
        "`grpc.max_receive_message_length`。使用 Ray "
        "client(`ray://`)时,改在集群上运行 driver。",
    ),
)
_KINDS = {
    "argument": "参数",
    "actor class": "actor 类",
    "function": "函数",
    "put value": "对象",
    "return value": "返回值",
}
_MIB = 2**20


def explain(hits: Hits) -> Finding:
    """No form of bytes, or too many of them."""
    kind, culprit, type_ = hits.get("kind"), hits.get("culprit"), hits.get("type")
    size = int(hits.get("message") or 0) // _MIB or hits.get("size") or 0
    message = PICKLE if kind else LARGE if hits.get("large") else MESSAGE_SIZE
    name = f"`{culprit}` in " if culprit else ""
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        what=f"`{hits.get('name')}`" if message is LARGE else f"{name}the {kind} ",
        what_zh=f"{_KINDS.get(kind or '', '对象')}" + (f"中的 `{culprit}` " if culprit else " "),
        type=f": a `{type_}` has no form of bytes" if type_ else "", type_zh=f":`{type_}` 无法序列化" if type_ else "",
        size=size, limit=int(hits.get("limit") or 0) // _MIB,
    )  # fmt: skip
