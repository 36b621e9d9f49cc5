"""The program does not understand its command line.

## What it means
An argument is misspelt, belongs to another version of the program, has a value it does not take, or lacks
one. A blank behind a backslash at the end of a line hands the program a lone blank or backslash and ends the
command there.
## What it does to a run
The program prints its usage and ends with exit code 2 on every rank, before anything is loaded.
## What to do
Mend the argument that is named.
## How it is found
In a log: by the words of argparse, or of a parser built on it.
## References
https://docs.python.org/3/library/argparse.html
https://github.com/modelscope/ms-swift/issues/1122
https://github.com/VectorInstitute/vector-inference/issues/157
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts._argv import nearest, table

PROBLEM = Problem(id="LCH025", name="arguments-refused", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?P<program>[^:\n]{1,120}): error: unrecognized arguments: (?P<unknown>[^\n]{1,300})",
        symptom_of=("LCH019", "RAY003", "VLL", "TRL", "TRF"),
    ),
    Signature(r"ValueError: remaining_argv: \[(?P<unknown>[^\]\n]{1,300})\]"),
    Signature(
        r"^[^:\n]{1,120}: error: ambiguous option: (?P<ambiguous>--?[\w\-]{1,60})[^\n]{0,20} could match "
        r"(?P<match>[^\n]{1,400})"
    ),
    Signature(r"^[^:\n]{1,120}: error: the following arguments are required: (?P<missing>[^\n]{1,200})"),
    Signature(
        r"^[^:\n]{1,120}: error: argument (?P<argument>[^\s:]{1,120}): (?P<why>invalid choice|"
        r"invalid \w{1,30} value|expected one argument|expected at least one argument|not allowed "
        r"with)",
        symptom_of=("VLL", "TRL", "TRF"),
    ),
    Signature(
        r"^[^:\n]{1,120}: error: argument (?P<argument>-[^\s:]{1,120}): (?P<told>(?!ignored )[^\n]{3,300})",
        symptom_of=("VLL", "TRL", "TRF"),
    ),
    # click's, of ray, modal, accelerate's neighbours
    Signature(
        r"^(?:Error: )?Invalid value for '(?P<argument>--[\w\-]{1,60})(?: / [^'\n]{1,60})?': "
        r"(?P<why>'[^'\n]{0,80}' is not (?:a valid|one of)[^\n]{2,80}\w)"
    ),
    Signature(r"^(?:Error: )?No such option: (?P<unknown>--[\w\-]{1,60})"),
)


UNKNOWN = Message(
    en=Words(
        "the program does not know the arguments {names}",
        "{whose}They are misspelt, or belong to another version of the program or to the launcher "
        "(whose own options stand before the script).",
        "{near}Compare with `--help` of the installed version; put options of torchrun, accelerate or "
        "deepspeed before the script's name and those of the script behind it.",
    ),
    zh=Words(
        "程序不认识参数 {names}",
        "{whose_zh}参数拼写有误,或属于程序的另一版本,或属于启动器(启动器自己的选项要写在脚本之前)。",
        "{near_zh}与已安装版本的 `--help` 对照;torchrun、accelerate、deepspeed 的选项写在脚本名之前,"
        "脚本的选项写在其后。",
    ),
)

BLANK = Message(
    en=Words(
        "the command line holds a lone backslash or blank, and ends there for the shell",
        "A backslash joins lines only as the very last character: a blank behind it is taken as "
        "an argument, and the lines below are not part of the command.",
        "Remove the blanks behind every backslash (`sed -i 's/[[:space:]]*$//' run.sh`), and the "
        "backslash on the last line.",
    ),
    zh=Words(
        "命令行中有单独的反斜杠或空格,shell 在此处结束命令",
        "反斜杠只有作为行末最后一个字符时才续行:其后的空格会被当作参数,下面的行不再属于该命令。",
        "去掉每个反斜杠后的空格(space;`sed -i 's/[[:space:]]*$//' run.sh`),以及最后一行的反斜杠(backslash)。",
    ),
)

ENTRYPOINT = Message(
    en=Words(
        "`{program}` got a command as its arguments: it is already what the image or script starts",
        "Words without an option are left over (`serve`, a model path, a shell). The entrypoint of an image such as "
        "vllm/vllm-openai is the server itself, `vllm serve` in newer releases and `python3 -m "
        "vllm.entrypoints.openai.api_server` before, and what stands behind the image's name is handed to it.",
        "Leave the program's own name out: `docker run ... IMAGE --model MODEL OPTIONS` (where the entrypoint is `vllm "
        "serve` the model may stand alone; api_server.py takes `--model` only). For a command of your own replace the "
        "entrypoint: `docker run --entrypoint /bin/bash ... IMAGE -c '...'`, in Compose `entrypoint:`, in Kubernetes "
        "`command:`.",
    ),
    zh=Words(
        "`{program}` 把一条命令当作参数:镜像或脚本启动的本来就是它",
        "剩下了不属于任何选项的词(`serve`、模型路径、shell)。vllm/vllm-openai 之类镜像的 entrypoint 就是服务器本身"
        "(新版为 `vllm serve`,旧版为 `python3 -m vllm.entrypoints.openai.api_server`),镜像名之后的内容会全部传给它"
        "。",
        "去掉程序自己的名称:`docker run ... IMAGE --model MODEL 选项`(entrypoint 为 `vllm serve` 时可直接写模型"
        ";api_server.py 只接受 `--model`)。要运行自己的命令,请替换 entrypoint:`docker run --entrypoint /bin/bash "
        "... IMAGE -c '...'`,Compose 用 `entrypoint:`,Kubernetes 用 `command:`。",
    ),
)

SURPLUS = Message(
    en=Words(
        "words are left over on the command line that belong to no option: {words}",
        "The program takes no such word there. Most often an option that is a mere switch got a value (`--bf16 "
        "True`), a value holds a blank and is not quoted, or a list element of YAML or Python holds several words.",
        "Take the word out where the option needs none (`--bf16`), quote values with blanks, and see `--help` for what "
        "the option before it takes.",
    ),
    zh=Words(
        "命令行中有不属于任何选项的词:{words}",
        "程序在该处不接受这样的词。多半是开关型选项后面跟了值(`--bf16 True`),值含空格而未加引号,或 YAML、Python 列"
        "表的一个元素里写了多个词。",
        "选项不需要值时去掉该词(`--bf16`),含空格的值加引号(quote),并用 `--help` 查看其前一个选项接受什么。",
    ),
)

#: first words of a command that was handed to a server as its arguments
_COMMANDS = re.compile(r"(?:\S{0,80}/)?(?:serve|vllm|sglang|python3?|bash|sh|uv|torchrun|sleep)$|\S{0,80}/\S{1,160}$")

MISSING = Message(
    en=Words(
        "the program lacks the arguments {names}",
        "They have no default and were not given, or stand on a line below that is not part of the command.",
        "Add them; look for a blank behind a backslash, an empty variable, or a line without a backslash above them.",
    ),
    zh=Words(
        "程序缺少参数 {names}",
        "这些参数没有默认值且未给出,或写在不属于该命令的下方行中。",
        "补上它们;检查反斜杠后的空格、空变量,或上方缺少反斜杠的行。",
    ),
)

VALUE = Message(
    en=Words(
        "the program refuses the value of {names}: {why}",
        "The value is misspelt, of another type, missing, or known only to another version.",
        "Look the argument up in `--help` of the installed version and correct the value.",
    ),
    zh=Words(
        "程序拒绝 {names} 的值:{why}",
        "该值拼写有误、类型不符、缺失,或只有另一版本才支持。",
        "在已安装版本的 `--help` 中查看该参数并更正其值。",
    ),
)

READ = Message(
    en=Words(
        "the program cannot read the value of {names}",
        "The option has a reader of its own, which refused the text: JSON whose quotes the shell took away, a bare "
        "number or word where an object is asked for, or a form that an earlier release took and this one does not.",
        'See `--help` of the installed version for the form. Give JSON in single quotes (`{option} \'{{"key": '
        "1}}'`); vLLM also takes parts of it as `{option}.key 1`. What stands behind the name in the log says what "
        "was expected.",
    ),
    zh=Words(
        "程序无法读取 {names} 的值",
        "该选项有自己的解析方法,并拒绝了这段文本:JSON 的引号被 shell 去掉、要求对象处写了单独的数字或单词,或该写法只有"
        "旧版接受。",
        "在已安装版本的 `--help` 中查看写法。JSON 用单引号括起(`{option} '{{\"key\": 1}}'`);vLLM 也可以写成 "
        "`{option}.key 1`。日志中选项名之后的内容说明了它期望什么。",
    ),
)


#: file of a server's command line -> the package it belongs to, which a trainer may start with options of its own time
#: whose options are known here
_LAUNCHERS = frozenset({"torchrun", "deepspeed", "accelerate"})
_SERVERS = {"launch_server.py": "sglang", "api_server.py": "vllm", "vllm": "vllm", "launch_router.py": "sglang-router"}
_WHOSE = (
    "It is the server of `{0}` that says so; where a trainer started it (AReaL, slime, veRL, a script), the installed "
    "`{0}` is older or newer than that trainer was written for: `pip show {0}`, then install the version that the "
    "trainer names, often a newer one. "
)
_WHOSE_ZH = (
    "这是 `{0}` 的服务端所说;若由训练框架(AReaL、slime、veRL 或脚本)启动,则所装 `{0}` 比该框架所针对的版本旧或新:"
    "`pip show {0}`,再安装框架指定的版本(通常更新)。"
)

AMBIGUOUS = Message(
    en=Words(
        "{names} may stand for several options of the program",
        "argparse completes what is cut short, and here several options begin so.",
        "Write it out: {choices} and so on (`--help` lists them).",
    ),
    zh=Words(
        "{names} 可能对应程序的多个选项",
        "argparse 会补全缩写,而这里有多个选项以此开头。",
        "写全:{choices} 等(`--help` 会列出)。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say which argument it was and what was wrong with it."""
    unknown = (hits.get("unknown") or "").strip()
    if unknown and not unknown.strip("\\'\", "):
        message, names = BLANK, ""
    elif unknown:
        message, names = UNKNOWN, _listed(each for each in unknown.split() if each.lstrip("'\"[").startswith("-"))
    elif hits.get("ambiguous"):
        message, names = AMBIGUOUS, _listed([hits.get("ambiguous") or ""])
    elif hits.get("missing"):
        message, names = MISSING, _listed((hits.get("missing") or "").split(", "))
    else:
        message, names = READ if hits.get("told") else VALUE, _listed([hits.get("argument") or ""])
    program = (hits.get("program") or "").replace("\\", "/").rpartition("/")[2]
    server = _SERVERS.get(program)
    near = _nearest(program, unknown) if message is UNKNOWN else ""
    surplus = message is UNKNOWN and not unknown.lstrip("'\"[").startswith("-")
    if surplus:
        message = ENTRYPOINT if server and _COMMANDS.match(unknown.split()[0]) else SURPLUS
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), names=names or f"`{unknown[:60]}`",
        why=hits.get("why") or "", whose=_WHOSE.format(server) if server else "",
        whose_zh=_WHOSE_ZH.format(server) if server else "", confidence=LIKELY if surplus else CONFIRMED,
        option=(hits.get("argument") or "").split("/")[0], program=program,
        near=f"`{program}` has `{near}`. " if near else "", near_zh=f"`{program}` 有 `{near}`。" if near else "",
        choices=_listed((hits.get("match") or "").split(", ")), words=f"`{unknown[:60]}`",
    )  # fmt: skip


def _nearest(program: str, unknown: str) -> str:
    """An option of a launcher that the first argument is nearly."""
    if program not in _LAUNCHERS:
        return ""
    return nearest(unknown.split(maxsplit=1)[0].partition("=")[0], table(program).options)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{each.partition('=')[0].strip(',')}`" for each in list(names)[:4])
