"""The run reports to Weights & Biases and nobody is logged in.

## What it means
Weights & Biases is chosen (or taken by default because it is installed, as Transformers before 5 does), it is online,
and there is no WANDB_API_KEY and no entry of its host in ~/.netrc.
## What it does to a run
Without a terminal `wandb.init` ends with `UsageError: api_key not configured (no-tty)` or `No API key configured`
when training starts. With one it asks a question and the whole run waits for the answer of rank 0.
## What to do
Log in, set WANDB_API_KEY, or set WANDB_MODE=offline.
## How it is found
`report_to` (veRL: `trainer.logger`, Trinity-RFT: `monitor.monitor_type`), the key's two places and WANDB_MODE.
In a log: by the exception of wandb.
## References
https://docs.wandb.ai/guides/track/environment-variables
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py
"""

from __future__ import annotations

from doctor.checks.hub._helpers import means_yes
from doctor.checks.tracking._helpers import chosen, is_there, monitor, place, quoted, takes_all, verl_loggers
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem, Severity
from doctor.core.signature import Signature
from doctor.facts.base import Setting
from doctor.facts.environment import Environment
from doctor.facts.hub import Hub
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.facts.world import World

PROBLEM = Problem(id="TRK003", name="wandb-without-key", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"api_key not configured \(no-tty\)"),
    Signature(r"UsageError: No API key configured\. Use `wandb login` to log in"),
    Signature(r"UsageError: Use `wandb login` to log in"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Weights & Biases is on, and nobody is logged in (no API key, no terminal to ask)",
        "`wandb.init` finds no key in WANDB_API_KEY or `~/.netrc`, and a job without a terminal cannot "
        "ask for one, so the run ends when training starts.",
        "Run `wandb login` as the same user on a machine that shares the home folder, or `export "
        "WANDB_API_KEY=...` for every node; or go without: `WANDB_MODE=offline` (upload later with "
        '`wandb sync`) or `report_to="none"`.',
    ),
    zh=Words(
        "启用了 Weights & Biases,但无人登录(没有 API key,也没有可询问的终端)",
        "`wandb.init` 在 WANDB_API_KEY 和 `~/.netrc` 中都找不到密钥,而没有终端的作业无法询问,因此训练开始时运行终止。",
        "以同一用户在共享主目录的机器上运行 `wandb login`,或为每个节点 `export WANDB_API_KEY=...`;或不使"
        '用:`WANDB_MODE=offline`(之后用 `wandb sync` 上传)或 `report_to="none"`。',
    ),
)

LOG_COMMANDS = ("export WANDB_MODE=offline",)
QUIET = frozenset({"offline", "disabled", "dryrun"})
#: what keeps the process from asking: no terminal at its input or output
NO_TERMINAL = frozenset({"nohup", "srun", "setsid", "sbatch", "mpirun", "mpiexec"})
OWN_WAYS = ("WANDB_API_KEY", "WANDB_MODE", "WANDB_DISABLED", "WANDB_IDENTITY_TOKEN_FILE")

CHOSEN = Message(
    en=Words(
        "Weights & Biases is chosen and there is no key",
        "`wandb.init` {ends} when training starts, after the model was loaded.",
        "Log in, set WANDB_API_KEY, or keep the run offline and upload it later with `wandb sync`.",
    ),
    zh=Words(
        "选择了 Weights & Biases,但没有密钥",
        "训练开始时(模型已加载),`wandb.init` 会{ends_zh}。",
        "登录、设置 WANDB_API_KEY,或离线运行,之后用 `wandb sync` 上传。",
    ),
)
TAKEN = Message(
    en=Words(
        "Weights & Biases is installed and taken by default, and there is no key",
        "Transformers before 5 reports to every tracker that it finds unless `report_to` says otherwise. "
        "`wandb.init` {ends} when training starts.",
        "Set report_to to what is wanted (`none` for nothing), log in, or keep the run offline.",
    ),
    zh=Words(
        "已安装的 Weights & Biases 会被默认启用,但没有密钥",
        "除非 `report_to` 另有说明,Transformers 5 之前的版本会向找到的所有记录工具上报。"
        "训练开始时 `wandb.init` 会{ends_zh}。",
        "把 report_to 设为需要的工具(不需要则为 `none`),或登录,或离线运行。",
    ),
)
DIES = ("ends with `UsageError`, for there is no terminal to ask", "以 `UsageError` 结束,因为没有可供询问的终端")
ASKS = ("asks for it and everything waits for an answer", "停下来等待输入,整个任务随之等待")


def _manner(launch: Launch, hub: Hub) -> tuple[tuple[str, str], Severity, Confidence]:
    """What `wandb.init` does without a key: Ray's workers and batch jobs have no terminal."""
    if launch.kind in {"verl", "trinity"} or not NO_TERMINAL.isdisjoint(launch.wrappers):
        return DIES, ERROR, CONFIRMED
    return (ASKS, WARNING, LIKELY) if hub.interactive else (DIES, ERROR, LIKELY)


def _has_key(hub: Hub, environment: Environment, training: Training | None) -> bool:
    own = training.environment_set if training is not None else {}
    mode = (hub.wandb_mode or environment.get("WANDB_MODE") or "").lower()
    disabled = means_yes(environment.get("WANDB_DISABLED"))
    token = environment.get("WANDB_IDENTITY_TOKEN_FILE")
    return bool(hub.wandb_logged_in or mode in QUIET or disabled or token or any(each in own for each in OWN_WAYS))


def _finding(launch: Launch, hub: Hub, message: Message, setting: Setting | None) -> Finding:
    ends, severity, confidence = _manner(launch, hub)
    return found(
        PROBLEM,
        message,
        ends=ends[0],
        ends_zh=ends[1],
        severity=severity,
        confidence=confidence,
        where=place(setting),
        commands=("wandb login", "export WANDB_MODE=offline"),
        evidence=quoted(setting),
    )


@check(PROBLEM)
def of_the_trainer(
    launch: Launch,
    training: Training | None,
    hub: Hub,
    environment: Environment,
    packages: Packages,
    script: Script | None,
    world: World | None,
) -> Judgement:
    """Judge the machine of rank 0, where the run is reported."""
    if training is None or (world is not None and world.machine_rank):
        return
    explicit = "wandb" in chosen(training)
    by_default = takes_all(training, packages) and is_there(packages, ("wandb",))
    if not (explicit or by_default) or _has_key(hub, environment, training):
        return
    if script is not None and any(each == "wandb" or each.startswith("wandb.") for each in script.imports):
        yield Skip("the script imports wandb and may log in by itself")
        return
    yield _finding(launch, hub, CHOSEN if explicit else TAKEN, training.get("report_to"))


@check(PROBLEM)
def of_ray_trainers(
    launch: Launch,
    hub: Hub,
    environment: Environment,
    packages: Packages,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge veRL's loggers (its default has Weights & Biases in it) and Trinity-RFT's monitor."""
    setting: Setting | None = None
    if verl_config is not None:
        loggers, setting = verl_loggers(verl_config, packages)
        wanted = "wandb" in loggers or "tracking" in loggers
    elif trinity_config is not None:
        setting = monitor(trinity_config)
        wanted = setting is not None and setting.value == "wandb"
    else:
        return
    if wanted and not _has_key(hub, environment, None):
        yield _finding(launch, hub, CHOSEN, setting)
