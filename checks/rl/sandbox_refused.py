"""E2B, the service that runs code for a reward, refuses a sandbox or has ended it.

## What it means
Rewards for code run the answers in sandboxes of a cloud service. Each needs the key of an account, an account has a
highest number of sandboxes at once, and a sandbox ends after its time, whether it is still used or not.
## What it does to a run
The reward raises at the first batch or in the middle of training; where it catches everything, the answers of that
batch get no reward, or zero.
## What to do
Set the key on every node, bound how many run at once, make sandboxes live as long as they are used, and close them.
## How it is found
In a log: by the exceptions of E2B's client.
## References
https://e2b.dev/docs/api-key
https://e2b.dev/docs/sandbox
https://github.com/e2b-dev/infra/issues/1434
https://github.com/e2b-dev/code-interpreter/issues/147
https://github.com/PrimeIntellect-ai/verifiers/issues/400
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="RLX031", name="sandbox-refused", severity=ERROR, since="0.1")

KEY = Message(
    en=Words(
        "E2B does not accept the key of this run, or there is none",
        "The client reads `E2B_API_KEY` in the process that runs the reward. It was not exported there (another node, "
        "a Ray or launcher process that starts without it, a `.env` that nobody loads), or holds quotes, a blank or a "
        "key that was deleted.",
        "Make a key on https://e2b.dev/dashboard (Team, API keys; it begins with `e2b_`), `export E2B_API_KEY=...` "
        "before the launch on every node (Ray: in `runtime_env`), or call `load_dotenv()` in the script. Try it: "
        "`python -c \"from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code('1+1').text)\"`.",
    ),
    zh=Words(
        "E2B 不接受本次运行的密钥,或没有密钥",
        "客户端在运行奖励的进程中读取 `E2B_API_KEY`。该处没有导出(另一节点、启动时没有带上它的 Ray 或启动器进程、没有"
        "加载的 `.env`),或值中含有引号、空格,或密钥已被删除。",
        "在 https://e2b.dev/dashboard(Team, API keys;以 `e2b_` 开头)创建密钥,启动前在每个节点 `export "
        'E2B_API_KEY=...`(Ray:写入 `runtime_env`),或在脚本中调用 `load_dotenv()`。试验:`python -c "from '
        "e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code('1+1').text)\"`。",
    ),
)
MANY = Message(
    en=Words(
        "more E2B sandboxes were opened than the account may have at once",
        "Each reward process opens its own, times its parallel requests; sandboxes of a run that died stay open until "
        "their time is over and count, too.",
        "Let fewer run at once (open-r1: `parallel_code_exec_per_proc`, and one `e2b_router_url` for all processes; "
        "verifiers: `max_concurrent`), close them (`with Sandbox.create() as sandbox:` or `sandbox.kill()`), and give "
        "them a short `timeout`. Left-over ones: `e2b sandbox list`, `e2b sandbox kill ID`. On 429 wait and try "
        "again. The limit itself depends on the plan: https://e2b.dev/docs/billing.",
    ),
    zh=Words(
        "打开的 E2B 沙箱超过了账号允许的并发数",
        "每个奖励进程各自打开沙箱,再乘以其并行请求数;异常退出的运行留下的沙箱在到期之前仍然计入。",
        "减少并发(open-r1:`parallel_code_exec_per_proc`,并让所有进程使用同一个 `e2b_router_url`;verifiers:"
        "`max_concurrent`),关闭沙箱(`with Sandbox.create() as sandbox:` 或 `sandbox.kill()`),并设置较短的 `timeout`。"
        "清理残留:`e2b sandbox list`、`e2b sandbox kill ID`。遇到 429 时等待并重试。上限取决于套餐:"
        "https://e2b.dev/docs/billing。",
    ),
)
ENDED = Message(
    en=Words(
        "an E2B sandbox was used after it had ended",
        "It lives for `timeout` seconds from its making (300 unless told otherwise), idle or not, and one that was "
        "killed or ran out of memory is gone, too. A sandbox that is kept over several steps does not outlive a slow "
        "rollout.",
        "Make one for each batch, give it time enough (`Sandbox.create(timeout=3600)`) or renew it before use "
        "(`sandbox.set_timeout(600)`); on this exception make a new one and run the code again.",
    ),
    zh=Words(
        "使用了已经结束的 E2B 沙箱",
        "沙箱自创建起存活 `timeout` 秒(默认 300),无论是否空闲;被终止或内存耗尽的沙箱也不复存在。跨多步保留的沙箱会在"
        "缓慢的 rollout 期间到期。",
        "每个批次新建一个,给足时间(`Sandbox.create(timeout=3600)`),或在使用前续期(`sandbox.set_timeout(600)`);遇到该异"
        "常时新建沙箱并重新运行代码。",
    ),
)

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"AuthenticationException: (?:API key is required, please visit the (?:Team|API Keys) tab"
            r"|401: Unauthorized, please check your credentials)|e2b\S{0,40}AuthenticationException: Invalid API key"
        ),
        KEY,
    ),
    (
        r"(?:RateLimitException: |429: )[^\n]{0,80}maximum number of concurrent E2B sandboxes",
        MANY,
    ),
    (
        (
            r"TimeoutException: The sandbox was not found|e2b\.exceptions\.\w{7,20}Exception: [^\n]{0,60}"
            r"(?:The sandbox was not found|sandbox [\w\-]{1,60} (?:was )?not found)"
        ),
        ENDED,
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
