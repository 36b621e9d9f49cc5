"""A model behind an API, which a reward, judge or agent asks, did not answer.

## What it means
Judges, reward models behind an address, embedding services and the rollouts of agents are asked with the clients of
OpenAI or LiteLLM. Who answers may be a public service or a vLLM or SGLang server of the user's.
## What it does to a run
An exception that nobody catches ends the step, and under Ray the run. Where it is caught, the rewards silently become
zero.
## What to do
Give the key and the address, ask more slowly, and let the reward function try again.
## How it is found
In a log: by the exception's class in the client of OpenAI, LiteLLM or Anthropic.
## References
https://github.com/openai/openai-python#handling-errors
https://platform.openai.com/docs/guides/error-codes
https://docs.litellm.ai/docs/exception_mapping
https://github.com/verl-project/verl/pull/4107
https://github.com/Visual-Agent/DeepEyes/issues/27
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="RLX025", name="outside-model-refuses", severity=ERROR, since="0.1")

KEY = Message(
    en=Words(
        "the API that is asked refuses the key (401)",
        "The key is wrong, was revoked, belongs to another service, or did not reach the process: workers of Ray "
        "and processes on other nodes see only the variables that they are given. A server of your own started "
        "with `--api-key` wants that very key.",
        "`export OPENAI_API_KEY=...` (or the service's own variable) before the start; with Ray hand it to the "
        "workers: `ray.init(runtime_env={{'env_vars': {{'OPENAI_API_KEY': ...}}}})` or before `ray start` on "
        "every node. Check that `base_url` belongs to the key.",
    ),
    zh=Words(
        "所访问的 API 拒绝了密钥(401)",
        "密钥错误、已撤销、属于另一家服务,或没有传到该进程:Ray 的 worker 与其他节点上的进程只能看到交给它们的变量。"
        "用 `--api-key` 启动的自建服务要求同一个密钥。",
        "启动前 `export OPENAI_API_KEY=...`(或该服务自己的变量);使用 Ray 时交给 "
        "worker:`ray.init(runtime_env={{'env_vars': {{'OPENAI_API_KEY': ...}}}})`,或在每个节点 `ray start` 之前设"
        "置。检查 `base_url` 与密钥是否对应。",
    ),
)
NO_KEY = Message(
    en=Words(
        "no API key is set in the process that makes the client",
        "The client refuses to be made without one, even where the server behind `base_url` is your own and wants "
        "none.",
        "`export OPENAI_API_KEY=...` in the process that asks (with Ray in `runtime_env` `env_vars`, on every "
        "node); for a vLLM or SGLang server of your own any word does: `OPENAI_API_KEY=EMPTY`, or "
        '`OpenAI(api_key="EMPTY", base_url=...)`.',
    ),
    zh=Words(
        "创建客户端的进程中没有设置 API 密钥",
        "没有密钥客户端就拒绝创建,即使 `base_url` 指向自建且不需要密钥的服务。",
        "在发出请求的进程中 `export OPENAI_API_KEY=...`(Ray 放入 `runtime_env` 的 `env_vars`,每个节点都要);自建的 "
        'vLLM 或 SGLang 服务可用任意值:`OPENAI_API_KEY=EMPTY`,或 `OpenAI(api_key="EMPTY", base_url=...)`。',
    ),
)
QUOTA = Message(
    en=Words(
        "the account of the API has no credit left",
        "429 with `insufficient_quota` (or 402) is no matter of speed: the service answers nothing more until it "
        "is paid, and trying again does not help.",
        "Add credit or use another key; or serve a judge of your own with `vllm serve MODEL` and set "
        "`base_url=http://HOST:8000/v1`. Resume from the last checkpoint, and let the reward function return None "
        "for what it could not judge instead of 0.",
    ),
    zh=Words(
        "API 账户的额度已用完",
        "带 `insufficient_quota` 的 429(或 402)与速度无关:付费之前服务不再应答,重试无用。",
        "充值或换一个密钥;或用 `vllm serve 模型` 自建评判服务并设 `base_url=http://主机:8000/v1`。从最近的检查点恢"
        "复,并让奖励函数对无法评判的样本返回 None 而不是 0。",
    ),
)
RATE = Message(
    en=Words(
        "the API that is asked answers too many requests (429)",
        "A batch of rollouts asks for all its judgements at once: hundreds of requests in a second, more than the "
        "rate limit of the account or of the model allows.",
        "Limit how many run at once (a semaphore of 8 to 32 around the call; verl's `reward_manager` of the kind "
        "`rate_limited`), try again with growing pauses (`max_retries=8` of the client), or serve the judge "
        "yourself. Let one failed request cost its sample, not the run.",
    ),
    zh=Words(
        "所访问的 API 回答请求过多(429)",
        "一批 rollout 会同时请求全部评判:一秒内数百个请求,超过账户或模型的速率限制。",
        "限制并发(调用处用 8 到 32 的信号量;verl 中类型为 `rate_limited` 的 `reward_manager`),以递增间隔重试(客户端 "
        "`max_retries=8`),或自建评判服务。让失败的请求只影响该样本,而不是整个运行。",
    ),
)
SILENT = Message(
    en=Words(
        "no connection to the model server that is asked over the API",
        "Nothing answers at `base_url`: the judge or reward server does not run or is still loading, its address "
        "names localhost on another node or container, its port is another one, or `http_proxy` catches requests "
        "to it.",
        "Ask it from the node of the traceback: `curl --noproxy '*' http://HOST:PORT/v1/models`. Start the server "
        "first and wait for it, give the address by the host's name instead of localhost, and set `export "
        "no_proxy=localhost,127.0.0.1,HOST`. For public services test the way out: `curl -sI "
        "https://api.openai.com | head -1`.",
    ),
    zh=Words(
        "无法连接通过 API 访问的模型服务",
        "`base_url` 处没有应答:评判或奖励服务没有运行或仍在加载,地址写成 localhost 而服务在另一节点或容器,端口不同,"
        "或 `http_proxy` 截走了请求。",
        "在异常所在节点上访问它:`curl --noproxy '*' http://主机:端口/v1/models`。先启动服务并等待就绪,用主机名代替"
        " localhost,并设置 `export no_proxy=localhost,127.0.0.1,主机`。公共服务先测试出口:`curl -sI "
        "https://api.openai.com | head -1`。",
    ),
)
SLOW = Message(
    en=Words(
        "the model server that is asked over the API did not answer in time",
        "The request timed out: the judge or reward server is overloaded by a whole batch at once, still loads "
        "its weights, generates very long answers, or cannot be reached at all (an address that swallows packets, "
        "a proxy).",
        "Test it alone from that node: `curl --noproxy '*' http://HOST:PORT/v1/models`. Raise the limit "
        "(`OpenAI(timeout=600, max_retries=5)`), let fewer requests run at once, limit `max_tokens` of the judge, "
        "or start more replicas of the server. Return a neutral reward for what timed out, so that one slow "
        "request does not end the run.",
    ),
    zh=Words(
        "通过 API 访问的模型服务没有按时应答",
        "请求超时:评判或奖励服务被整批请求压垮、仍在加载权重、生成过长,或根本无法到达(丢包的地址、代理)。",
        "在该节点单独测试:`curl --noproxy '*' http://主机:端口/v1/models`。提高限制(`OpenAI(timeout=600, "
        "max_retries=5)`),降低并发,限制评判的 `max_tokens`,或增加服务副本。对超时样本返回中性奖励,避免一个慢请求结"
        "束整个运行。",
    ),
)
BROKEN = Message(
    en=Words(
        "the model server that is asked over the API failed itself ({code})",
        "The request arrived, and the server answered with an error of its own: its engine died or ran out of "
        "memory, it restarts, or a router in front of it has no engine that is well.",
        "Read the log of that server at this time; the cause stands there, not in this one. Let the client try "
        "again (`max_retries=5`), and restart the server before the run is resumed.",
    ),
    zh=Words(
        "通过 API 访问的模型服务自身出错({code})",
        "请求已到达,而服务返回了自己的错误:引擎已退出或内存不足、正在重启,或前面的路由器没有可用引擎。",
        "查看该服务此刻的日志;原因在那里而不是这里。让客户端重试(`max_retries=5`),恢复运行前先重启服务。",
    ),
)
PROVIDER = Message(
    en=Words(
        "LiteLLM does not know whose model `{model}` is",
        "LiteLLM reads the provider from the name, and this one names none.",
        "Write it before the name: `hosted_vllm/{model}` (with `api_base=http://HOST:8000/v1`) for a vLLM or "
        "SGLang server of your own, `openai/{model}` for anything that speaks OpenAI's protocol, `deepseek/...`, "
        '`anthropic/...` for services; or give `custom_llm_provider="openai"`.',
    ),
    zh=Words(
        "LiteLLM 不知道模型 `{model}` 属于哪家服务",
        "LiteLLM 从名称中读取 provider,而这个名称没有写。",
        "写在名称之前:自建的 vLLM 或 SGLang 服务用 `hosted_vllm/{model}`(并设 `api_base=http://主机"
        ":8000/v1`),任何 OpenAI 协议的服务用 `openai/{model}`,公共服务用 `deepseek/...`、`anthropic/...`;或"
        '给出 `custom_llm_provider="openai"`。',
    ),
)
BODY = Message(
    en=Words(
        "the model server that is asked over the API does not take the request ({code})",
        "400 and 422 are a body that the server cannot use: a field that it does not know (`extra_body`, "
        "`guided_json`, `reasoning_effort`, `logprobs`), a value of another type, or messages in a form that its "
        "chat template refuses; 403 is an account or address that may not use the model.",
        "The text behind the code names the field: leave it out, or take a server of a release that knows "
        "it (vLLM from 0.12 on takes `structured_outputs` in place of `guided_json`). Try the same body by hand with "
        "`curl`. For 403 ask the service for access, or look whether a proxy "
        "answered.",
    ),
    zh=Words(
        "通过 API 访问的模型服务不接受该请求({code})",
        "400 与 422 表示服务无法使用请求体:它不认识的字段(`extra_body`、`guided_json`、`reasoning_effort`、"
        "`logprobs`),类型不符的值,或聊天模板拒绝的消息形式;403 表示账户或地址无权使用该模型。",
        "代码后面的文本指出了字段:去掉它,或换用支持它的服务版本(vLLM 0.12 起以 `structured_outputs` 取代 "
        "`guided_json`)。用 `curl` 手动发送同样的请求体。403 时"
        "向服务申请权限,或检查是否由代理回答。",
    ),
)

#: signature, what is said of it, how sure
CASES = (
    (
        Signature(r"(?<!\()(?:openai|litellm|anthropic)\.(?:\w{1,20}\.)?AuthenticationError: ", symptom_of=("VLL",)),
        KEY,
        CONFIRMED,
    ),
    (
        Signature(r"OpenAIError: (?:The api_key client option must be set|Missing credentials)"),
        NO_KEY,
        CONFIRMED,
    ),
    (
        Signature(
            r"RateLimitError: [^\n]{0,300}(?:insufficient_quota|exceeded your current quota|Insufficient Bala"
            r"nce|credit balance)"
        ),
        QUOTA,
        CONFIRMED,
    ),
    (
        Signature(r"Error code: 402 - "),
        QUOTA,
        LIKELY,
    ),
    (
        Signature(
            r"(?<!\()(?:openai|litellm|anthropic)\.(?:\w{1,20}\.)?RateLimitError: (?![^\n]{0,300}(?:insufficient_quo"
            r"ta|exceeded your current quota|Insufficient Balance|credit balance))"
        ),
        RATE,
        CONFIRMED,
    ),
    (
        Signature(
            r"(?<!\()(?:openai|litellm|anthropic)\.(?:\w{1,20}\.)?(?:APIConnectionError|ServiceUnavailableError): ",
            symptom_of=("HST012", "HST024", "HST025", "HUB008", "VLL", "TRL"),
        ),
        SILENT,
        LIKELY,
    ),
    (
        Signature(
            r"(?<!\()(?:openai|litellm|anthropic)\.(?:\w{1,20}\.)?(?:APITimeoutError|Timeout): ",
            symptom_of=("HST012", "HST025", "VLL"),
        ),
        SLOW,
        LIKELY,
    ),
    (
        Signature(
            r"(?<!\()(?:openai|litellm|anthropic)\.(?:\w{1,20}\.)?InternalServerError: [^\n]{0,40}?(?P<code>5\d\d)\b",
            symptom_of=("VLL", "CUD", "MEM", "HST012", "TRL"),
        ),
        BROKEN,
        LIKELY,
    ),
    (
        Signature(r"LLM Provider NOT provided\.[^\n]{0,120}You passed model=(?P<model>[^\s,\n]{1,120})"),
        PROVIDER,
        CONFIRMED,
    ),
    (
        Signature(
            r"(?<!\()(?:openai|litellm)\.(?:\w{1,20}\.)?(?:UnprocessableEntityError|PermissionDeniedError): Error co"
            r"de: (?P<code>4\d\d)",
            symptom_of=("VLL", "TRL"),
        ),
        BODY,
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the case of the first hit calls for, filled with what it captured."""
    return finding_of_signature(PROBLEM, CASES, hits)
