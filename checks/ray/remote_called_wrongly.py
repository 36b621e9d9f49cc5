"""Ray's actors, functions or references are used like plain Python.

## What it means
A class or function under `@ray.remote` is made and called through `.remote()`, which returns a reference at once;
`ray.get` turns references into values, once. Options have fixed names.
## What it does to a run
The driver raises at the line, before anything runs on a worker.
## What to do
Write the call as Ray wants it.
## How it is found
In a log: by the messages of Ray's own checks.
## References
https://docs.ray.io/en/latest/ray-core/actors.html
https://docs.ray.io/en/latest/ray-core/api/doc/ray.get.html
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/actor.py
https://github.com/ray-project/ray/blob/ray-2.40.0/python/ray/_private/ray_option_utils.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RAY038", name="ray-remote-called-wrongly", severity=ERROR, since="0.1")

DIRECT = Message(
    en=Words(
        "an actor or remote function of Ray is called without `.remote(...)`",
        "A class or function under `@ray.remote` cannot be called like plain Python: the call must be sent to a "
        "worker.",
        "`worker = Worker.remote(args)` instead of `Worker(args)`, `ref = worker.method.remote(x)` instead of "
        "`worker.method(x)`, `ref = function.remote(x)` instead of `function(x)`, and `ray.get(ref)` for the "
        "value. Take `@ray.remote` away where the code is to run in the same process.",
    ),
    zh=Words(
        "调用 Ray 的 actor 或远程函数时没有写 `.remote(...)`",
        "带 `@ray.remote` 的类或函数不能像普通 Python 那样调用:调用必须发送给 worker。",
        "用 `worker = Worker.remote(args)` 代替 `Worker(args)`,用 `ref = worker.method.remote(x)` 代替 "
        "`worker.method(x)`,用 `ref = function.remote(x)` 代替 `function(x)`,再用 `ray.get(ref)` 取值。若要"
        "在同一进程运行,去掉 `@ray.remote`。",
    ),
)
VALUE = Message(
    en=Words(
        "`ray.get` or `ray.wait` was given a value where it takes references",
        "What was handed over is no ObjectRef: it is a result already (`ray.get` was called twice), the call "
        "lacked `.remote`, or it is a nested list or dictionary of references, which Ray does not look into.",
        "Call `ray.get` once, on what `.remote(...)` returned: `refs = [f.remote(x) for x in items]`, `values = "
        "ray.get(refs)`; flatten nested lists and take the references out of dictionaries first; `ray.wait` wants "
        "a list without doubles.",
    ),
    zh=Words(
        "`ray.get` 或 `ray.wait` 得到的是值,而它需要引用",
        "传入的不是 ObjectRef:它已经是结果(`ray.get` 调用了两次),调用时漏了 `.remote`,或是嵌套列表、字典形式"
        "的引用,Ray 不会进入其中。",
        "只对 `.remote(...)` 的返回值调用一次 `ray.get`:`refs = [f.remote(x) for x in items]`,`values = "
        "ray.get(refs)`;先展开嵌套列表并从字典取出引用;`ray.wait` 需要无重复的列表。",
    ),
)
OPTION = Message(
    en=Words(
        "Ray knows no option `{option}` for a remote class or function",
        "The options of `@ray.remote(...)` and `.options(...)` have fixed names (`num_cpus`, `num_gpus`, "
        "`resources`, `max_restarts`, `runtime_env`, `scheduling_strategy`, `name` ...), and actors and functions "
        "take different ones. A misspelling, or one of another release, is refused.",
        "Look at the list of valid ones in the message: `num_gpu` is `num_gpus`, `memory_mb` is `memory` (bytes), "
        "`max_retries` belongs to functions and `max_restarts` to actors.",
    ),
    zh=Words(
        "Ray 的远程类或函数没有选项 `{option}`",
        "`@ray.remote(...)` 与 `.options(...)` 的选项名称固定(`num_cpus`、`num_gpus`、`resources`、"
        "`max_restarts`、`runtime_env`、`scheduling_strategy`、`name` 等),actor 与函数各有不同。拼写错误或其"
        "他版本的选项会被拒绝。",
        "对照消息中的有效选项:`num_gpu` 应为 `num_gpus`,`memory_mb` 应为 `memory`(字节),`max_retries` 属于函"
        "数,`max_restarts` 属于 actor。",
    ),
)
METHOD = Message(
    en=Words(
        "the actor of Ray has no method `{method}`",
        "The handle knows the methods of the class that the actor was made of. The name is misspelt, the class is "
        "another one (an older file, a base class), or the handle was taken by name from an actor of another "
        "program.",
        "Compare with the class; methods whose names begin with two underscores and attributes cannot be called "
        "from outside: write a method that returns them. After a change of the class start the actor (or `ray "
        "stop` and the cluster) anew.",
    ),
    zh=Words(
        "Ray actor 没有方法 `{method}`",
        "句柄只知道创建该 actor 的类的方法。名称拼写有误,类是另一个(旧文件、基类),或句柄是按名称从其他程序的"
        " actor 取得的。",
        "与类定义对照;以双下划线开头的方法和属性不能从外部调用:写一个返回它们的方法。修改类之后重新启动 "
        "actor(或 `ray stop` 并重启集群)。",
    ),
)
ARGUMENT = Message(
    en=Words(
        "the call of an actor or remote function lacks its argument `{name}`",
        "Ray compares what is handed to `.remote(...)` with the signature of the class or function before it "
        "sends the call.",
        "Pass it: `Worker.remote({name}=...)`; look at the line of the traceback in your own file, and at changes "
        "of the constructor.",
    ),
    zh=Words(
        "调用 actor 或远程函数时缺少参数 `{name}`",
        "Ray 在发送调用之前,会把 `.remote(...)` 的参数与类或函数的签名对照。",
        "补上该参数:`Worker.remote({name}=...)`;查看异常栈中自己文件的那一行,以及构造函数的改动。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(
            r"TypeError: (?:Actor methods|Actors|Remote functions?|Remote actor|ActorGroup methods) cannot be"
            r" (?:called|instantiated) directly"
        ),
        DIRECT,
        CONFIRMED,
    ),
    (
        Signature(
            r"which is not an ray\.ObjectRef|wait\(\) expected a list of ray\.ObjectRef|Invalid type given to"
            r" ray\.get"
        ),
        VALUE,
        CONFIRMED,
    ),
    (
        Signature(r"ValueError: Invalid option keyword (?P<option>\w{1,40}) for (?:actors|remote functions|tasks)"),
        OPTION,
        CONFIRMED,
    ),
    (
        Signature(r"AttributeError: 'ActorHandle' object has no attribute '(?P<method>\w{1,80})'"),
        METHOD,
        CONFIRMED,
    ),
    (
        Signature(
            r"^TypeError: missing a required argument: '(?P<name>\w{1,60})'",
            frame="ray/(?:actor|remote_function|_common/signature|_private/signature)\\.py:",
        ),
        ARGUMENT,
        CONFIRMED,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
