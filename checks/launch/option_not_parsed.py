"""The code reads a command-line option that its own parser does not know.

## What it means
The options were parsed by one program (or release) and are read by another: a trainer class is called from a script of
another release, a script builds its arguments by hand, or one entry point of a release lacks an option of another.
## What it does to a run
It ends with an AttributeError at the first line that reads the option.
## What to do
Take script and library from one release, or add the option to the parser.
## How it is found
In a log: by the AttributeError of argparse's Namespace.
## References
https://github.com/OpenRLHF/OpenRLHF/issues/846
https://docs.python.org/3/library/argparse.html#the-namespace-object
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="LCH040", name="option-not-parsed", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"AttributeError: 'Namespace' object has no attribute '(?P<option>\w{1,80})'"),)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "the code reads the option `{option}`, which the script that parsed the command line does not have",
        "Nothing that was typed is wrong by itself: the parser knows no such option, so it has no value, not even a "
        "default. Script and library are of different releases (a script of a checkout with an installed package, or "
        "the reverse), an entry point lacks an option that only its sister has, or the arguments were built by hand.",
        "Use the entry point and the library of one release: run it as a module of the installed package (`python "
        "-m ...`) or install the checkout that the script lies in (`pip install -e .`), and look in the release "
        "notes for `{option}`. Where the release itself forgot it, upgrade, or give it a value right after parsing "
        "(`args.{option} = None` or `False`).",
    ),
    zh=Words(
        "代码读取选项 `{option}`,而解析命令行的脚本没有该选项",
        "输入的内容本身没有错:解析器不认识这个选项,因此连默认值也没有。脚本与库来自不同版本(源码目录中的脚本配已安"
        "装的包,或相反),某个入口缺少另一个入口才有的选项,或参数是手工构造的。",
        "使用同一版本的入口与库:以已安装包的模块方式运行(`python -m ...`),或安装脚本所在的源码(`pip install -e .`),"
        "并在发布说明中查找 `{option}`。若是该版本本身遗漏,请升级,或在解析后立即赋值(`args.{option} = None` 或 "
        "`False`)。",
    ),
)
