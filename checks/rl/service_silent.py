"""A service of the run itself (reward, retrieval, sandbox, tools) does not answer.

## What it means
Reward models, retrievers, code sandboxes and tool servers run as HTTP services beside the training. The rollout or
reward asks one at an address where nothing listens.
## What it does to a run
An exception ends the step; where it is caught, every reward becomes zero or None, and training goes on for nothing.
## What to do
Start the service first, and correct its address.
## How it is found
In a log: by the client's exception with host and port, where it is none of the public hubs.
## References
https://docs.python.org/3/library/errno.html#errno.ECONNREFUSED
https://github.com/TideDra/lmm-r1/issues/30
https://github.com/PeterGriffinJin/Search-R1#quick-start
https://verl.readthedocs.io/en/latest/examples/sandbox_fusion_example.html
https://github.com/areal-project/AReaL/issues/240
https://github.com/PeterGriffinJin/Search-R1/issues/43
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RLX026", name="service-silent", severity=ERROR, since="0.1")

GIVEN_UP = Message(
    en=Words(
        "the reward server of `--remote_rm_url` gave no answer, and OpenRLHF stopped asking",
        "Every try failed, or the answer was no JSON with `rewards`. The lines before name the error of each: "
        "refused is a server that does not run, 500 one whose reward function raised.",
        "Start the server before training (`python -m openrlhf.cli.serve_rm ...` or your own script) and test it "
        "from the node of the trainer: `curl --noproxy '*' -X POST http://HOST:5000/get_reward -H 'Content-Type: "
        'application/json\' -d \'{{"query": ["x"], "prompts": ["x"]}}\'`. Read its own log; `export '
        "no_proxy=localhost,127.0.0.1,HOST` where a proxy is set.",
    ),
    zh=Words(
        "`--remote_rm_url` 指定的奖励服务没有应答,OpenRLHF 停止了请求",
        "每次尝试都失败,或返回的不是含 `rewards` 的 JSON。前面几行给出了各次的错误:refused 表示服务没有运行"
        ",500 表示其奖励函数抛出了异常。",
        "训练前先启动服务(`python -m openrlhf.cli.serve_rm ...` 或自己的脚本),并从训练节点测试:`curl "
        "--noproxy '*' -X POST http://HOST:5000/get_reward -H 'Content-Type: application/json' -d "
        '\'{{"query": ["x"], "prompts": ["x"]}}\'`。查看它自己的日志;设有代理时 `export '
        "no_proxy=localhost,127.0.0.1,HOST`。",
    ),
)
SLOW = Message(
    en=Words(
        "a service that the run asks over HTTP did not answer in time",
        "The connection timed out, or was made and no answer came: the service (rewards, a judge, retrieval, a "
        "sandbox, an inference server) is overloaded by a whole batch at once, hangs, still loads, does something "
        "that takes longer than the client waits, or packets to its address are dropped by a firewall.",
        "Ask it alone from the node of the traceback: `curl --noproxy '*' -m 10 http://HOST:PORT/` and look into "
        "its own log at this time. Raise the client's limit (`timeout=600`; for a weight update or a long "
        "generation the framework's own setting), let fewer requests run at once, add replicas, and try again "
        "instead of failing the step.",
    ),
    zh=Words(
        "运行通过 HTTP 请求的某个服务没有按时应答",
        "连接超时,或已连接但没有返回:该服务(奖励、评判、检索、沙箱、推理服务)被整批请求压垮、卡住、仍在加载、"
        "所做的事比客户端等待的时间更长,或发往其地址的数据包被防火墙丢弃。",
        "在异常所在节点单独访问它:`curl --noproxy '*' -m 10 http://主机:端口/`,并查看它此刻的日志。提高客户"
        "端时限(`timeout=600`;权重更新或长生成用框架自己的设置),降低并发,增加副本,并重试而不是让整个步骤失败。",
    ),
)
CLOSED = Message(
    en=Words(
        "a service that the run asks over HTTP closed the connection without an answer",
        "It ended or was restarted while it worked on the request (an exception, out of memory, a limit of the "
        "container), or a proxy or its keep-alive limit cut an old connection.",
        "Read the log of that service at this time: if it died, the cause stands there. Otherwise try again on "
        "this error (`tenacity`, `Retry` of requests), use a new connection for each request or a shorter "
        "keep-alive, and `export no_proxy=localhost,127.0.0.1,HOST`.",
    ),
    zh=Words(
        "运行通过 HTTP 请求的某个服务没有应答就关闭了连接",
        "它在处理请求时退出或被重启(异常、内存不足、容器限制),或代理、keep-alive 限制切断了旧连接。",
        "查看该服务此刻的日志:若已退出,原因在那里。否则对这一错误重试(`tenacity`、requests 的 `Retry`),每次"
        "请求用新连接或缩短 keep-alive,并 `export no_proxy=localhost,127.0.0.1,主机`。",
    ),
)
FAILED = Message(
    en=Words(
        "a service that the run asks answered {code}: it failed itself at {url}",
        "The request arrived, and an exception was raised in the service while it worked on it: a wrong field in "
        "the request, its model or index out of memory, an answer that its code does not expect.",
        "Read the traceback in the log of that service; it is not in this one. Send one request by hand to see "
        "it: `curl --noproxy '*' -X POST {url} -H 'Content-Type: application/json' -d '...'`. Let the client try "
        "again, and one failed request cost its sample instead of the run.",
    ),
    zh=Words(
        "运行请求的某个服务返回 {code}:它在 {url} 处自身出错",
        "请求已到达,而服务在处理时抛出异常:请求字段有误,其模型或索引内存不足,或出现其代码没有预料的内容。",
        "查看该服务日志中的异常栈;它不在本日志中。手动发送一个请求观察:`curl --noproxy '*' -X POST {url} -H "
        "'Content-Type: application/json' -d '...'`。让客户端重试,使失败的请求只影响该样本而不是整个运行。",
    ),
)
ROUTE = Message(
    en=Words(
        "a service that the run asks does not take the request: {code} at {url}",
        "404 and 405 are a route that this server does not have (another program listens there, or another "
        "release of it), 422 and 400 a body that lacks a field or has one of another type.",
        "Open http://HOST:PORT/docs or ask `curl --noproxy '*' {url}`: compare path, method and fields with what "
        "the client sends; a base URL often wants `/v1` or must not end with it.",
    ),
    zh=Words(
        "运行请求的某个服务不接受该请求:{url} 返回 {code}",
        "404 与 405 表示该服务没有此路由(监听的是别的程序或别的版本),422 与 400 表示请求体缺少字段或类型不符。",
        "打开 http://主机:端口/docs 或 `curl --noproxy '*' {url}`:把路径、方法和字段与客户端发送的内容对照"
        ";base URL 常常需要 `/v1`,或不能以它结尾。",
    ),
)
NAME = Message(
    en=Words(
        "the name of a service that the run asks cannot be resolved, or no route leads to it",
        "The host in the address is unknown to DNS on this node (a name that only Docker, Kubernetes or another "
        "node knows, or a misspelling), or the network has no way there.",
        "`getent hosts HOST` on the node of the traceback; give the IP address (`hostname -I` on the machine of "
        "the service), put it into /etc/hosts, or start both in one network (`docker network`, a Kubernetes "
        "service).",
    ),
    zh=Words(
        "运行请求的服务名称无法解析,或没有通往它的路由",
        "该节点的 DNS 不认识地址中的主机(只有 Docker、Kubernetes 或另一节点知道的名称,或拼写错误),或网络不通。",
        "在异常所在节点执行 `getent hosts 主机`;改用 IP 地址(在服务所在机器执行 `hostname -I`),写入 "
        "/etc/hosts,或让二者处于同一网络(`docker network`、Kubernetes service)。",
    ),
)
NO_PORT = Message(
    en=Words(
        "nothing answers where the run expects a service",
        "The connection was refused: the server that is asked (rewards, retrieval, a sandbox, an inference "
        "server) was not started, still loads, ended with an error of its own, or listens on another port or "
        "address.",
        "Look in the traceback for the address (`base_url`, the URL of the call), and test it from that node: "
        "`curl --noproxy '*' http://HOST:PORT/`. Start the server first and wait until it answers; in a container "
        "or on another node `localhost` is another machine; `export no_proxy=localhost,127.0.0.1,HOST`.",
    ),
    zh=Words(
        "运行期望有服务的地址没有应答",
        "连接被拒绝:所请求的服务(奖励、检索、沙箱、推理服务)没有启动、仍在加载、自身出错退出,或监听其他端口或地址。",
        "在异常栈中找到地址(`base_url`、调用的 URL),在该节点测试:`curl --noproxy '*' http://主机:端口/`。先"
        "启动服务并等到它应答;在容器内或其他节点上 `localhost` 是另一台机器;`export "
        "no_proxy=localhost,127.0.0.1,主机`。",
    ),
)
REFUSED = Message(
    en=Words(
        "nothing answers at {host}:{port}, where the run expects a service",
        "The server that is asked there (rewards, retrieval, a sandbox, tools, a model) is not running: it was "
        "not started, still loads, ended with an error of its own, or listens on another port or address. In a "
        "container or on another node `localhost` is another machine.",
        "Start it before the training and wait until it answers: `curl --noproxy '*' http://{host}:{port}/`; read "
        "its own log if it ended. Give the name or address of the machine that it runs on instead of localhost, "
        "let it listen on `0.0.0.0`, and `export no_proxy=localhost,127.0.0.1,{host}` where a proxy is set. Let "
        "the reward function fail loudly: zeros for every answer train nothing.",
    ),
    zh=Words(
        "{host}:{port} 没有应答,而运行期望那里有一个服务",
        "被请求的服务(奖励、检索、沙箱、工具、模型)没有运行:没有启动、仍在加载、自身出错退出,或监听其他端口"
        "或地址。在容器内或其他节点上 `localhost` 是另一台机器。",
        "训练前先启动并等到它应答:`curl --noproxy '*' http://{host}:{port}/`;若已退出,查看它自己的日志。用其"
        "所在机器的名称或地址代替 localhost,让它监听 `0.0.0.0`,设有代理时 `export "
        "no_proxy=localhost,127.0.0.1,{host}`。让奖励函数明确报错:所有答案都得零分等于没有训练。",
    ),
)

ENGINE_SILENT = Message(
    en=Words(
        "the rollout server at {addr} did not answer a request, and AReaL gave up",
        "AReaL's client asked the inference server several times. The server died, is out of memory, is paused for an "
        "update of weights, or needs longer for a request than `rollout.request_timeout` allows; this process only "
        "tells it.",
        "Read the log of that server (`llm_server-*.log` beside `trainer.log`, or the Ray actor's) for its first "
        "error, and `curl http://{addr}/health`. Where it is alive and slow: a longer `rollout.request_timeout`, more "
        "`rollout.request_retries`, fewer `rollout.max_concurrent_rollouts`.",
    ),
    zh=Words(
        "位于 {addr} 的 rollout 服务器没有答复请求,AReaL 已放弃",
        "AReaL 的客户端已多次请求推理服务器。服务器已退出、显存不足、因更新权重而暂停,或处理一个请求的时间超过 "
        "`rollout.request_timeout`;该进程只是报告此事。",
        "在该服务器的日志(`trainer.log` 旁的 `llm_server-*.log`,或 Ray actor 的日志)中查找第一个错误,并执行 `curl "
        "http://{addr}/health`。若它仍在运行只是较慢:增大 `rollout.request_timeout` 与 `rollout.request_retries`,减小 "
        "`rollout.max_concurrent_rollouts`。",
    ),
)
NOT_STARTED = Message(
    en=Words(
        "the rollout server did not become healthy, and AReaL ended",
        "AReaL asks the inference server (SGLang or vLLM) for its health until `rollout.setup_timeout` is over. The "
        "server ended with an error of its own (no memory, an argument its release does not know, a model that is not "
        "there), or was still loading; this process only tells it.",
        "Read the server's own log (`llm_server*.log` in the folder of the experiment's logs) for its first error: "
        "`doctor postmortem LLM_SERVER_LOG`. Where it was still loading, raise `rollout.setup_timeout` (seconds). "
        "Start it by hand with the same model to see: `python -m sglang.launch_server --model-path MODEL`; `export "
        "no_proxy=localhost,127.0.0.1,HOST` where a proxy is set.",
    ),
    zh=Words(
        "rollout 服务器没有就绪,AReaL 已退出",
        "AReaL 会在 `rollout.setup_timeout` 之内反复查询推理服务器(SGLang 或 vLLM)是否就绪。服务器因自身错误退出(显存不"
        "足、其版本不认识的参数、模型不存在),或仍在加载;该进程只是报告此事。",
        "在服务器自己的日志(实验日志目录中的 `llm_server*.log`)中查找第一个错误:`doctor postmortem LLM_SERVER_LOG`。若"
        "只是仍在加载,增大 `rollout.setup_timeout`(秒)。可用同一模型手动启动观察:`python -m sglang.launch_server "
        "--model-path MODEL`;设有代理时 `export no_proxy=localhost,127.0.0.1,HOST`。",
    ),
)
NO_JSON = Message(
    en=Words(
        "a service that the run asks sent something that is no JSON",
        "The reply is empty or a page of text: the service failed on the request (its 500 page is plain text), a proxy "
        "answered in its place, or another program listens on that port. The client did not look at the status before "
        "it parsed the reply.",
        "See what comes back: `curl --noproxy '*' -i -X POST http://HOST:PORT/PATH -H 'Content-Type: "
        "application/json' -d '...'`, and read the traceback in the service's own log. `export "
        "no_proxy=localhost,127.0.0.1,HOST` where a proxy is set; call `response.raise_for_status()` before "
        "`.json()`, so that the next failure says more.",
    ),
    zh=Words(
        "运行请求的某个服务返回的内容不是 JSON",
        "返回为空或是一段文本:服务在处理请求时出错(其 500 页面为纯文本),由代理代为应答,或该端口上是别的程序。客户端在解"
        "析之前没有检查状态码。",
        "查看实际返回:`curl --noproxy '*' -i -X POST http://HOST:PORT/PATH -H 'Content-Type: application/json' -d "
        "'...'`,并查看该服务日志中的异常栈。设有代理时 `export no_proxy=localhost,127.0.0.1,HOST`;在 `.json()` 之前调"
        "用 `response.raise_for_status()`,下次失败就能说明更多。",
    ),
)
#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"RuntimeError: server launch failed", frame=r"areal/engine/", symptom_of=("*",)),
        NOT_STARTED,
        LIKELY,
    ),
    (
        Signature(
            r"^requests\.exceptions\.JSONDecodeError: Expecting value: line 1 column 1 \(char 0\)",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        NO_JSON,
        LIKELY,
    ),
    (
        Signature(
            r"^aiohttp\.client_exceptions\.ContentTypeError: \d{3}, message='Attempt to decode JSON with unexpected",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        NO_JSON,
        LIKELY,
    ),
    (
        Signature(
            r"RuntimeError: Failed after \d{1,4} retries each\. Payload: [^\n]{0,9000}?"
            r"Addr: (?P<addr>[\w.\-]{1,100}:\d{1,5})\.(?![^\n]{0,900}status=4\d\d)",
            keywords=("retries each. Payload",),
            symptom_of=("*",),
        ),
        ENGINE_SILENT,
        LIKELY,
    ),
    (
        Signature(r"Request error for \d{1,3} times, returning None\. Please check the API server"),
        GIVEN_UP,
        CONFIRMED,
    ),
    (
        Signature(
            r"ClientConnectorError: Cannot connect to host (?P<host>(?![\w.\-]{0,60}(?:huggingface\.co|hf\.co"
            r"|wandb\.ai|modelscope\.cn|openai\.com))[\w.\-]{1,100}):(?P<port>\d{1,5})",
            symptom_of=("HST012", "HST025", "VLL", "TRL", "RAY", "VRL"),
        ),
        REFUSED,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPConnectionPool\(host='(?P<host>(?![\w.\-]{0,60}(?:huggingface\.co|hf\.co|hf-mirror\.com|wan"
            r"db\.ai|modelscope\.cn|openai\.com|pypi\.org|github\.com))[\w.\-]{1,100})', port=(?P<port>\d{1,5"
            r"})\): Max retries exceeded with url: (?!/(?:health|init_communicator|get_world_size|api/2\.0/ml"
            r"flow))[^\n]{0,500}(?:Connection refused|\[Errno 111\])",
            symptom_of=("HST012", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        REFUSED,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:httpx|httpx2|httpcore|httpcore2)\.(?:Read|Connect|Pool|Write)Timeout(?::|$)|^requests\.exce"
            r"ptions\.(?:Read|Connect)Timeout: HTTPConnectionPool|ServerTimeoutError: ",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        SLOW,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:asyncio\.|asyncio\.exceptions\.)?TimeoutError(?::|$)",
            frame="aiohttp/(?:client|helpers|client_reqrep|streams)\\.py:",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        SLOW,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:aiohttp\.client_exceptions\.)?ServerDisconnectedError|^(?:httpx|httpx2|httpcore|httpcore2)"
            r"\.RemoteProtocolError: Server disconnected|^requests\.exceptions\.ConnectionError: \('Connectio"
            r"n aborted\.', (?:RemoteDisconnected|ConnectionResetError)|^aiohttp\.client_exceptions\.ClientOS"
            r"Error: \[Errno 104\]",
            symptom_of=("*",),
        ),
        CLOSED,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPError: (?P<code>5\d\d) Server Error: [^\n]{0,80}for url: (?P<url>https?://(?![\w.\-]{0,60}("
            r"?:huggingface\.co|hf\.co|hf-mirror\.com|wandb\.ai|modelscope\.cn|pypi\.org|github\.com))[^\s'?]"
            r"{1,200})",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        FAILED,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPStatusError: Server error '(?P<code>5\d\d) [^'\n]{0,60}' for url '(?P<url>https?://(?![\w."
            r"\-]{0,60}(?:huggingface\.co|hf\.co|hf-mirror\.com|wandb\.ai|modelscope\.cn|pypi\.org|github\.co"
            r"m))[^\s'?]{1,200})",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        FAILED,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPError: (?P<code>40[05]|404|422) Client Error: [^\n]{0,80}for url: (?P<url>https?://(?![\w."
            r"\-]{0,60}(?:huggingface\.co|hf\.co|hf-mirror\.com|wandb\.ai|modelscope\.cn|pypi\.org|github\.co"
            r"m))[^\s'?]{1,200})",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        ROUTE,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPStatusError: Client error '(?P<code>40[05]|404|422) [^'\n]{0,60}' for url '(?P<url>https?:/"
            r"/(?![\w.\-]{0,60}(?:huggingface\.co|hf\.co|hf-mirror\.com|wandb\.ai|modelscope\.cn|pypi\.org|gi"
            r"thub\.com))[^\s'?]{1,200})",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        ROUTE,
        LIKELY,
    ),
    (
        Signature(
            r"HTTPConnectionPool\(host='(?![\w.\-]{0,60}(?:huggingface\.co|hf\.co|hf-mirror\.com|wandb\.ai|mo"
            r"delscope\.cn|pypi\.org|github\.com))[\w.\-]{1,100}', port=\d{1,5}\): Max retries exceeded with "
            r"url: (?!/(?:health|init_communicator|get_world_size))[^\n]{0,500}(?:NameResolutionError|Name or"
            r" service not known|No route to host|Network is unreachable)",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        NAME,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:httpx|httpx2|httpcore|httpcore2)\.ConnectError: \[Errno (?:-2|-3|-5|101|113)\]",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        NAME,
        LIKELY,
    ),
    (
        Signature(
            r"^(?:httpx|httpx2|httpcore|httpcore2)\.ConnectError: (?:All connection attempts failed|\[Errno 1"
            r"11\])",
            symptom_of=("HST012", "HST024", "HST025", "VLL", "TRL", "RAY", "VRL", "TRK", "HUB"),
        ),
        NO_PORT,
        LIKELY,
    ),
    (
        Signature(
            r"redis\.exceptions\.ConnectionError: Error \d{1,3} connecting to (?P<host>[\w.\-]{1,100}):(?P<po"
            r"rt>\d{1,5})"
        ),
        REFUSED,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


#: clients of public hubs and trackers, whose failures are matters of their own
_OTHERS = re.compile(r"[\\/](?:huggingface_hub|modelscope(?:_hub)?|datasets|wandb|swanlab|mlflow|pip)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say what the case of the first hit calls for; nothing where a client of a public hub asked."""
    if any(_OTHERS.search(frame) for hit in hits for frame in hit.frames):
        return None
    return finding_of_signature(PROBLEM, CASES, hits)
