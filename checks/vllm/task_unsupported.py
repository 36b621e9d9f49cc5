"""A model is asked for something that it was not started for: rewards, embeddings, chat.

## What it means
An engine runs a model as a generator or as a pooling model (embeddings, classification, scores, rewards), depending on
its class, its files and `--task`, `--runner` and `--convert`. Each call and each route belongs to one of these ways.
## What it does to a run
The engine does not start, or answers every call of the other kind with an error.
## What to do
Start it for that use, or use the call that fits.
## How it is found
In a log, by the refusal of vLLM or SGLang.
## References
https://docs.vllm.ai/en/latest/models/pooling_models.html
https://github.com/vllm-project/vllm/issues/11231
https://github.com/vllm-project/vllm/issues/30312
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL102", name="task-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"This model does not support (?:the '|`?--task )(?P<task>\w{2,30})['`](?: task)?\. "
        r"[^\n]{0,60}?[Ss]upported tasks: (?P<tasks>[{\[][^}\]\n]{1,200})"
    ),
    Signature(
        r"(?P<call>LLM\.\w{3,20}\(\)|`?LLM\.\w{3,20}`?) is only supported for (?P<kind>\(?[\w() /,\-]{4,80}?) models"
    ),
    Signature(r"The model does not support (?P<api>[A-Z]\w{2,20}(?: [A-Z]\w{1,20})?) API"),
    Signature(r"(?P<api>Embedding|Classification|Score|Reward|Rerank|Pooling) API is not supported by this model"),
)

TASK = Message(
    en=Words(
        "the model was to be started for the task `{task}`, which it has not in this release",
        "vLLM derives the tasks from the model's class and files: {tasks} here. A reward or classification model under "
        "the name of a plain architecture, or a release that is older than the support, leads here.",
        "Name a task that it has (`--task`, `LLM(task=...)`; from 0.10 on `--runner pooling` with `--convert reward`, "
        "`classify` or `embed`), upgrade vLLM (`pip install -U vllm`), or give the class with `--hf-overrides "
        '\'{{"architectures": ["..."]}}\'`. A reward model that vLLM does not know can be run by Transformers.',
    ),
    zh=Words(
        "要求以任务 `{task}` 启动该模型,而此版本不支持",
        "vLLM 由模型的类与文件推断任务,此处为 {tasks}。奖励或分类模型使用了普通架构的名称,或 vLLM 版本早于该支持,都"
        "会如此。",
        "指定它具有的任务(`--task`、`LLM(task=...)`;0.10 起为 `--runner pooling` 配合 `--convert reward`、"
        '`classify` 或 `embed`),升级 vLLM(`pip install -U vllm`),或用 `--hf-overrides \'{{"architectures": '
        '["..."]}}\'` 指定类。vLLM 不支持的奖励模型可用 Transformers 运行。',
    ),
)

CALL = Message(
    en=Words(
        "`{call}` was called, and the engine runs this model in another way",
        "It was started as {other}. The class of the model and the settings `--task`, `--runner` and `--convert` "
        "decide which calls there are.",
        'Start it for this call: for rewards, scores and embeddings `LLM(..., runner="pooling", '
        'convert="classify")` (or `embed`, `reward`; before 0.10 `task="reward"`), for completions '
        '`runner="generate"`; or call what it offers (`generate`, `embed`, `classify`, `score`, `reward`). A '
        "policy and a reward model need two engines.",
    ),
    zh=Words(
        "调用了 `{call}`,而引擎以另一种方式运行该模型",
        "它以{other_zh}启动。模型的类以及 `--task`、`--runner`、`--convert` 决定可用的调用。",
        '按该调用启动:奖励、打分与 embedding 用 `LLM(..., runner="pooling", convert="classify")`(或 `embed`、'
        '`reward`;0.10 之前为 `task="reward"`),生成用 `runner="generate"`;或改用它提供的调用(`generate`、`embed`、'
        "`classify`、`score`、`reward`)。策略模型与奖励模型需要两个引擎。",
    ),
)

ROUTE = Message(
    en=Words(
        "the server has no {api} route for this model",
        "Routes follow the way in which the model was started: a pooling model answers /v1/embeddings, /score and "
        "/pooling, a generator /v1/completions and /v1/chat/completions.",
        "Ask `/v1/models` and the list of routes in the server's log; start the server for this use (`--runner pooling "
        "--convert embed`, `--runner generate`; before 0.10 `--task`), or point the client at the server of the other "
        "model: reward and policy model are often exchanged.",
    ),
    zh=Words(
        "服务器没有针对该模型的 {api} 接口",
        "接口取决于模型的启动方式:pooling 模型提供 /v1/embeddings、/score 与 /pooling,生成模型提供 /v1/completions 与 "
        "/v1/chat/completions。",
        "查看 `/v1/models` 与服务器日志中的路由列表;按该用途启动服务器(`--runner pooling --convert embed`、`--runner "
        "generate`;0.10 之前为 `--task`),或把客户端指向另一个模型的服务器:奖励模型与策略模型常被弄反。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A task at the start, a call, or a route."""
    told = hits.first.groups
    pooling = "pooling" in (told.get("kind") or "") or "embed" in (told.get("kind") or "")
    return found(
        PROBLEM,
        TASK if told.get("task") else CALL if told.get("call") else ROUTE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        task=told.get("task") or "",
        tasks=(told.get("tasks") or "").strip("{}[]").replace("'", "`"),
        call=(told.get("call") or "").strip("`"),
        other="a generator" if pooling else "a pooling model or another kind",
        other_zh="生成模型" if pooling else "pooling 模型或其他类型",
        api=told.get("api") or "",
    )
