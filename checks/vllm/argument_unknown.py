"""An option that the installed `vllm serve` does not have.

## What it means
vLLM adds and removes options in nearly every release. The command, or the YAML of `--config`, names one
that the installed release lacks.
## What it does to a run
`vllm: error: unrecognized arguments` before anything is loaded.
## What to do
Take the option out, or write the one that took its place.
## How it is found
The names of the command against the options of the installed release and their history, made from vLLM's
source.
In a log: by vLLM's own message.
## References
https://docs.vllm.ai/en/latest/cli/serve/
https://github.com/vllm-project/vllm/releases
"""

from __future__ import annotations

import re

from doctor import data
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL017", name="vllm-argument-unknown", severity=ERROR, since="0.1", affects={"vllm": ">=0.6"})

SIGNATURES = (
    Signature(
        r"^(?:vllm|vllm serve|api_server\.py|\S{0,80}cli/main\.py): error: unrecognized arguments:"
        r" (?P<arguments>-[^\n]{1,300})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the installed vLLM does not know `{arguments}`",
        "An option that was removed, came later, or is misspelt ends the server before anything is "
        "loaded. `--disable-log-requests` and the options of the V0 engine are gone from newer releases, "
        "for instance.",
        "Take it out, or look up its present name with `vllm serve --help=all`; or install the vLLM "
        "release that the command was written for.",
    ),
    zh=Words(
        "已安装的 vLLM 不认识 `{arguments}`",
        "已移除、更晚才加入或拼写错误的选项会让服务器在加载之前就退出。例如 `--disable-log-requests` 以及"
        " V0 引擎的选项在新版本中已不存在。",
        "删除它,或用 `vllm serve --help=all` 查它现在的名称;或安装该命令所针对的 vLLM 版本。",
    ),
)

LOG_COMMANDS = ("vllm serve --help=all",)

JOINED = Message(
    en=Words(
        "an option of vLLM and its value were handed over as one word: `{arguments}`",
        "vLLM has this option. It is not found because option and value came as a single argument with a blank in "
        "it: one element of a list in Python's `subprocess`, of `command:` or `args:` in Compose or Kubernetes, or "
        "inside quotes.",
        "Make two elements of it (`'--host', '127.0.0.1'`; in YAML two lines), or write it with an equals sign "
        "(`--host=127.0.0.1`), or let a shell split one whole string.",
    ),
    zh=Words(
        "vLLM 的选项与其值被当作一个词传入:`{arguments}`",
        "vLLM 有此选项。之所以找不到,是因为选项和值作为一个带空格的参数传入:Python `subprocess` 列表的一个元素、"
        "Compose 或 Kubernetes 中 `command:`、`args:` 的一项,或写在同一对引号内。",
        "拆成两个元素(split;`'--host', '127.0.0.1'`,YAML 中写两行),或用等号连接(`--host=127.0.0.1`),或让 shell 拆分整个"
        "字符串。",
    ),
)

#: options with a value that every release of the server has
_ALWAYS = re.compile(
    r"--(?:host|port|dtype|max-model-len|tensor-parallel-size|gpu-memory-utilization|served-model-name|tokenizer|seed"
    r"|max-num-seqs|api-key|chat-template|download-dir|pipeline-parallel-size|quantization|load-format) \S"
)

REMOVED = Message(
    en=Words(
        "`--{flag}` is not in `vllm serve` since vLLM {gone}; {version} is installed",
        "The parser ends with `unrecognized arguments: --{flag}` before anything is loaded.",
        "Take `--{flag}` out. vLLM {last} is the last release that has it.",
    ),
    zh=Words(
        "从 vLLM {gone} 起 `vllm serve` 不再有 `--{flag}`;当前安装的是 {version}",
        "解析器在加载任何东西之前就会以 `unrecognized arguments: --{flag}` 退出。",
        "删除 `--{flag}`。最后一个有它的版本是 vLLM {last}。",
    ),
)

NOT_YET = Message(
    en=Words(
        "`--{flag}` came to `vllm serve` in vLLM {first}; {version} is installed",
        "The parser ends with `unrecognized arguments: --{flag}` before anything is loaded.",
        "Take `--{flag}` out, or install vLLM {first} or newer.",
    ),
    zh=Words(
        "`--{flag}` 在 vLLM {first} 才加入 `vllm serve`;当前安装的是 {version}",
        "解析器在加载任何东西之前就会以 `unrecognized arguments: --{flag}` 退出。",
        "删除 `--{flag}`,或安装 vLLM {first} 及以上版本。",
    ),
)

