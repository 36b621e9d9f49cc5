"""The log's last word only says that a rollout or a worker failed; the reason stands elsewhere.

## What it means
Frameworks catch what an agent, an engine or a worker raised, print it, try again, and in the end raise an exception of
their own without the reason.
## What it does to a run
The run ends, or goes on without those samples.
## What to do
Read what was printed before it, and the log of the process or server that is meant.
## How it is found
In a log: by such an exception, where nothing else in it explains the end.
## References
https://github.com/rllm-org/rllm/issues/176
https://github.com/rllm-org/rllm/issues/217
https://github.com/Gen-Verse/dLLM-RL/issues/19
https://github.com/python/cpython/blob/v3.10.0/Lib/traceback.py
https://github.com/verl-project/verl/issues/1306
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="RLX033", name="rollout-failed-elsewhere", severity=WARNING, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"Exception: Trajectory (?P<number>\d{1,9}) cannot complete\. Please check the log message",
        Message(
            en=Words(
                "rLLM gave trajectory {number} up after several attempts; why, it printed before",
                "Each attempt ended by an exception of the agent, its tools or environment, or of a request to the "
                "engine, and rLLM prints that one and tries again. This one is only the sum.",
                "Search the log above for the first traceback that is none of rLLM's retry (`export "
                "RAY_DEDUP_LOGS=0`, so that Ray folds none away), and give that part. Run the agent against the engine "
                "once outside of the training, with one task.",
            ),
            zh=Words(
                "rLLM 在多次尝试后放弃了轨迹 {number};原因它之前已经打印",
                "每次尝试都因 agent、其工具或环境,或对引擎请求的异常而结束,rLLM 打印该异常并重试。这里的异常只是汇总。",
                "在上方日志中查找第一个不属于 rLLM 重试的回溯(设置 `export RAY_DEDUP_LOGS=0`,避免 Ray 折叠),并给出该部"
                "分。在训练之外,用一个任务让 agent 单独对引擎运行一次。",
            ),
        ),
    ),
    (
        r"Exception: API request failed with status (?P<code>5\d\d): ",
        Message(
            en=Words(
                "the engine's server answered a request of the rollout with {code}",
                "That is an error inside the server, which prints its traceback in its own log (under Ray in the lines "
                "of the worker or in `/tmp/ray/session_latest/logs`); the client sees the number only.",
                "Look there for the first exception: a prompt longer than the engine's window, a sampling parameter "
                "that it refuses, or a dead engine are usual. Send one request by hand with `curl`.",
            ),
            zh=Words(
                "引擎的服务端对 rollout 的请求返回 {code}",
                "这是服务端内部的错误,其回溯打印在服务端自己的日志中(Ray 下在该 worker 的行中或 "
                "`/tmp/ray/session_latest/logs`);客户端只看到状态码。",
                "在那里查找第一个异常:常见的有 prompt 超出引擎窗口、引擎拒绝的采样参数,或引擎已退出。用 `curl` 手动发送"
                "一个请求。",
            ),
        ),
    ),
    (
        r"RuntimeError: Some workers died without returning results",
        Message(
            en=Words(
                "a worker of the sampling script stopped answering, and its own words are not here",
                "The main process waited for results and got none in its time. The worker was killed (host memory), "
                "ended by an exception that went to another place, or is stuck on one long answer.",
                "Look for the worker's traceback above and in its own output, and for a kill: `dmesg -T | grep -i "
                "'killed process'`. If workers still run, `py-spy dump --pid PID` shows where; a longer time-out of "
                "the queue helps where answers do take that long.",
            ),
            zh=Words(
                "采样脚本的某个 worker 不再返回结果,而它自己的输出不在此处",
                "主进程等待结果而在时限内没有得到。该 worker 可能被杀(主机内存)、因写到别处的异常而结束,或卡在一个很长"
                "的回答上。",
                "在上方及其自身输出中查找该 worker 的回溯,并查看是否被杀:`dmesg -T | grep -i 'killed process'`。若 "
                "worker 仍在运行,`py-spy dump --pid PID` 显示其位置;若只是回答耗时长,则加大队列的超时时间。",
            ),
        ),
    ),
    (
        r"RayTaskError\(SyntaxError\): <no detail available>",
        Message(
            en=Words(
                "a worker of Ray could not parse a Python file, and the place got lost on the way",
                "Python keeps file and line of a SyntaxError in fields that Ray does not hand over. A module that the "
                "worker imports or generates needs a newer Python, or is damaged.",
                "Look in the worker's own lines (`(TaskRunner pid=...)`, or "
                "`/tmp/ray/session_latest/logs/worker-*.err`) for `File ..., line` and a caret. Compare `python "
                "--version` with what the packages require, and try `python -m compileall -q FOLDER` on code of your "
                "own.",
            ),
            zh=Words(
                "Ray 的某个 worker 无法解析一个 Python 文件,而位置在途中丢失",
                "Python 把 SyntaxError 的文件与行号放在 Ray 不会传递的字段中。worker 导入或生成的某个模块需要更新的 "
                "Python,或已损坏。",
                "在该 worker 自己的行(`(TaskRunner pid=...)` 或 `/tmp/ray/session_latest/logs/worker-*.err`)中查找 "
                "`File ..., line` 与插入符。比较 `python --version` 与各包的要求,并对自己的代码执行 "
                "`python -m compileall -q FOLDER`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern, symptom_of=("*",)) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """What the first one sums up."""
    return finding_of_case(PROBLEM, CASES, hits, LIKELY)
