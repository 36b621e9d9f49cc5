"""SGLang's engine is asked for something that it was not started for.

## What it means
An engine without a tokenizer takes token ids only, an engine without `--enable-lora` no adapter, a generating one no
request for embeddings; and all requests must come from the event loop that sent the first one.
## What it does to a run
Requests are refused, and with them the rollout.
## What to do
Send what the engine takes, or start it for what is sent.
## How it is found
In a log: by SGLang's refusal of the request.
## References
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/managers/tokenizer_manager.py
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/entrypoints/openai/serving_base.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL090", name="sglang-called-in-wrong-way", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"The engine initialized with skip_tokenizer_init=True cannot accept text prompts"),
    Signature(r"Please ensure only one event loop is ever used with SGLang"),
    Signature(r"ValueError: LoRA adapter '(?P<adapter>[^'\n]{1,100})' was requested, but LoRA is not enabled"),
    Signature(r"This model does not appear to be an embedding model by default\. Please add `--is-embedding`"),
    Signature(r"input_embeds is provided while disable_radix_cache is False"),
)

TOKENS = Message(
    en=Words(
        "text was sent to an SGLang engine that was started without a tokenizer",
        "Trainers start it with `skip_tokenizer_init=True`, because they send and take token ids. Text, a chat request "
        "or a stop string needs the tokenizer.",
        "Send `input_ids` instead of `text` (apply the chat template and tokenize in your own rollout function), or "
        "start the engine without `--skip-tokenizer-init` (slime `--sglang-skip-tokenizer-init`, veRL "
        "`engine_kwargs.sglang`); a reward or tool that asks by the OpenAI route needs the latter.",
    ),
    zh=Words(
        "向启动时没有 tokenizer 的 SGLang 引擎发送了文本",
        "训练框架以 `skip_tokenizer_init=True` 启动它,因为收发的都是 token id。"
        "文本、对话请求或停止字符串都需要 tokenizer。",
        "改为发送 `input_ids` 而非 `text`(在自己的 rollout 函数中套用对话模板并分词),或不带 `--skip-tokenizer-init` 启"
        "动引擎(slime `--sglang-skip-tokenizer-init`,veRL `engine_kwargs.sglang`);经 OpenAI 接口调用的奖励或工具需要后"
        "者。",
    ),
)
LOOP = Message(
    en=Words(
        "an SGLang engine is used from a second event loop",
        "Its tokenizer manager belongs to the event loop that sent the first request. `asyncio.run` makes a new one on "
        "every call, a thread has one of its own, and the synchronous `Engine.generate` uses another than "
        "`async_generate`.",
        "Keep one loop for all requests: `loop = asyncio.get_event_loop()` once and "
        "`loop.run_until_complete(...)`, no `asyncio.run` per batch, no mix of synchronous and asynchronous calls, no "
        "requests from other threads. A trainer that does it itself wants the SGLang release that it names.",
    ),
    zh=Words(
        "SGLang 引擎被第二个事件循环(event loop)使用",
        "其 tokenizer manager 属于发出第一个请求的事件循环。`asyncio.run` 每次都新建一个,线程有自己的循环,同步的 "
        "`Engine.generate` 与 `async_generate` 使用的也不同。",
        "所有请求使用同一个循环:只取一次 `loop = asyncio.get_event_loop()`,之后 `loop.run_until_complete(...)`;不要每批"
        "调用 `asyncio.run`,不要混用同步与异步调用,不要从其他线程发请求。若是训练框架自身如此,请使用它指定的 "
        "SGLang 版本。",
    ),
)
ADAPTER = Message(
    en=Words(
        "the adapter `{adapter}` is asked for, and the SGLang server was started without LoRA",
        "A name behind a colon in `model`, or `lora_path` in the request, chooses an adapter. The server loads none "
        "unless it is told to.",
        "Start it with `--enable-lora --max-lora-rank 64 --lora-target-modules all` and `--lora-paths name=path`, or "
        "load the adapter later (`POST /load_lora_adapter`); or ask for the model without the adapter.",
    ),
    zh=Words(
        "请求了 adapter `{adapter}`,而 SGLang 服务启动时没有启用 LoRA",
        "`model` 中冒号后的名称或请求中的 `lora_path` 会选择 adapter。除非指定,服务端不会加载任何 adapter。",
        "启动时加 `--enable-lora --max-lora-rank 64 --lora-target-modules all` 与 `--lora-paths name=path`,或之后加载"
        "(`POST /load_lora_adapter`);或请求时不带 adapter。",
    ),
)
EMBEDDING = Message(
    en=Words(
        "embeddings are asked of an SGLang server that generates text",
        "Reward and embedding models are served in a mode of their own; a generating server has no such route.",
        "Start the server of the reward or embedding model with `--is-embedding` (classifier rewards: route "
        "`/classify`), on its own port, and send generation to the other one.",
    ),
    zh=Words(
        "向生成文本的 SGLang 服务请求了 embedding",
        "奖励与 embedding 模型以单独的模式提供服务;生成服务没有该接口。",
        "以 `--is-embedding` 启动奖励或 embedding 模型的服务(分类式奖励用 `/classify`),使用自己的端口,生成请求发往另一"
        "个服务。",
    ),
)
EMBEDS = Message(
    en=Words(
        "input embeddings are sent to an SGLang server that keeps a prefix cache",
        "The cache recognises prefixes by token ids; embeddings have none, so two different inputs would look alike.",
        "Start the server with `--disable-radix-cache`, or send `input_ids`.",
    ),
    zh=Words(
        "向启用前缀缓存的 SGLang 服务发送了输入 embedding",
        "缓存按 token id 识别前缀;embedding 没有 token id,不同的输入会被当作相同。",
        "以 `--disable-radix-cache` 启动服务,或发送 `input_ids`。",
    ),
)
_WORDS = (TOKENS, LOOP, ADAPTER, EMBEDDING, EMBEDS)


def explain(hits: Hits) -> Finding:
    """By the refusal that came first."""
    return found(
        PROBLEM, _WORDS[hits.first.signature], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        adapter=hits.get("adapter") or "",
    )  # fmt: skip