NEAR = Message(
    en=Words(
        "`vllm serve` {version} has no `--{flag}`; it has `--{near}`",
        "The parser ends with `unrecognized arguments: --{flag}` before anything is loaded.",
        "Write `--{near}` if that is what is meant, else take the option out.",
    ),
    zh=Words(
        "`vllm serve` {version} 没有 `--{flag}`,相近的是 `--{near}`",
        "解析器在加载任何东西之前就会以 `unrecognized arguments: --{flag}` 退出。",
        "如果本意如此,请写成 `--{near}`;否则删除该选项。",
    ),
)

UNHEARD = Message(
    en=Words(
        "`vllm serve` {version} has no option `--{flag}`",
        "The parser ends with `unrecognized arguments: --{flag}` before anything is loaded.",
        "Take `--{flag}` out.",
    ),
    zh=Words(
        "`vllm serve` {version} 没有选项 `--{flag}`",
        "解析器在加载任何东西之前就会以 `unrecognized arguments: --{flag}` 退出。",
        "删除 `--{flag}`。",
    ),
)


KINDS = {"vllm-serve", "vllm-openai-server"}
#: read by the doctor's own parser, or by argparse itself
OURS = {"model", "model_tag", "config", "help", "version", "optimization_level", "api_key"}
ALIKE = 0.8


def accepted(name: str, flags: frozenset[str]) -> bool:
    """Whether the parser takes a name: as it is, negated, or as the beginning of a longer one."""
    bare = name.removeprefix("no_")
    return name in OURS or bare in flags or any(each.startswith(bare) for each in flags)


def nearest(name: str, flags: frozenset[str]) -> str | None:
    """The option that looks most like a name and does not say the opposite."""
    import difflib

    verbs = ("enable", "disable", "no")
    sign = name.split("_", maxsplit=1)[0] if name.split("_", maxsplit=1)[0] in verbs else ""
    same = [each for each in flags if (each.split("_")[0] if each.split("_")[0] in verbs else "") == sign]
    return next(iter(difflib.get_close_matches(name, same, 1, ALIKE)), None)


@check(PROBLEM)
def argument_unknown(serving: Serving, packages: Packages) -> Judgement:
    """A plugin of vLLM may bring options of its own, so with one only removed options are told."""
    version = packages.version("vllm") or "?"
    if serving.kind not in KINDS or not serving.arguments:
        return
    flags = data.vllm_flags(version)
    if flags is None:
        yield Skip(f"the options of vLLM {version} are not in the doctor's data")
        return
    plugins = any(name.startswith("vllm-") for name in packages.distributions)
    for setting in serving.arguments.values():
        name = setting.name.split(".")[0].replace("-", "_")
        if accepted(name, flags):
            continue
        history, near = data.vllm_flag(name.removeprefix("no_")), nearest(name, flags)
        if history is None and plugins:
            continue
        message = NEAR if near else UNHEARD
        if history is not None and _later(history.first, version):
            message = NOT_YET
        elif history is not None and history.removed_in:
            message = REMOVED
        yield found(
            PROBLEM,
            message,
            flag=name.replace("_", "-"),
            version=version,
            gone=history.removed_in if history else None,
            last=history.last if history else None,
            first=history.first if history else None,
            near=near.replace("_", "-") if near else None,
            where=place_of(setting),
            commands=(f"--{near.replace('_', '-')}",) if near and message is NEAR else (),
            evidence=(proof(setting),),
        )


def _later(first: str, version: str) -> bool:
    from packaging.version import Version

    return Version(first) > Version(version)


def explain(hits: Hits) -> Finding:
    """An option that every release has is not unknown: it came as one word with its value."""
    arguments = hits.get("arguments") or ""
    joined = _ALWAYS.match(arguments) is not None
    return found(
        PROBLEM,
        JOINED if joined else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if joined else CONFIRMED,
        commands=() if joined else LOG_COMMANDS,
        arguments=arguments,
    )
