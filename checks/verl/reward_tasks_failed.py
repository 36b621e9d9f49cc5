"""The reward function of veRL's `prime` manager fails, and its samples count as 0.

## What it means
The `prime` reward manager runs the reward function in a pool of processes. What the function raises there, or a
function that cannot be sent to another process, is printed in one line for each sample, and the sample gets a score of
0.
## What it does to a run
Training goes on with rewards that say nothing: 0 for some samples, or for all.
## What to do
Mend the function; one that cannot be pickled needs another reward manager.
## How it is found
In a log: by the manager's own line for a sample that failed.
## References
https://github.com/verl-project/verl/blob/main/verl/workers/reward_manager/prime.py
https://github.com/verl-project/verl/issues/3150
https://github.com/verl-project/verl/pull/1296
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL043", name="reward-tasks-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\[Error\] Task failed: (?:Can't (?:pickle|get)(?: local object)? (?P<unsent>[^\n]{1,120}?)(?:: [^\n]{1,120}?"
        r")?|(?P<raised>[^\n]{0,200}?)), completion: ",
        kind="warning",
    ),
    Signature(r"^\[Timeout\] (?P<late>Task) timeout: ", kind="warning"),
)

RAISED = Message(
    en=Words(
        "the reward function failed for {count} samples, and each of them counts as 0",
        "veRL's `prime` reward manager prints what the function raised and goes on with a score of 0. A model writes "
        "anything, so parsing and comparing must not raise; where all samples fail, nothing can be learned.",
        "Call the function by hand with one completion of the log and its ground truth, and mend what it raises; let "
        "it answer 0.0 for what it cannot read. Compare its signature with the one that the manager calls: "
        "`(data_source, solution_str, ground_truth, extra_info)`.",
    ),
    zh=Words(
        "奖励函数对 {count} 个样本执行失败,这些样本都按 0 分计",
        "veRL 的 `prime` 奖励管理器打印函数抛出的内容,并以 0 分继续。模型什么都可能写出来,因此解析与比较不应抛出异常;"
        "若所有样本都失败,就学不到任何东西。",
        "用日志中的一个 completion 及其标准答案手动调用该函数,修复它抛出的异常;无法解析时让它返回 0.0。并将其签名与管"
        "理器的调用方式 `(data_source, solution_str, ground_truth, extra_info)` 对照。",
    ),
)
UNSENT = Message(
    en=Words(
        "the reward function cannot be sent to the reward processes: every sample counts as 0",
        "The `prime` reward manager scores in a pool of processes, which get the function by its module and name. One "
        "that veRL loads from a file, or wraps in another function for its keyword arguments, is not found there.",
        "Choose a manager that calls the function in its own process: `reward_model.reward_manager=naive` (or `dapo`, "
        "`batch`; `reward.reward_manager.name` in releases of 2026). Or put the function into a package that is "
        "installed on every node, and import it in the file that is configured.",
    ),
    zh=Words(
        "奖励函数无法发送到评分进程:每个样本都按 0 分计",
        "`prime` 奖励管理器在进程池中评分,子进程按模块和名称取得函数。veRL 从文件加载的函数,或为传入关键字参数而再包一"
        "层的函数,在那里找不到。",
        "选择在自身进程中调用函数的管理器:`reward_model.reward_manager=naive`(或 `dapo`、`batch`;2026 年的版本为 "
        "`reward.reward_manager.name`)。或把函数放进每个节点都安装的包中,再在所配置的文件里导入它。",
    ),
)
LATE = Message(
    en=Words(
        "the reward function did not finish for {count} samples, and each of them counts as 0",
        "The `prime` reward manager waits 300 seconds for a sample and then goes on with a score of 0. Symbolic "
        "comparison, code that a completion asks to be run, or a slow service takes that long.",
        "Give the function a time limit of its own (a few seconds for `math_verify` and sandboxes), and look at how "
        "many samples are concerned: those steps are slow as well.",
    ),
    zh=Words(
        "奖励函数对 {count} 个样本没有按时完成,这些样本都按 0 分计",
        "`prime` 奖励管理器对每个样本等待 300 秒,之后以 0 分继续。符号比较、运行 completion 中的代码,或缓慢的服务都可"
        "能这么久。",
        "给函数设置自己的时限(`math_verify` 与沙箱为几秒),并查看涉及多少样本:这些步也会变慢。",
    ),
)


def explain(hits: Hits) -> Finding:
    """What the first failed sample says; a function that cannot be sent fails for all of them."""
    return found(
        PROBLEM, hits.choice({"unsent": UNSENT, "raised": RAISED, "late": LATE}, RAISED), where=hits.where(),
        evidence=hits.evidence(), confidence=LIKELY, count=hits.count,
    )  # fmt: skip
