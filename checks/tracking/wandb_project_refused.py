"""wandb does not take the project, entity or run that the training names.

## What it means
The name of a project has no slashes, an entity must exist and the account must belong to it, and a run can be resumed
only where it was made.
## What it does to a run
The run ends when logging starts, mostly on rank 0 only, while the others wait.
## What to do
Mend the names, or train without wandb.
## How it is found
In a log: by wandb's UsageError and CommError.
## References
https://docs.wandb.ai/models/ref/python/functions/init
https://github.com/wandb/wandb/blob/v0.21.0/wandb/sdk/wandb_settings.py
https://docs.wandb.ai/models/track/environment-variables
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRK008", name="wandb-project-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"(?:UsageError|wandb: ERROR)[: ]{1,3}Invalid project name '(?P<project>[^'\n]{1,120})': "
            r"(?P<why>[^\n]{4,120})"
        ),
        Message(
            en=Words(
                "wandb does not take `{project}` as the name of a project",
                "A name has at most 128 characters, and no slash, backslash, #, ?, % or colon among them: the path of "
                "an output folder, or `entity/project` in one word, is none.",
                "`WANDB_PROJECT=name` without slashes, and the team in `WANDB_ENTITY=team`; or train without it: "
                "`--report_to none`.",
            ),
            zh=Words(
                "wandb 不接受 `{project}` 作为项目名",
                "名称不能含斜杠、反斜杠、#、?、% 或冒号,且最多 128 个字符;输出文件夹路径或写成一体的 "
                "`entity/project` 会违反。",
                "`WANDB_PROJECT=name` 不含斜杠,团队写在 `WANDB_ENTITY=team`;或不使用它:`--report_to none`。",
            ),
        ),
    ),
    (
        r"(?:CommError|wandb: ERROR)[^\n]{0,40}project not found(?: \(<Response \[404\]>\)| \(Error 404)",
        Message(
            en=Words(
                "wandb does not find the project of that account",
                "The entity is another one than the key belongs to, or the project was made elsewhere.",
                "Look at who is logged in (`wandb status`, `wandb login --relogin`), and set `WANDB_ENTITY` and "
                "`WANDB_PROJECT`; with a server of your own also `WANDB_BASE_URL`.",
            ),
            zh=Words(
                "wandb 在该账号下找不到项目",
                "entity 与密钥所属不同,或项目在别处创建。",
                "查看登录账号(`wandb status`、`wandb login --relogin`),设置 `WANDB_ENTITY` 和 `WANDB_PROJECT`;自"
                "建服务器还需 `WANDB_BASE_URL`。",
            ),
        ),
    ),
    (
        (
            r"(?:UsageError|wandb: ERROR)[: ]{1,3}You provided an invalid value for the `resume` argument\. {1,2}"
            r"The value 'never'"
        ),
        Message(
            en=Words(
                "wandb has a run of this id already, and was told never to resume one",
                '`resume="never"` (`WANDB_RESUME=never`) ends where the id is taken: the job was started once more '
                "with the `WANDB_RUN_ID` of its first start.",
                "Set `WANDB_RESUME=allow` to go on with that run, or give a new `WANDB_RUN_ID` (or none) for a new "
                "one.",
            ),
            zh=Words(
                "wandb 中已有该 id 的 run,而设置要求不得恢复已有的 run",
                '`resume="never"`(`WANDB_RESUME=never`)在 id 已被占用时会报错:该作业以首次启动时的 `WANDB_RUN_ID` '
                "再次启动。",
                "要继续该 run 设 `WANDB_RESUME=allow`;要新建则换一个 `WANDB_RUN_ID`(或不设置)。",
            ),
        ),
    ),
    (
        (
            r"(?:UsageError|wandb: ERROR)[: ]{1,3}(?:Unable to resume run|resume='must' but run|You provided "
            r"an invalid value for the `resume` argument\. {1,2}The value 'must')"
        ),
        Message(
            en=Words(
                "wandb cannot resume the run that is named",
                '`WANDB_RESUME=must` (or `resume="must"`) wants a run of that id in that project, and there is '
                "none, or it was deleted.",
                "Set `WANDB_RESUME=allow`, which makes it where it is missing, or another `WANDB_RUN_ID`.",
            ),
            zh=Words(
                "wandb 无法恢复指定的 run",
                '`WANDB_RESUME=must`(或 `resume="must"`)要求该项目中存在该 id 的 run,而它不存在或已被删除。',
                "设置 `WANDB_RESUME=allow`(不存在时新建),或换一个 `WANDB_RUN_ID`。",
            ),
        ),
    ),
    (
        (
            r"WandbServiceConnectionError: Failed to connect to internal "
            r"service|WandbServiceNotOwnedError"
        ),
        Message(
            en=Words(
                "wandb's own helper process cannot be reached",
                "Each process talks to a service that wandb starts beside it; it died, or the connection was "
                "inherited by a fork (data loaders, Ray workers), or `WANDB_SERVICE` of another process came "
                "along in the environment.",
                "`unset WANDB_SERVICE` before the start, call `wandb.init` inside the process that logs (rank 0 "
                "only), use `num_workers` with spawn or none to look, and `pip install -U wandb`; to go on "
                "without it: `WANDB_MODE=offline` or `--report_to none`.",
            ),
            zh=Words(
                "无法连接 wandb 自己的辅助进程",
                "每个进程与 wandb 在旁边启动的服务通信;它已结束,或连接被 fork 继承(数据加载、Ray worker),或环境中"
                "带入了另一进程的 `WANDB_SERVICE`。",
                "启动前 `unset WANDB_SERVICE`,在负责记录的进程中(仅 rank 0)调用 `wandb.init`,排查时用 spawn 或不"
                "用 `num_workers`,并 `pip install -U wandb`;不使用它继续:`WANDB_MODE=offline` 或 `--report_to "
                "none`。",
            ),
        ),
    ),
    (
        r"UsageError: Run ID (?:cannot (?P<rule>[^\n]{4,80}))",
        Message(
            en=Words(
                "wandb does not take the id of the run: it cannot {rule}",
                "`WANDB_RUN_ID` (or `id=` of `wandb.init`) may hold letters, digits, dashes and underscores, and at "
                "most 64 of them; the name of an experiment with `/`, `:` or blanks in it is none.",
                "`export WANDB_RUN_ID=name-without-signs`, or leave it out, and give the long text as the name: "
                "`WANDB_NAME=...` (veRL `trainer.experiment_name`); or train without it: `WANDB_MODE=disabled`.",
            ),
            zh=Words(
                "wandb 不接受该 run 的 id:不允许 {rule}",
                "`WANDB_RUN_ID`(或 `wandb.init` 的 `id=`)只能含字母、数字、短横线和下划线,最多 64 个;含 `/`、`:` "
                "或空格的实验名不可用。",
                "`export WANDB_RUN_ID=不含符号的名称`,或不设置它,而把长文本作为名称:`WANDB_NAME=...`(veRL 为 "
                "`trainer.experiment_name`);或不使用它:`WANDB_MODE=disabled`。",
            ),
        ),
    ),
    (
        r"ValidationError: \d{1,2} validation errors? for Settings$",
        Message(
            en=Words(
                "wandb refuses one of its settings",
                "A `WANDB_...` variable or an argument of `wandb.init` has a value that the installed wandb does not "
                "know: the two lines below the error name the setting and what it takes (`mode` is online, offline, "
                "shared or disabled; a tag has 1 to 64 characters; a switch is true or false).",
                "Look at the variables, `env | grep WANDB`, and unset or correct the one that is named "
                "(`export WANDB_MODE=offline`); shorten tags and names; or train without it: `WANDB_MODE=disabled`.",
            ),
            zh=Words(
                "wandb 拒绝了它的某项设置",
                "某个 `WANDB_...` 变量或 `wandb.init` 的参数取了已安装版本不认识的值:错误下面两行给出设置名和允许的取值"
                "(`mode` 为 online、offline、shared 或 disabled;tag 为 1 到 64 个字符;开关为 true 或 false)。",
                "用 `env | grep WANDB` 查看变量,取消或改正所指出的那一个(`export WANDB_MODE=offline`);缩短 tag 和名称;"
                "或不使用它:`WANDB_MODE=disabled`。",
            ),
        ),
    ),
)

SIGNATURES = (
    *(Signature(pattern) for pattern, _ in CASES[:-1]),
    Signature(CASES[-1][0], frame=r"[\\/]wandb[\\/]sdk[\\/]"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
