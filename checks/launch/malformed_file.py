"""A file of the run cannot be read as what it should be.

## What it means
A script, YAML, JSON, model or dataset file that the command uses is malformed, unreadable, binary, or far too big.
## What it does to a run
The program that reads it ends with a parser's traceback, often only after the model was loaded on every rank.
## What to do
Mend the file at the line given.
## How it is found
Each file is read by a parser that gives places; nothing in it is executed.
## References
https://yaml.org/spec/1.1/
https://www.rfc-editor.org/rfc/rfc8259
"""

from __future__ import annotations

import re

from doctor.checks.launch._broken_files import KINDS, MISSING, broken_files
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import at
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.dataset import Dataset
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.interpreter import Interpreter
from doctor.facts.model import Model
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="LCH004", name="malformed-file", severity=ERROR, since="0.1")

MESSAGE = Message(
    en=Words(
        "`{file}`: {message}",
        "It is the {what} of this run. The program that reads it ends with a parser's traceback, often only after "
        "minutes of loading.",
        "Mend the file at the place given and run the check again: what it says could not be judged.",
    ),
    zh=Words(
        "`{file}`:{message}",
        "它是本次运行的 {what}。读取它的程序会以解析器的 traceback 退出,而且常常是在加载几分钟之后。",
        "在所示位置修好该文件后再次检查:目前无法判断其内容。",
    ),
)


#: what the reader of scripts says of syntax that is newer than the doctor's own Python
NEWER_SYNTAX = re.compile(r"need Python (\d+)\.(\d+), and the doctor reads this file with")


@check(PROBLEM)
def malformed_file(  # noqa: PLR0917 - one for each kind of file
    script: Script | None,
    accelerate: AccelerateConfig | None,
    deepspeed: DeepspeedConfig | None,
    training: Training | None,
    verl: VerlConfig | None,
    trinity: TrinityConfig | None,
    model: Model | None,
    dataset: Dataset | None,
    interpreter: Interpreter | None,
) -> Judgement:
    """Yield for every file that exists and cannot be read, unless the Python that runs it reads more than ours."""
    files = {name: each for name, each in locals().items() if name in KINDS}
    for kind, broken in broken_files(files):
        needed = NEWER_SYNTAX.search(broken.message)
        if needed and _at_least(interpreter, int(needed[1]), int(needed[2])):
            yield Skip(f"the script cannot be read: {broken.message}")
        elif MISSING not in broken.message:
            name = broken.place.file.rpartition("/")[2]
            message = broken.message.rstrip(".")
            yield found(PROBLEM, MESSAGE, file=name, message=message, what=KINDS[kind], where=at(broken.place))


def _at_least(interpreter: Interpreter | None, major: int, minor: int) -> bool:
    """Whether the Python that runs the script may be this new; one that is not known may."""
    version = interpreter.version.split(".") if interpreter is not None else []
    return len(version) < 2 or not version[1].isdecimal() or (int(version[0]), int(version[1])) >= (major, minor)
