"""The command holds typographic dashes or quotes.

## What it means
A word processor, chat or web page turned `--` into a dash or `"` into a curly quote, and the command was pasted.
## What it does to a run
The launcher does not recognise the option: it takes the word for the script's name, or passes it on to the script,
which then ends with `unrecognized arguments` or runs without the option.
## What to do
Type the dashes and quotes again.
## How it is found
A word of the command begins with a Unicode dash, or holds curly quotes around it.
## References
https://docs.python.org/3/library/argparse.html#prefix-chars
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.facts.launch import Launch

PROBLEM = Problem(id="LCH009", name="typographic-characters", severity=ERROR, since="0.1")

DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d"
QUOTES = "\u2018\u2019\u201c\u201d\uff02"

MESSAGE = Message(
    en=Words(
        "`{word}` of the command begins with U+{code}, which is no plain dash or quote",
        "Launchers know options by the ASCII character `-` and the shell knows quotes by `'` and `\"`. This word "
        "is taken for a file name or passed on as it is, so the option has no effect or the command ends.",
        "Type the character again: it came from a formatted text.",
    ),
    zh=Words(
        "命令中的 `{word}` 以 U+{code} 开头,不是普通的连字符或引号",
        "启动器只认 ASCII 的 `-`,shell 只认 `'` 和 `\"`。这个词会被当成文件名或原样传下去,"
        "选项不起作用,或者命令直接退出。",
        "重新输入该字符:它是从排版过的文本里粘贴来的。",
    ),
)


@check(PROBLEM)
def typographic_characters(launch: Launch) -> Judgement:
    """One finding a word."""
    for word in launch.argv:
        if word[:1] and word[0] in DASHES + QUOTES:
            plain = word.lstrip(DASHES + QUOTES).rstrip(QUOTES)
            mended = f"--{plain}" if word[0] in DASHES else f"'{plain}'"
            yield found(
                PROBLEM,
                MESSAGE,
                word=word,
                code=f"{ord(word[0]):04X}",
                commands=(mended,),
                evidence=(Evidence("launch command", " ".join(launch.argv)),),
            )
