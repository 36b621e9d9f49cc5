"""A grammar, schema or pattern for structured outputs cannot be used.

## What it means
Structured outputs compile a JSON schema, a regular expression, choices or a grammar into an automaton. xgrammar,
guidance, outlines and lm-format-enforcer each take a part of these languages, and one engine uses one of them.
## What it does to a run
The request is refused. Before vLLM checked grammars at its door, the exception was raised in the engine and ended it.
## What to do
Mend the grammar, choose the backend that takes it, or leave structured outputs out of a rollout.
## How it is found
In a log: by the messages of vLLM's validation and of xgrammar's parsers.
## References
https://docs.vllm.ai/en/latest/features/structured_outputs.html
https://github.com/vllm-project/vllm/pull/17623
https://github.com/vllm-project/vllm/issues/43920
https://github.com/vllm-project/vllm/pull/16717
https://github.com/mlc-ai/xgrammar/blob/main/cpp/json_schema_converter.cc
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL084", name="structured-output-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"(?:Request-level structured output backend must match engine-level backend|Structured output "
            r"processing only supports one backend per engine|Request-level structured output backend "
            r"selection is no(?:t| longer) supported)"
        ),
        Message(
            en=Words(
                "the request asks for another structured-output backend than the engine uses",
                "An engine has one backend, chosen when it starts or by its first request. vLLM 0.8.3 and 0.8.4 "
                "also wrote their choice into the SamplingParams, so that using the same object twice failed.",
                "Take the backend out of the request, and choose one for the engine: "
                "`--structured-outputs-config.backend xgrammar` (before 0.11: `--guided-decoding-backend "
                "xgrammar`). Build new SamplingParams for each call, or `pip install -U 'vllm>=0.8.5'`. Where "
                "`auto` sends some schemas to another backend, name `guidance` for all.",
            ),
            zh=Words(
                "请求要求的结构化输出后端与引擎使用的不同",
                "一个引擎只有一个后端,在启动时或由第一个请求决定。vLLM 0.8.3 和 0.8.4 还会把自己的选择写入 "
                "SamplingParams,同一对象用两次就会失败。",
                "从请求中去掉后端,并为引擎指定:`--structured-outputs-config.backend xgrammar`(0.11 之前"
                ":`--guided-decoding-backend xgrammar`)。每次调用新建 SamplingParams,或 `pip install -U "
                "'vllm>=0.8.5'`。若 `auto` 把部分 schema 交给另一后端,请统一指定 `guidance`。",
            ),
        ),
    ),
    (
        r"ValueError: No valid structured output parameter found",
        Message(
            en=Words(
                "a request for structured output names no schema, pattern, choice or grammar",
                'vLLM made a structured request out of an empty one, such as `response_format={{"type": '
                '"text"}}` in some releases, and raised in the engine, which ended with it.',
                "Leave `response_format` (and empty `guided_*` or `structured_outputs` fields) out of the "
                "request when plain text is wanted, and update: `pip install -U vllm` (vLLM-Ascend in step). "
                "Then start the server again.",
            ),
            zh=Words(
                "结构化输出请求没有给出 schema、正则、选项或语法",
                'vLLM 把空请求(例如某些版本中的 `response_format={{"type": "text"}}`)当作结构化请求,并在引擎中抛'
                "出异常,引擎随之结束。",
                "需要普通文本时,请求中不要带 `response_format`(及空的 `guided_*`、`structured_outputs` 字段),并升"
                "级:`pip install -U vllm`(vLLM-Ascend 同步)。然后重新启动服务器。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: (?:\[[\d:]{5,12}\] "
            r")?\S{0,120}(?P<parser>json_schema_converter|regex_converter|grammar_parser|ebnf\w{0,20}|structural_tag|grammar\w{0,30})\.cc:\d{1,6}"
        ),
        Message(
            en=Words(
                "xgrammar cannot compile what a request asked for (`{parser}`)",
                "The schema, pattern or grammar of a request has a mistake, or uses what xgrammar does not know "
                "(look-arounds, `items` as a list, `$ref` to elsewhere, a Lark grammar where EBNF is read). "
                "vLLM before 0.9 did not try it at the door, and with `auto` the first request decides the "
                "backend of all, so the exception reached the engine and ended it. SGLang uses xgrammar, too.",
                'Mend the grammar: try it with `python -c "import xgrammar; '
                "xgrammar.Grammar.from_json_schema(open('schema.json').read())\"` (`from_regex`, `from_ebnf`); "
                "its rules are written `name ::= ...`. Or choose another backend: of vLLM "
                "`--structured-outputs-config.backend guidance` (before 0.11: `--guided-decoding-backend guidance`), "
                "of SGLang `--grammar-backend llguidance`. Where vLLM serves, update it, so that a bad request gets "
                "error 400 and the engine lives: `pip install -U vllm`.",
            ),
            zh=Words(
                "xgrammar 无法编译请求给出的内容(`{parser}`)",
                "请求中的 schema、正则或语法有错误,或用到 xgrammar 不支持的内容(环视、列表形式的 `items`、指向外"
                "部的 `$ref`、应为 EBNF 却给出 Lark 语法)。vLLM 0.9 之前不会事先检查;使用 `auto` 时第一个请求决"
                "定所有请求的后端,因此异常到达引擎并使其结束。SGLang 同样使用 xgrammar。",
                '修正语法:用 `python -c "import xgrammar; '
                "xgrammar.Grammar.from_json_schema(open('schema.json').read())\"`(`from_regex`、`from_ebnf`)试验;"
                "规则写作 `name ::= ...`。或换用其他后端:vLLM 用 `--structured-outputs-config.backend guidance`(0.11 "
                "之前:`--guided-decoding-backend guidance`),SGLang 用 `--grammar-backend llguidance`。若由 vLLM "
                "提供服务,请升级,使错误请求只得到 400 而引擎继续运行:`pip install -U vllm`。",
            ),
        ),
    ),
    (
        (
            r"(?:(?:ValueError|VLLMValidationError): |['\"]message['\"]: ?['\"])(?:Failed to "
            r"(?:transform|convert|compile) (?:the )?(?P<what>regex|choices|json schema|grammar)"
            r"|Invalid (?P<kind>JSON grammar|grammar|structural "
            r"tag) specification|The provided JSON schema contains features|Grammar error:|Error parsing "
            r"regex|Regex uses unsupported feature|Regex does not have a anchored universal start state)"
        ),
        Message(
            en=Words(
                "vLLM refuses the grammar, schema or pattern of a request",
                "It does not parse, or uses a part of its language that the backend does not take. The engine "
                "goes on; only that request failed.",
                "Mend it (the line of the exception says where), write simpler: no look-arounds, back "
                "references, `patternProperties` or `multipleOf`; or choose the backend that takes most of JSON "
                "Schema and Lark: `--structured-outputs-config.backend guidance` (before 0.11: "
                "`--guided-decoding-backend guidance`).",
            ),
            zh=Words(
                "vLLM 拒绝某个请求的语法、schema 或正则",
                "它无法解析,或用到后端不支持的部分。引擎继续运行,只有该请求失败。",
                "修正它(异常那一行说明位置),写得更简单:不用环视、反向引用、`patternProperties` 或 `multipleOf`;或"
                "选择支持 JSON Schema 和 Lark 最多的后端:`--structured-outputs-config.backend guidance`(0.11 之前"
                ":`--guided-decoding-backend guidance`)。",
            ),
        ),
    ),
    (
        (
            r"(?:ValueError|VLLMValidationError): (?P<backend>LM Format Enforcer|Outlines|XGrammar) "
            r"structured outputs backend does not support (?P<what>\w{4,12}|this structured outputs)"
        ),
        Message(
            en=Words(
                "the backend {backend} does not take this kind of structured output ({what})",
                "Each backend takes some of schema, pattern, choice, grammar and structural tag.",
                "Use xgrammar or guidance, which take all of them: `--structured-outputs-config.backend "
                "xgrammar` (before 0.11: `--guided-decoding-backend xgrammar`).",
            ),
            zh=Words(
                "后端 {backend} 不支持这类结构化输出({what})",
                "每个后端只支持 schema、正则、选项、语法和 structural tag 中的一部分。",
                "使用支持全部类型的 xgrammar 或 guidance:`--structured-outputs-config.backend xgrammar`(0.11 之前"
                ":`--guided-decoding-backend xgrammar`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:The 'guidance' structured output backend only supports fast|Only fast tokenizers "
            r"are supported)"
        ),
        Message(
            en=Words(
                "structured outputs by `guidance` need a fast tokenizer, and this one is slow",
                "The backend reads the vocabulary from the Rust tokenizer.",
                "Start with `--tokenizer-mode auto` and a model folder that holds `tokenizer.json`, or use "
                "`--structured-outputs-config.backend xgrammar`.",
            ),
            zh=Words(
                "`guidance` 的结构化输出需要 fast 分词器,而当前是 slow 分词器",
                "该后端从 Rust 分词器读取词表。",
                "使用 `--tokenizer-mode auto` 和含有 `tokenizer.json` 的模型文件夹,或使用 "
                "`--structured-outputs-config.backend xgrammar`。",
            ),
        ),
    ),
    (
        (
            r"(?:ValueError: Input vocab_size less than minimum viable vocab size for tokenizer"
            r"|AttributeError: 'MistralTokenizer' object has no attribute 'vocab_files_names')"
        ),
        Message(
            en=Words(
                "structured outputs by `xgrammar` cannot use this model's tokenizer",
                "It reads the vocabulary of Transformers' fast tokenizers and sizes its mask by config.json. "
                "Mistral's own tokenizer (`--tokenizer-mode mistral`), or more tokens in the tokenizer than "
                "`vocab_size` in the configuration, do not go.",
                "Take another backend: `--structured-outputs-config.backend guidance` (before 0.11 "
                "`--guided-decoding-backend guidance` or `outlines`), start with `--tokenizer-mode auto`, or "
                "upgrade vLLM, whose newer releases serve Mistral's tokenizer. For added tokens resize the "
                "embedding and save both.",
            ),
            zh=Words(
                "`xgrammar` 的结构化输出无法使用该模型的分词器",
                "它读取 Transformers fast 分词器的词表,并按 config.json 确定掩码大小。Mistral 自己的分词器"
                "(`--tokenizer-mode mistral`),或分词器的 token 多于配置中的 `vocab_size`,都不行。",
                "换用其他后端:`--structured-outputs-config.backend guidance`(0.11 之前为 "
                "`--guided-decoding-backend guidance` 或 `outlines`),以 `--tokenizer-mode auto` 启动,或升级 vLLM(新"
                "版支持 Mistral 分词器)。新增 token 时请调整词嵌入大小并一起保存。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0]),
    Signature(CASES[5][0], frame=r"[\\/]vllm[\\/]"),
    Signature(CASES[6][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
