"""An option of the vLLM server has a value that the installed release does not take.

## What it means
Parsers of tool calls and of reasoning, ranks of adapters and data types come from lists that grow and shrink with the
releases; other options want JSON, which a shell easily takes apart.
## What it does to a run
The server ends before the model is loaded, and a trainer that waits for it gives up later.
## What to do
Write a value of the installed release, or quote the JSON.
## How it is found
Before launch, by comparing the command with the lists in the sources of the installed vLLM. In a log: by the refusal
of a parser's name.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/entrypoints/common/cli_args.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/engine/arg_utils.py
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/lora.py
https://docs.vllm.ai/en/latest/features/tool_calling/
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches

from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Setting
from doctor.facts.choices import Choices
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL111", name="option-value-refused", severity=ERROR, since="0.1", affects={"vllm": ">=0.6"})

SIGNATURES = (
    Signature(r"KeyError: ['\"]invalid (?P<kind>tool call|reasoning) parser: (?P<value>[^\s\n]{1,60})"),
    Signature(r"TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser"),
)

MESSAGE = Message(
    en=Words(
        "`--{option} {value}` is none of the values of vLLM {version}",
        "The server refuses it before the model is loaded. The list is read from the installed vLLM itself.",
        "Write one that it has: {known}.",
    ),
    zh=Words(
        "`--{option} {value}` 不是 vLLM {version} 接受的取值",
        "服务器在加载模型之前就会拒绝。可选值读自已安装的 vLLM 本身。",
        "改为它支持的取值:{known}。",
    ),
)

JSON = Message(
    en=Words(
        "the value of `--{option}` is no JSON",
        "vLLM reads the option as JSON and ends with `cannot be converted`. A shell drops quotes that are not "
        "themselves quoted, and JSON wants double ones.",
        "Put single quotes round the whole value and double quotes round names and words inside.",
    ),
    zh=Words(
        "`--{option}` 的值不是 JSON",
        "vLLM 按 JSON 读取该选项,失败时以 `cannot be converted` 退出。shell 会去掉未被再次引用的引号,而 JSON 只"
        "认双引号。",
        "整个值用单引号括起,内部的名称和字符串用双引号。",
    ),
)

NO_PARSER = Message(
    en=Words(
        "`--enable-auto-tool-choice` is given and `--tool-call-parser` is not",
        "How a model writes its tool calls differs, so the server refuses to start without the parser's name.",
        "Name the model's parser ({known}), or leave `--enable-auto-tool-choice` out.",
    ),
    zh=Words(
        "给出了 `--enable-auto-tool-choice`,却没有 `--tool-call-parser`",
        "不同模型书写工具调用的方式不同,因此没有解析器名称时服务器拒绝启动。",
        "指定模型的解析器({known}),或去掉 `--enable-auto-tool-choice`。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed vLLM has no {kind} parser `{value}`",
        "The names of parsers come and go with the releases, and some belong to a plugin that was not named.",
        "`vllm serve --help=all` lists those of the installed release; upgrade vLLM for the parser of a newer model "
        "(`pip install -U vllm`), or name your own with `--tool-parser-plugin` or `--reasoning-parser-plugin`.",
    ),
    zh=Words(
        "已安装的 vLLM 没有{kind_zh}解析器 `{value}`",
        "解析器(parser)的名称随版本增减,有些属于未指定的插件。",
        "`vllm serve --help=all` 会列出已安装版本的解析器;较新模型的解析器需要升级 vLLM(`pip install -U vllm`),"
        "自己的解析器用 `--tool-parser-plugin` 或 `--reasoning-parser-plugin` 指定。",
    ),
)

KINDS = {"vllm-serve", "vllm-openai-server"}
#: option -> names of the list that decides, newest first
LISTS = {
    "max_lora_rank": ("vllm.MaxLoRARanks", "vllm.possible_max_ranks"),
    "dtype": ("vllm.ModelDType",),
    "tool_call_parser": ("vllm.tool_call_parser",),
    "reasoning_parser": ("vllm.reasoning_parser",),
}
#: options whose list a plugin may add to, named on the command line or installed
WITH_PLUGINS = {"tool_call_parser", "reasoning_parser"}
#: options that are JSON in every release that has them
IN_JSON = ("speculative_config", "override_generation_config", "hf_overrides", "kv_transfer_config")
MOST = 8


def shown(value: str, known: tuple[str, ...]) -> str:
    """The values that look most like one, else the first, for a sentence."""
    if value.isdigit() and all(each.isdigit() for each in known):
        near = sorted(sorted(known, key=lambda each: abs(int(each) - int(value)))[:2], key=int)
    else:
        near = get_close_matches(value, known, 3, 0.5) or list(known[:MOST])
    return ", ".join(f"`{each}`" for each in near)


@check(PROBLEM)
def option_value_refused(serving: Serving, packages: Packages, choices: Choices | None) -> Judgement:
    """Judge options with a list, then those in JSON; a plugin may bring values of its own."""
    if serving.kind not in KINDS:
        return
    yield from _without_parser(serving, choices)
    for option, lists in LISTS.items():
        setting = serving.arguments.get(option)
        if setting is None or not setting.known or "$" in str(setting.value) or not _judged(serving, option):
            continue
        known = choices.of(*lists) if choices is not None else ()
        if not known or (option in WITH_PLUGINS and any(name.startswith("vllm-") for name in packages.distributions)):
            yield Skip(f"the values of `--{option.replace('_', '-')}` that the installed vLLM takes are not known")
        elif str(setting.value) not in known:
            yield _refused(setting, option, known, packages.version("vllm") or "")
    for option in IN_JSON:
        setting = serving.arguments.get(option)
        if setting is not None and setting.known and setting.place is None and not _is_json(setting.value):
            yield found(
                PROBLEM, JSON, where=place_of(setting), evidence=(proof(setting),), option=option.replace("_", "-")
            )


def _judged(serving: Serving, option: str) -> bool:
    """A parser is looked up only where nothing adds one; that of tools only where tools are switched on."""
    if option in WITH_PLUGINS and any(name.endswith("parser_plugin") for name in serving.arguments):
        return False
    return option != "tool_call_parser" or _is_on(serving, "enable_auto_tool_choice")


def _is_on(serving: Serving, name: str) -> bool:
    setting = serving.arguments.get(name)
    return setting is not None and setting.known and truth(setting.value) is True


def _without_parser(serving: Serving, choices: Choices | None) -> Iterator[Finding]:
    setting = serving.arguments.get("enable_auto_tool_choice")
    if setting is None or not _is_on(serving, "enable_auto_tool_choice") or "tool_call_parser" in serving.arguments:
        return
    known = choices.of("vllm.tool_call_parser") if choices is not None else ()
    usual = [each for each in ("hermes", "llama3_json", "mistral", "qwen3_coder") if not known or each in known]
    yield found(
        PROBLEM, NO_PARSER, where=place_of(setting), evidence=(proof(setting),),
        commands=("--enable-auto-tool-choice --tool-call-parser hermes",),
        known=", ".join(f"`{each}`" for each in usual),
    )  # fmt: skip


def _refused(setting: Setting, option: str, known: tuple[str, ...], version: str) -> Finding:
    return found(
        PROBLEM, MESSAGE, where=place_of(setting), evidence=(proof(setting),), option=option.replace("_", "-"),
        value=setting.value, version=version, known=shown(str(setting.value), known),
    )  # fmt: skip


def _is_json(value: object) -> bool:
    """Whether vLLM can read it; its own extension (`1k` for a number) is never the only thing without a quote."""
    if not isinstance(value, str) or not value.lstrip().startswith("{") or '"' in value or "$" in value:
        return True
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def explain(hits: Hits) -> Finding:
    """The name that is not there, or that none was given."""
    where, evidence = hits.where(), hits.evidence()
    if hits.of(0):
        tools = hits.get("kind") == "tool call"
        return found(
            PROBLEM, LOG_MESSAGE, where=where, evidence=evidence, kind=hits.get("kind"),
            kind_zh="工具调用" if tools else "推理", value=hits.get("value"),
        )  # fmt: skip
    return found(PROBLEM, NO_PARSER, where=where, evidence=evidence, known="`hermes`, `llama3_json`, `mistral`")
