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
its end. What is given as a log and is none is told apart: a report about a machine (`pip list`, `nvidia-smi`,
collect_env), wandb's own log, an empty file, one that is no text, one in which nothing tells of a run, text that a
terminal cut at one column, and notes that show different failures under several headings.
## References
https://github.com/benfred/py-spy
https://www.kernel.org/doc/html/latest/admin-guide/mm/concepts.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Where, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.unknown import Unknown

PROBLEM = Problem(id="UNK003", name="log-breaks-off", severity=WARNING, since="0.1")

AT_STEP = Message(
    en=Words(
        "the log stops at step {done} of {all} with neither a failure nor an end",
        "The process may have been killed without a word, may hang, may still run, or may write its errors elsewhere; "
        "this log does not tell which.",
        "Give its stderr as well. Look for the process (`ps`), for a kill (`dmesg -T | grep -i 'killed process'`), "
        "and, when it still runs without moving, take `py-spy dump --pid PID` of every rank.",
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
        "Give its stderr as well. Look for the process (`ps`), for a kill (`dmesg -T | grep -i 'killed process'`), "
        "and, when it still runs without moving, take `py-spy dump --pid PID` of every rank.",
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
_GIVE = (
    "Give what the command that was started printed, stdout and stderr together (`python train.py 2>&1 | tee "
    "train.log`), or the folder with the logs of all ranks; `trainer_state.json` and dumps of completions are read too."
)
_GIVE_ZH = (
    "请给出启动命令的全部输出,包括 stdout 和 stderr(`python train.py 2>&1 | tee train.log`),或存放各 rank 日志的文件夹;"
    "也可以给出 `trainer_state.json` 和生成结果的转储。"
)
EMPTY = Message(
    en=Words("there is nothing in the log: it is empty", "Where the run failed is not said here.", _GIVE),
    zh=Words("日志是空的", "这里没有说明运行在哪里失败。", _GIVE_ZH),
)
BINARY = Message(
    en=Words(
        "this is no text, and so no log that can be read",
        "Most of its bytes are no characters: weights, an archive of another kind, a program, or a damaged file.",
        _GIVE,
    ),
    zh=Words(
        "这不是文本,因此不是可读的日志",
        "其中多数字节不是字符:可能是权重、其他类型的归档、程序或损坏的文件。",
        _GIVE_ZH,
    ),
)
WANDB = Message(
    en=Words(
        "this is wandb's own log: what the run printed is not in it",
        "wandb writes here what its service does, and it does nothing wrong; a failure of the run stands in "
        "`files/output.log` of the same run folder, where wandb kept the console.",
        "Give `wandb/run-*/files/output.log`, or better what the launcher itself printed: output of a process that "
        "died is cut off in it.",
    ),
    zh=Words(
        "这是 wandb 自己的日志,不含运行的输出",
        "wandb 在这里记录其服务的活动,其中没有异常;若 wandb 保存了控制台输出,运行的失败会出现在同一运行文件夹的 "
        "`files/output.log` 中。",
        "请给出 `wandb/run-*/files/output.log`,最好是启动器本身的输出:进程死亡时前者会被截断。",
    ),
)
FOREIGN = Message(
    en=Words(
        "nothing in it tells of a run: no step, no failure, no end",
        "It does not look like what a trainer, a server or a launcher prints, so nothing can be said from it.",
        _GIVE,
    ),
    zh=Words(
        "其中没有任何运行记录:没有步骤、失败或结束",
        "它不像训练器、服务器或启动器的输出,因此无法从中得出结论。",
        _GIVE_ZH,
    ),
)
NOTES = Message(
    en=Words(
        "failures under several headings: notes on many problems, not the log of one run",
        "Each of them was met by another run, so none is the cause of what you look for.",
        "Give the log of the run that failed, or of this text only the part about one failure.",
    ),
    zh=Words(
        "多个标题下各有不同的失败:这是问题笔记,而非某一次运行的日志",
        "这些失败来自不同的运行,因此其中没有哪一个能算作所查问题的原因。",
        "请给出失败的那次运行的日志,或只给出该文中关于某一个失败的部分。",
    ),
)
WRAPPED = Message(
    en=Words(
        "the text was copied out of a terminal that cut its lines at one column",
        "Words and numbers are broken in the middle, so what the run said is not found again in it.",
        "Give the file itself: `python train.py 2>&1 | tee train.log`. Out of tmux without cuts: `tmux capture-pane "
        "-p -J -S - > train.log`.",
    ),
    zh=Words(
        "这段文字是从终端复制的,各行在同一列被截断",
        "单词和数字从中间断开,因此无法从中认出运行所说的内容。",
        "请给出日志文件本身:`python train.py 2>&1 | tee train.log`。从 tmux 中不断行地导出:`tmux capture-pane -p -J "
        "-S - > train.log`。",
    ),
)
_OTHERS = {
    "empty": EMPTY, "binary": BINARY, "wandb": WANDB, "foreign": FOREIGN, "report": REPORT, "notes": NOTES,
    "wrapped": WRAPPED,
}  # fmt: skip


def answer(unknown: Unknown) -> Finding | None:
    """Say that the log stops, and where."""
    if unknown.kind != "abrupt":
        return None
    if other := _OTHERS.get(unknown.nature):
        last_says_nothing = unknown.nature in ("binary", "notes")
        evidence = () if last_says_nothing else unknown.evidence
        file = unknown.where.file or "REPORT"
        where = Where(file=unknown.where.file) if last_says_nothing else unknown.where
        return found(PROBLEM, other, where=where, evidence=evidence, confidence=LIKELY, file=file)
    if unknown.steps is None:
        return found(PROBLEM, MESSAGE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY)
    done, total = unknown.steps
    return found(
        PROBLEM, AT_STEP, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, done=done, all=total
    )  # fmt: skip
