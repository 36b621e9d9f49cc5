"""Python cannot parse a file: the script, or a module that it imports.

## What it means
A bracket or a quote that is not closed, wrong indentation, tabs mixed with spaces, or syntax of a newer Python.
## What it does to a run
It ends before its first line runs.
## What to do
Correct the line that is named, or the one before it; run with a Python that knows the syntax.
## How it is found
In a log: by SyntaxError and its kinds, where nothing was being parsed at run time.
## References
https://docs.python.org/3/library/exceptions.html#SyntaxError
https://docs.python.org/3/tutorial/errors.html#syntax-errors
"""

from __future__ import annotations

import re

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hit, Hits, Signature, finding_of_case

PROBLEM = Problem(id="PYT051", name="script-not-parsed", severity=ERROR, since="0.1")

#: areas and problems that know more of the same line
_OTHERS = ("DAT", "TRL", "VRL", "VLL", "TRF", "PYT005")

#: (pattern, frame of its traceback, what is said of it)
CASES = (
    (
        r"^(?P<kind>IndentationError|TabError): (?P<told>[^\n]{3,160})",
        "",
        Message(
            en=Words(
                "the indentation of a Python file is wrong ({kind})",
                "A block is not indented, is indented by another width, or mixes tabs with spaces: pasted code, or "
                "a merge that left its marks.",
                "Open the file at the line that the message names. `python -m tabnanny FILE` finds mixed tabs, "
                "`python -m py_compile FILE` tries it without running; let the editor write spaces only.",
            ),
            zh=Words(
                "Python 文件的缩进有误({kind})",
                "某个代码块没有缩进、缩进宽度不同,或混用了制表符与空格:粘贴的代码,或合并时留下的标记。",
                "打开文件查看消息所指的行。`python -m tabnanny FILE` 查找混用的制表符,`python -m py_compile FILE` 不"
                "运行即可检查;让编辑器只写空格。",
            ),
        ),
    ),
    (
        r"^SyntaxError: (?P<told>[^\n]{3,200})",
        "",
        Message(
            en=Words(
                "a Python file cannot be parsed (SyntaxError)",
                "A bracket, quote or colon is missing at the named line or just before it, a file that is no Python "
                "was started (a shell script, a page saved as a file), or the syntax needs a newer Python.",
                "Open the file at the line that the message names, and look at the line before as well; `python -m "
                "py_compile FILE` tries it without running. If the code is a library's, compare `python --version` "
                "with what the library requires.",
            ),
            zh=Words(
                "Python 文件无法解析(SyntaxError)",
                "所指的行或其前一行缺少括号、引号或冒号,启动的不是 Python 文件(shell 脚本、保存成文件的网页),或语法"
                "需要更新的 Python。",
                "打开文件查看消息所指的行及其前一行;`python -m py_compile FILE` 不运行即可检查。若是库的代码,比较 "
                "`python --version` 与该库的要求。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, frame=frame, symptom_of=_OTHERS) for pattern, frame, _ in CASES)


_IMPORTING = re.compile(r"(?:^<frozen |[\\/])(?:importlib|runpy)\b")
_AT_RUN_TIME = re.compile(r"\(<(?:string|unknown|fstring)>, line \d")


def explain(hits: Hits) -> Finding | None:
    """Only files: what a program parses while it runs (an answer, an expression) has frames that do not import."""
    if not any(_of_a_file(hit) for hit in hits):
        return None
    return finding_of_case(PROBLEM, [(pattern, message) for pattern, _, message in CASES], hits, LIKELY)


def _of_a_file(hit: Hit) -> bool:
    if _AT_RUN_TIME.search(hit.text):
        return False
    importing = hit.code.lstrip().startswith(("import ", "from ")) or any(map(_IMPORTING.search, hit.frames[-1:]))
    return not hit.frames or importing
