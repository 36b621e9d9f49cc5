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
"""

from __future__ import annotations

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

#: signature, what is said of it, how sure
CASES = (
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
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
