"""A word of veRL's command line is no override that Hydra can read.

## What it means
Hydra reads each word as `key=value` by a grammar of its own. Paths that begin with `~`, letters such as `<`, `>`, `#`
or `&`, and everything that is not ASCII must stand in quotes of their own; a list must be one word; a comma
outside of a list asks for several runs. A space behind the backslash at the end of a line gives a word of one
space, and the shell ends the command there: all lines below it are lost.
## What it does to a run
`LexerNoViableAltException`, `mismatched input`, `Error parsing override` or `Ambiguous value for argument` before
anything is loaded.
## What to do
Put the value into single quotes and the whole override into double ones, or take out what stands behind the
backslash.
## How it is found
The words of the command, by Hydra's published grammar; only what it certainly refuses is told.
## References
https://hydra.cc/docs/advanced/override_grammar/basic/
https://github.com/facebookresearch/hydra/blob/main/hydra/grammar/OverrideLexer.g4
https://www.gnu.org/software/bash/manual/html_node/Escape-Character.html
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.checks.launch._helpers import COMMAND
from doctor.checks.verl._override_grammar import (
    BEHIND,
    BLANK,
    COMMENT,
    EMPTY,
    LETTER,
    NO_VALUE,
    OPEN,
    SEVERAL,
    refused,
)
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.launch import Launch

PROBLEM = Problem(id="VRL037", name="verl-override-unreadable", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^LexerNoViableAltException: (?P<override>.{0,300})$"),
    Signature(r"^Error parsing override '(?P<override>.{1,300})'$"),
    Signature(r"^Ambiguous value for argument '(?P<override>.{1,300})'$"),
    Signature(r"^See https://hydra\.cc/docs/[\w.]{1,20}/advanced/override_grammar/basic for details"),
)

_CUT_OFF = Message(
    en=Words(
        "a backslash of the command does not end its line",
        "Behind the backslash stands a space or a comment, so the shell ends the command there: the lines below never "
        "reach veRL, and Hydra cannot read the word `{word}`.",
        "Take out what stands behind the backslash. Comments cannot stand between the lines of one command.",
    ),
    zh=Words(
        "命令中的反斜杠没有位于行尾",
        "反斜杠后面还有空格或注释,shell 因此在此处结束命令:后面各行不会传给 veRL,而 Hydra 无法解析 `{word}`。",
        "删除反斜杠后面的内容。同一条命令的各行之间不能写注释。",
    ),
)
_EMPTY = Message(
    en=Words(
        "a word of the command is empty",
        'Hydra reads every word as an override, and an empty one is none. An unset variable in quotes, `"$EXTRA"`, '
        "gives such a word.",
        'Leave the quotes of an optional variable out, or write `${{EXTRA:+"$EXTRA"}}`.',
    ),
    zh=Words(
        "命令中有一个空的词",
        'Hydra 把每个词都当作覆盖项,而空词不是覆盖项。带引号的未设置变量 `"$EXTRA"` 就会产生空词。',
        '可选变量不要加引号,或写成 `${{EXTRA:+"$EXTRA"}}`。',
    ),
)
_NO_VALUE = Message(
    en=Words(
        "Hydra cannot read `{word}`: it has no `=`",
        "Every word behind the module is an override, `key=value`. Often a space got into a value or around the `=`, "
        "or a variable of the shell was empty.",
        "Write `key=value` without spaces around the `=`, and put an override with spaces into quotes.",
    ),
    zh=Words(
        "Hydra 无法解析 `{word}`:缺少 `=`",
        "模块名之后的每个词都应是 `key=value` 形式的覆盖项。常见原因是取值中或 `=` 两侧有空格,或 shell 变量为空。",
        "写成 `key=value`,`=` 两侧不留空格;含空格的覆盖项整体加引号。",
    ),
)
_SEVERAL = Message(
    en=Words(
        "`{word}` gives Hydra several values",
        "A comma outside of brackets asks for one run for each value, and Hydra ends with `Ambiguous value for "
        "argument`.",
        "Write `key=[a,b]` for a list, and `\"key='a,b'\"` for a text with a comma.",
    ),
    zh=Words(
        "`{word}` 给了 Hydra 多个取值",
        "方括号之外的逗号表示对每个取值各运行一次,Hydra 会以 `Ambiguous value for argument` 退出。",
        "列表请写 `key=[a,b]`,含逗号的文本请写 `\"key='a,b'\"`。",
    ),
)
_LETTER = Message(
    en=Words(
        "Hydra cannot read `{word}`: `{at}` must stand in quotes",
        "Outside of quotes Hydra's grammar has ASCII letters, digits and few signs. The shell takes its own quotes "
        "away, so the value needs quotes inside of them. The shell does not replace `~` there either.",
        "Write `\"key='value'\"`; a home folder as `$HOME/...`. A placeholder such as `<path>` is yours to fill in.",
    ),
    zh=Words(
        "Hydra 无法解析 `{word}`:`{at}` 必须放在引号内",
        "引号之外,Hydra 的语法只允许 ASCII 字母、数字和少量符号(中文路径也不行)。shell 会去掉自己的引号,所以取值还需要"
        "一层内部引号;shell 在这里也不会展开 `~`。",
        "写成 `\"key='value'\"`;主目录写 `$HOME/...`。`<path>` 之类的占位符需替换成实际值。",
    ),
)
_OPEN = Message(
    en=Words(
        "Hydra cannot read `{word}`: `{at}` has no counterpart",
        "A bracket or a quote of the override is not closed. Most often the shell split a list at its space, or took "
        "the quotes inside of it away.",
        'Put the whole override into double quotes: `"key=[a, b]"`.',
    ),
    zh=Words(
        "Hydra 无法解析 `{word}`:`{at}` 没有配对",
        "该覆盖项的括号或引号未闭合。多半是 shell 在空格处拆开了列表,或去掉了其中的引号。",
        '用双引号括住整个覆盖项:`"key=[a, b]"`。',
    ),
)
_BEHIND = Message(
    en=Words(
        "Hydra cannot read `{word}`: something stands behind the closing bracket",
        "Behind a list or a group Hydra's grammar allows nothing more, not even a space.",
        "End the override with the bracket.",
    ),
    zh=Words(
        "Hydra 无法解析 `{word}`:右括号后面还有内容",
        "在列表或字典之后,Hydra 的语法不允许再有任何内容,空格也不行。",
        "让覆盖项以右括号结尾。",
    ),
)
_SOMEWHERE = Message(
    en=Words(
        "Hydra cannot read an override of the command",
        "An override is `key=value` by Hydra's grammar; `{said}` is where it stumbled, before anything was loaded.",
        "Look at quotes, brackets, commas and `=` in the values of the command; put a value with such letters into "
        "`\"key='value'\"`.",
    ),
    zh=Words(
        "Hydra 无法解析命令中的某个覆盖项",
        "覆盖项须符合 Hydra 的 `key=value` 语法;它在加载任何东西之前停在 `{said}`。",
        "检查命令取值中的引号、括号、逗号和 `=`;含这些字符的取值写成 `\"key='value'\"`。",
    ),
)
_MESSAGES = {
    EMPTY: _EMPTY, BLANK: _CUT_OFF, COMMENT: _CUT_OFF, NO_VALUE: _NO_VALUE, SEVERAL: _SEVERAL, LETTER: _LETTER,
    OPEN: _OPEN, BEHIND: _BEHIND,
}  # fmt: skip

#: options of Hydra's own that take the next word (https://hydra.cc/docs/advanced/hydra-command-line-flags/)
_TAKE_A_WORD = {
    "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--cfg", "-c", "--package", "-p",
    "--experimental-rerun", "--info", "-i",
}  # fmt: skip
_SEVERAL_RUNS = {"--multirun", "-m"}
#: letters of an override in a headline
_LONGEST = 80


def _overrides(words: tuple[str, ...]) -> Iterator[str]:
    """The words that Hydra reads as overrides: all but its own options and what they take."""
    taken = False
    for word in words:
        if not taken and not (word.startswith("-") and len(word) > 1):
            yield word
        taken = word in _TAKE_A_WORD


@check(PROBLEM)
def override_unreadable(launch: Launch) -> Judgement:
    """A word that is cut off comes first, for it takes the others with it; else each one is told."""
    if launch.kind != "verl":
        return
    several = not _SEVERAL_RUNS.isdisjoint(launch.script_args)
    refusals = [(word, why) for word in _overrides(launch.script_args) if (why := refused(word)) is not None]
    for word, why in refusals:
        if why.kind == SEVERAL and several:
            continue
        yield found(
            PROBLEM,
            _MESSAGES[why.kind],
            evidence=(Evidence(COMMAND, word if word.strip() else f"'{word}'"),),
            word=_shown(word),
            at=why.at,
        )


def explain(hits: Hits) -> Finding:
    """What Hydra stumbled over, judged again from the override that it prints."""
    word = hits.get("override")
    word = " " if word == "" else word  # an empty word fails in other words: here the space at the line's end is lost
    why = refused(word) if word is not None else None
    if word is None or why is None:
        said = word or hits.evidence()[0].text
        return found(PROBLEM, _SOMEWHERE, where=hits.where(), evidence=hits.evidence(), said=said)
    message = _MESSAGES[why.kind]
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), word=_shown(word), at=why.at)


def _shown(word: str) -> str:
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 4]} ..."
