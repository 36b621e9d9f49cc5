"""The run reports to a tracker that is not installed.

## What it means
`report_to` (veRL: `trainer.logger`) names an experiment tracker whose package the environment does not have.
## What it does to a run
The trainer's constructor ends with `RuntimeError: ... requires ... to be installed`, on every rank, after the model
was loaded; veRL ends with `ModuleNotFoundError` after all its workers were started.
## What to do
Install the package, or choose another tracker.
## How it is found
The argument as the run will have it, against the installed packages.
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/main_classes/callback
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/integrations/integration_utils.py
https://github.com/verl-project/verl/blob/main/verl/utils/tracking.py
"""

from __future__ import annotations

from doctor.checks.tracking._helpers import NEEDS, VERL_NEEDS, chosen, is_there, place, quoted, verl_loggers
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="TRK001", name="tracker-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:RuntimeError|ImportError): (?P<tracker>AzureML|ClearML|CodeCarbon|Comet|DVCLive|DagsHub|Flyte|MLflow"
        r"|Neptune|SwanLab|TensorBoard|Trackio|Wandb)Callback requires [^\n]{2,60} to be installed",
    ),
)

#: what pip calls the packages, where it is not the tracker's own name in small letters
PACKAGES = {"AzureML": "azureml-sdk", "Comet": "comet-ml", "Flyte": "flytekit"}

LOG_MESSAGE = Message(
    en=Words(
        "`report_to` asks for {tracker}, and `{package}` is not installed",
        "The trainer makes the callback of each tracker when it is built, after the model was loaded.",
        'Run `pip install {package}` with the interpreter that trains, or set `report_to="none"` (or another tracker).',
    ),
    zh=Words(
        "`report_to` 要求使用 {tracker},但未安装 `{package}`",
        "训练器在构建时(模型加载之后)创建每个追踪器的回调。",
        '用训练所用的解释器 `pip install {package}`,或设置 `report_to="none"`(或其他追踪器)。',
    ),
)

TRAINER = Message(
    en=Words(
        "`report_to` names `{name}`, and `{package}` is not installed",
        "The trainer's constructor ends with `RuntimeError: ... requires {package} to be installed` on every rank, "
        "after the model was loaded.",
        "Install the package, or choose another tracker.",
    ),
    zh=Words(
        "`report_to` 写了 `{name}`,但没有安装 `{package}`",
        "模型加载后,每个 rank 上的训练器构造函数都会以 `RuntimeError: ... requires {package} to be installed` 失败。",
        "安装该软件包,或换一个记录工具。",
    ),
)
VERL = Message(
    en=Words(
        "veRL logs to `{name}`, and `{package}` is not installed",
        "The run ends with `ModuleNotFoundError` after all workers were started and the models loaded.",
        "Install the package, or leave it out of `trainer.logger`.",
    ),
    zh=Words(
        "veRL 要记录到 `{name}`,但没有安装 `{package}`",
        "在所有工作进程启动、模型加载完之后,任务会以 `ModuleNotFoundError` 结束。",
        "安装该软件包,或从 `trainer.logger` 中去掉它。",
    ),
)


@check(PROBLEM)
def of_the_trainer(training: Training | None, packages: Packages) -> Judgement:
    """One finding a tracker; names that nobody knows are another problem."""
    if training is None:
        return
    for name in chosen(training):
        needs = NEEDS.get(name)
        if needs is None or is_there(packages, needs):
            continue
        if not packages.complete:
            yield Skip(f"whether `{needs[0]}` is installed is not in the list of packages")
            continue
        setting = training.get("report_to")
        yield found(
            PROBLEM,
            TRAINER,
            name=name,
            package=needs[0],
            where=place(setting),
            commands=(f"pip install {needs[0]}",),
            evidence=quoted(setting),
        )


@check(PROBLEM)
def of_verl(verl_config: VerlConfig | None, packages: Packages) -> Judgement:
    """What veRL's Tracking imports; its default has Weights & Biases in it."""
    if verl_config is None:
        return
    loggers, setting = verl_loggers(verl_config, packages)
    for name in loggers:
        needs = VERL_NEEDS.get(name)
        if needs is None or is_there(packages, needs):
            continue
        if not packages.complete:
            yield Skip(f"whether `{needs[0]}` is installed is not in the list of packages")
            continue
        yield found(
            PROBLEM,
            VERL,
            name=name,
            package=needs[0],
            where=place(setting),
            commands=(f"pip install {needs[0]}", "trainer.logger=['console']"),
            evidence=quoted(setting),
        )


def explain(hits: Hits) -> Finding:
    """Some trackers' packages have another name."""
    tracker = hits.get("tracker") or ""
    package = PACKAGES.get(tracker, tracker.lower())
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), tracker=tracker, package=package,
        commands=(f"pip install {package}",),
    )  # fmt: skip
