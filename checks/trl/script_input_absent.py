"""`trl grpo`, `trl sft` and their kin were not told the dataset or could not import a reward.

## What it means
The scripts behind TRL's commands take the dataset by `--dataset_name` (or `datasets:` in the configuration file), and
reward functions by the names of TRL's own or by an import path, `module.function`.
## What it does to a run
ValueError after the model's name was read, before training.
## What to do
Give the missing one; start the command where the module can be imported.
## How it is found
Before launch, by the arguments of the command and its `--config` file. In a log: by the scripts' exceptions.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/scripts/grpo.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/scripts/utils.py
"""

from __future__ import annotations

from typing import Any

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.choices import Choices
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(id="TRL066", name="script-input-absent", severity=ERROR, since="0.1", affects={"trl": ">=0.19"})

CASES = (
    (
        r"ValueError: Either `datasets` or `dataset_name` must be provided",
        Message(
            en=Words(
                "TRL's script was not told which dataset to train on",
                "Neither `--dataset_name` nor `datasets:` in the file of `--config` was given.",
                "Add `--dataset_name NAME_OR_PATH` (with `--dataset_config` and `--dataset_train_split` where needed), "
                "or a list `datasets:` with `path:` entries in the YAML file.",
            ),
            zh=Words(
                "没有告诉 TRL 脚本用哪个数据集训练",
                "既没有 `--dataset_name`,`--config` 的文件中也没有 `datasets:`。",
                "添加 `--dataset_name NAME_OR_PATH`(需要时加 `--dataset_config`、`--dataset_train_split`),或在 YAML 文"
                "件中写 `datasets:` 列表及其 `path:`。",
            ),
        ),
    ),
    (
        r"ValueError: Could not load reward function '(?P<name>[^'\n]{1,120})'",
        Message(
            en=Words(
                "the reward function `{name}` of `--reward_funcs` could not be found",
                "It is neither one of TRL's own rewards nor a `module.function` that can be imported from here.",
                "Write the import path (`my_rewards.score` for the function `score` of a file `my_rewards.py`) and "
                "make it importable: start in the file's folder with `PYTHONPATH=.`; TRL's own are `accuracy_reward`, "
                "`think_format_reward` and others.",
            ),
            zh=Words(
                "找不到 `--reward_funcs` 中的奖励函数 `{name}`",
                "它既不是 TRL 自带的奖励,也不是能从此处导入的 `module.function`。",
                "写出导入路径(文件 `my_rewards.py` 中的函数 `score` 写为 `my_rewards.score`),并使其可导入:"
                "在该文件的目录中以 `PYTHONPATH=.` 启动;TRL 自带 `accuracy_reward`、`think_format_reward` 等。",
            ),
        ),
    ),
    (
        r"ValueError: No reward source provided\. Pass `reward_funcs`",
        Message(
            en=Words(
                "GRPO got no reward function, and the environment has no `get_reward`",
                "Without a reward there is nothing to learn from.",
                "Pass `reward_funcs=[...]`, or define `get_reward` in the environment's class.",
            ),
            zh=Words(
                "GRPO 没有奖励函数,环境也没有 `get_reward`",
                "没有奖励就无从学习。",
                "传入 `reward_funcs=[...]`,或在环境类中定义 `get_reward`。",
            ),
        ),
    ),
    (
        r"ValueError: Config file (?P<file>\S{1,200}) must contain a YAML mapping",
        Message(
            en=Words(
                "the configuration file `{file}` is no mapping of names to values",
                "It is empty, a list, or its lines lack the colon.",
                'Write `name: value` lines, one an argument; `python -c "import yaml; '
                "print(yaml.safe_load(open('{file}')))\"` "
                "shows what is read.",
            ),
            zh=Words(
                "配置文件 `{file}` 不是名称到值的映射",
                "文件为空、是列表,或缺少冒号。",
                '每个参数一行 `name: value`;用 `python -c "import yaml; '
                "print(yaml.safe_load(open('{file}')))\"` 查看读到的内容。",
            ),
        ),
    ),
    (
        r"ValueError: rollout_func must return keys (?P<keys>\[[^\]\n]{1,160}\]) in its output dict",
        Message(
            en=Words(
                "`rollout_func` returned a dictionary without all of {keys}",
                "The trainer takes tokens and log-probabilities from it.",
                "Return them all, each a list with one entry a completion; log-probabilities are those of the "
                "sampled tokens.",
            ),
            zh=Words(
                "`rollout_func` 返回的字典缺少 {keys} 中的某些键",
                "训练器要从中取得词元和对数概率。",
                "全部返回,每个都是列表,每条生成一项;对数概率为所采样词元的对数概率。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


@check(PROBLEM)
def script_input_absent(launch: Launch, training: Training, packages: Packages, choices: Choices | None) -> Judgement:
    """`trl grpo` and its kin without a dataset; a configuration that could not be read proves nothing."""
    if launch.kind != "trl":
        return
    setting = launch.arguments.get("reward_funcs")
    known = choices.of("trl.reward_funcs_registry") if choices is not None and launch.subcommand == "grpo" else ()
    for name in setting.value if setting is not None and isinstance(setting.value, list) and known else ():
        if name not in known and "." not in name and "$" not in name:
            yield found(PROBLEM, CASES[1][1], evidence=quoted(setting), name=name)
    if not training.complete or training.broken is not None or training.dataset is not None:
        return
    if packages.matches("trl", ">=0.19") and not {"help", "h", "datasets"} & set(launch.arguments):
        yield found(PROBLEM, CASES[0][1], evidence=(Evidence("launch command", " ".join(launch.argv)),))


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for."""
    first = hits.first
    values: dict[str, Any] = dict(first.groups)
    if "keys" in values:
        values["keys"] = values["keys"].strip("[]").replace("'", "`")
    return found(PROBLEM, CASES[first.signature][1], where=hits.where(), evidence=hits.evidence(), **values)
