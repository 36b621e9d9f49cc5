"""A log stops in the middle of a run, with neither a failure nor an end in it.

## What it means
The run was under way and the log just stops: the process was killed without a word, hangs, still runs, or wrote its
last lines somewhere else.
## What it does to a run
Nothing can be said from this log alone.
## What to do
Find out which it is: `ps` for a process that still runs, the kernel log for one that was killed, `py-spy dump` for one
that hangs, and other files for its stderr.
## How it is found
No exception, exit code or signal in the log, no line that says that the run is through, and the training bar short of
its end. A report about a machine (`pip list`, `nvidia-smi`, collect_env) that is given as a log is told apart.
## References
https://github.com/benfred/py-spy
https://www.kernel.org/doc/html/latest/admin-guide/mm/concepts.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.unknown import Unknown

PROBLEM = Problem(id="UNK003", name="log-breaks-off", severity=WARNING, since="0.1")

AT_STEP = Message(
    en=Words(
        "the log stops at step {done} of {all} with neither a failure nor an end",
        "The process may have been killed without a word, may hang, may still run, or may write its errors elsewhere; "
        "this log does not tell which.",
        "Give its stderr as well. Look for the process (`ps`), for a kill (`dmesg -T | grep -i 'killed "
        "process'`), and, when "
        "it still runs without moving, take `py-spy dump --pid PID` of every rank.",
    ),
    zh=Words(
        "日志停在第 {done} 步(共 {all} 步),既无失败也无结束",
        "进程可能被悄然杀死、挂起、仍在运行,或把错误写到别处;仅凭这份日志无法区分。",
        "请同时给出 stderr。检查进程是否存在(`ps`)、是否被杀(`dmesg -T | grep -i 'killed process'`);若仍在运行但不前进,"
        "对每个 rank 执行 `py-spy dump --pid PID`。",
    ),
)
MESSAGE = Message(
    en=Words(
        "the log shows neither a failure nor the end of the run",
        "The process may have been killed without a word, may hang, may still run, or may write its errors elsewhere; "
        "this log does not tell which.",
        "Give its stderr as well. Look for the process (`ps`), for a kill (`dmesg -T | grep -i 'killed "
        "process'`), and, when "
        "it still runs without moving, take `py-spy dump --pid PID` of every rank.",
    ),
    zh=Words(
        "日志中既无失败也无运行结束的标志",
        "进程可能被悄然杀死、挂起、仍在运行,或把错误写到别处;仅凭这份日志无法区分。",
        "请同时给出 stderr。检查进程是否存在(`ps`)、是否被杀(`dmesg -T | grep -i 'killed process'`);若仍在运行但不前进,"
        "对每个 rank 执行 `py-spy dump --pid PID`。",
    ),
)
REPORT = Message(
    en=Words(
        "an environment report and no log: nothing in it tells of a run",
        "`doctor postmortem` reads what a run printed; what was given says what is installed on a machine.",
        "Judge the report with `doctor check --from {file}`; for a run that died give its log, and the report with "
        "`--context`.",
    ),
    zh=Words(
        "这是环境报告而非日志:其中没有任何运行记录",
        "`doctor postmortem` 读取的是运行的输出;这里给出的内容只说明机器上安装了什么。",
        "用 `doctor check --from {file}` 判断这份报告;若要诊断失败的运行,请给出其日志,并用 `--context` 附上报告。",
    ),
)


def answer(unknown: Unknown) -> Finding | None:
    """Say that the log stops, and where."""
    if unknown.kind != "abrupt":
        return None
    if unknown.report:
        file = unknown.where.file or "REPORT"
        return found(PROBLEM, REPORT, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, file=file)
    if unknown.steps is None:
        return found(PROBLEM, MESSAGE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY)
    done, total = unknown.steps
    return found(
        PROBLEM, AT_STEP, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, done=done, all=total
    )  # fmt: skip
