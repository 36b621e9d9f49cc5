"""ms-swift cannot start with the model, the data or the processes that its arguments name.

## What it means
Its arguments name a dataset, a model type, adapters and reward functions, which it looks up before training; it also
refuses to spread a model by `device_map` where DeepSpeed, FSDP or vLLM want a process for each GPU.
## What it does to a run
The run ends in the first minutes, before the first step.
## What to do
What the finding says for the part that was not found or not accepted.
## How it is found
Before the start: its arguments, the release that is installed, the processes and the visible GPUs.
In a log: by the messages of ms-swift's arguments, dataset loader and preprocessors.
## References
https://github.com/modelscope/ms-swift/blob/main/swift/arguments/rlhf_args.py
https://github.com/modelscope/ms-swift/blob/main/swift/dataset/loader.py
https://github.com/modelscope/ms-swift/blob/main/swift/dataset/preprocessor/core.py
https://swift.readthedocs.io/en/latest/Customization/Custom-dataset.html
https://swift.readthedocs.io/en/latest/Instruction/Command-line-parameters.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth, whole
from doctor.core.signature import Hits, Signature, finding_of_case
from doctor.facts.packages import Packages
from doctor.facts.training import SWIFT, Training
from doctor.facts.world import World

PROBLEM = Problem(id="DAT044", name="swift-start-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: (?P<what>DeepSpeed|GRPO with vLLM|GKD with vLLM|FSDP2) is not compatible with "
            r"`device_map`"
        ),
        Message(
            en=Words(
                "{what} with one process for several GPUs: ms-swift would spread the model by `device_map`",
                "Without NPROC_PER_NODE ms-swift runs in one process and lays the model over all visible GPUs, "
                "which {what} does not allow.",
                "Start one process for each GPU: `NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf ...` "
                "(the number of visible GPUs), or show it a single one: `CUDA_VISIBLE_DEVICES=0`.",
            ),
            zh=Words(
                "{what} 使用了一个进程和多个 GPU:ms-swift 会用 `device_map` 分散模型",
                "没有 NPROC_PER_NODE 时,ms-swift 以一个进程运行,并把模型铺在所有可见 GPU 上,而 {what} 不允许这样。",
                "每个 GPU 启动一个进程:`NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf ...`(等于可见 "
                "GPU 数),或只显示一个:`CUDA_VISIBLE_DEVICES=0`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:Please explicitly pass the model_type|Failed to automatically match "
            r"model_type|Unable to determine (?:the )?model_type)"
        ),
        Message(
            en=Words(
                "ms-swift cannot tell which of its model types this model is",
                "It goes by `model_type` and `architectures` in `config.json`; several of its types share them, "
                "or this release knows none.",
                "Name it: `--model_type qwen2_5` (and `--template`, if asked), from the list in the exception or "
                "in the documentation on supported models; for a model newer than this release `pip install -U "
                "ms-swift`.",
            ),
            zh=Words(
                "ms-swift 无法判断该模型属于哪个 model_type",
                "它依据 `config.json` 中的 `model_type` 和 `architectures`;有多个类型共用它们,或该版本不认识。",
                "明确指定:`--model_type qwen2_5`(如被要求还需 `--template`),取自异常中的列表或支持模型文档;模型比"
                "该版本新时 `pip install -U ms-swift`。",
            ),
        ),
    ),
    (
        r"AssertionError: `(?P<folder>[^`\n]{1,300})` is not an adapter, please try using `--model`",
        Message(
            en=Words(
                "`{folder}` was given as an adapter and holds a whole model",
                "There is no `adapter_config.json` in it.",
                "Give it as the model: `--model {folder}` in place of `--adapters` (or "
                "`--resume_from_checkpoint` for full training).",
            ),
            zh=Words(
                "`{folder}` 被作为适配器传入,而其中是完整模型",
                "其中没有 `adapter_config.json`。",
                "作为模型传入:用 `--model {folder}` 代替 `--adapters`(全参训练用 `--resume_from_checkpoint`)。",
            ),
        ),
    ),
    (
        r"ValueError: The local path does not exist, dataset_id: `(?P<dataset>[^`\n]{1,300})`",
        Message(
            en=Words(
                "the dataset `{dataset}` is not there",
                "A name with the ending of a file, or below a folder, is taken as a local path, seen from the "
                "working directory of the process.",
                "Give the whole path (on every node, and inside the container), or the id of a dataset at "
                "ModelScope (`--use_hf true`: Hugging Face).",
            ),
            zh=Words(
                "数据集 `{dataset}` 不存在",
                "带文件后缀或位于文件夹下的名称会被当作本地路径,相对于进程的工作目录。",
                "给出完整路径(每个节点及容器内都需存在),或 ModelScope 的数据集 id(`--use_hf true` 时为 Hugging Face)。",
            ),
        ),
    ),
    (
        r"ValueError: self\.dataset: [^\n]{0,200}Please input the training dataset",
        Message(
            en=Words(
                "no dataset was given to ms-swift",
                "`--dataset` is empty: it was left out, or a line of the script before it lacks its backslash.",
                "Add `--dataset FILE.jsonl` (or an id); look at the command that really ran in the first lines "
                "of the log.",
            ),
            zh=Words(
                "没有给 ms-swift 数据集",
                "`--dataset` 为空:被遗漏,或脚本中它之前的某一行缺少反斜杠。",
                "加上 `--dataset FILE.jsonl`(或数据集 id);在日志开头查看实际运行的命令。",
            ),
        ),
    ),
    (
        r"ValueError: Failed to retrieve the dataset\. You can avoid this issue by increasing `max_length`",
        Message(
            en=Words(
                "ms-swift drew row after row and none could be encoded",
                "Rows longer than `max_length`, or with media that cannot be read, are drawn anew; here every "
                "try failed.",
                "Raise `--max_length`, or let rows be cut: `--truncation_strategy left`. Look for the first "
                "warning above for what is wrong with a row (an image path, a field), or let it stop there: "
                "`--strict true`.",
            ),
            zh=Words(
                "ms-swift 逐行抽取,没有一行可以编码",
                "超过 `max_length` 或媒体无法读取的行会被重新抽取;此处每次都失败。",
                "增大 `--max_length`,或允许截断:`--truncation_strategy left`。查看上方第一条警告以了解数据行的问"
                "题(图像路径、字段),或让其直接停止:`--strict true`。",
            ),
        ),
    ),
    (
        (
            r"MaxLengthError: Current length of row\((?P<length>\d{1,9})\) is larger than the "
            r"max_length\((?P<limit>\d{1,9})\)"
        ),
        Message(
            en=Words(
                "a row has {length} tokens, `max_length` is {limit}",
                "With `truncation_strategy` at its default such a row is an error where it cannot be replaced by "
                "another one (`--strict true`, inference, GRPO).",
                "Raise `--max_length` (and `--vllm_max_model_len`) to at least {length}, or "
                "`--truncation_strategy left` (cut) or `delete` (skip).",
            ),
            zh=Words(
                "某一行有 {length} 个 token,而 `max_length` 为 {limit}",
                "`truncation_strategy` 为默认值时,若不能换成另一行(`--strict true`、推理、GRPO),这样的行就是错误。",
                "把 `--max_length`(及 `--vllm_max_model_len`)提高到至少 {length},或 `--truncation_strategy left`("
                "截断)或 `delete`(跳过)。",
            ),
        ),
    ),
    (
        r"^AssertionError: message: \{",
        Message(
            en=Words(
                "a message of the dataset has a role or a content that ms-swift does not take",
                "Roles are `system`, `user`, `assistant`, `tool_call`, `tool_response` and `tool`; content must "
                "not be null.",
                "Mend the rows (`human` -> `user`, `gpt` -> `assistant`), or map the names: `--columns "
                '\'{{"conversations": "messages"}}\'`; give every message a `content`.',
            ),
            zh=Words(
                "数据集中某条消息的角色或内容不被 ms-swift 接受",
                "角色为 `system`、`user`、`assistant`、`tool_call`、`tool_response`、`tool`;content 不能为 null。",
                '修正数据(`human` -> `user`,`gpt` -> `assistant`),或映射名称:`--columns \'{{"conversations": '
                '"messages"}}\'`;每条消息都要有 `content`。',
            ),
        ),
    ),
    (
        (
            r"(?:ValueError: reward_function (?P<reward>\w{1,60}) is not implemented in "
            r"swift\.(?:llm|plugin|rewards)|^KeyError: '(?P<key>\w{1,60})'$)"
        ),
        Message(
            en=Words(
                "ms-swift knows no reward function of that name",
                "Names in `--reward_funcs` are looked up in its register `orms`; those of your own get there "
                "when the file named by `--external_plugins` is imported and writes `orms['NAME'] = Class`.",
                "Add the plugin: `--external_plugins path/plugin.py --reward_funcs NAME`, with `from "
                "swift.plugin import ORM, orms` (from 4.0: `from swift.rewards import ORM, orms`) in that file; "
                "the built-in ones are accuracy, format, cosine, repetition, react_format, soft_overlong.",
            ),
            zh=Words(
                "ms-swift 没有该名称的奖励函数",
                "`--reward_funcs` 中的名称在其注册表 `orms` 中查找;自己的函数需由 `--external_plugins` 指定的文件"
                "在导入时写入 `orms['NAME'] = Class`。",
                "加上插件:`--external_plugins path/plugin.py --reward_funcs NAME`,文件中写 `from swift.plugin "
                "import ORM, orms`(4.0 起:`from swift.rewards import ORM, orms`);内置的有 accuracy、format、"
                "cosine、repetition、react_format、soft_overlong。",
            ),
        ),
    ),
    (
        r"FileExistsError: args\.output_dir: `(?P<folder>[^`\n]{1,300})` already exists",
        Message(
            en=Words(
                "`swift export` will not write over `{folder}`",
                "The folder is there from an earlier export.",
                "Give another `--output_dir`, or move the old one away.",
            ),
            zh=Words(
                "`swift export` 不会覆盖 `{folder}`",
                "该文件夹来自之前的导出。",
                "换一个 `--output_dir`,或移走旧文件夹。",
            ),
        ),
    ),
    (
        (
            r"ValueError: assistant_message[:;] \{'role' ?: ?'(?P<role_found>\w{1,20})', 'content': "
            r"'(?P<text>[^'\n]{0,80})'"
        ),
        Message(
            en=Words(
                "a row of the dataset has no usable answer: it is empty or of another role",
                "ms-swift checks that each second message is the assistant's and says something; such a row would "
                "train "
                "on nothing.",
                "Remove these rows, or fill them: `dataset.filter(lambda row: all(m['content'] for m in "
                "row['messages'] if m['role'] == 'assistant'))`. For prompts without an answer (GRPO, "
                "inference) leave "
                "the last assistant message out altogether. `--strict true` stops at the first such row.",
            ),
            zh=Words(
                "数据集中有一行没有可用的回答:其 assistant 消息为空或角色不对",
                "ms-swift 会检查每隔一条消息是否为 assistant 且有内容;这样的行没有可训练的内容。",
                "删除或补全这些行:`dataset.filter(lambda row: all(m['content'] for m in row['messages'] if m['role'] "
                "== 'assistant'))`。没有回答的提示(GRPO、推理)应整条去掉最后的 assistant 消息。`--strict true` 会在第"
                "一处停下。",
            ),
        ),
    ),
    (
        r"^KeyError: '(?P<command>[\w\-]{1,40})'$",
        Message(
            en=Words(
                "`swift {command}` is no command of ms-swift",
                "The first word after `swift` (and `megatron`) is looked up among its commands. Algorithms "
                "are options of "
                "`swift rlhf`, not commands.",
                "GRPO, DPO, PPO, KTO, GKD and their kin: `swift rlhf --rlhf_type grpo --model ... --dataset "
                "...`; supervised "
                "training: `swift sft`. Others: `pt`, `infer`, `eval`, `deploy`, `rollout`, `export`, `app`, "
                "`sample`. "
                "A command of a newer release: `pip install -U ms-swift`.",
            ),
            zh=Words(
                "ms-swift 没有 `swift {command}` 这个命令",
                "`swift`(以及 `megatron`)后的第一个词会在其命令中查找。各种算法是 `swift rlhf` 的选项,不是命令。",
                "GRPO、DPO、PPO、KTO、GKD 等:`swift rlhf --rlhf_type grpo --model ... --dataset ...`;监督训"
                "练:`swift sft`。"
                "其他命令:`pt`、`infer`、`eval`、`deploy`、`rollout`、`export`、`app`、`sample`。较新版本的命令需 "
                "`pip install -U ms-swift`。",
            ),
        ),
    ),
    (
        r"^KeyError: '(?P<loss>[\w\-]{1,40})'$",
        Message(
            en=Words(
                "`--loss_type {loss}` is no loss of supervised training in ms-swift",
                "`swift sft` looks the name up among its own losses. `grpo`, `dapo`, `bnpo` and `dr_grpo` (and the "
                "preference losses) belong to `swift rlhf`; the web page starts `swift sft` where another tab "
                "was meant.",
                "For GRPO start `swift rlhf --rlhf_type grpo --loss_type {loss} ...`; for supervised training leave "
                "`--loss_type` out. A loss of your own is registered in the file of `--external_plugins`.",
            ),
            zh=Words(
                "`--loss_type {loss}` 不是 ms-swift 监督训练的损失",
                "`swift sft` 在自己的损失中查找该名称。`grpo`、`dapo`、`bnpo`、`dr_grpo`(以及偏好损失)属于 "
                "`swift rlhf`;"
                "网页界面在选错标签时会启动 `swift sft`。",
                "GRPO 请用 `swift rlhf --rlhf_type grpo --loss_type {loss} ...`;监督训练去掉 `--loss_type`。自"
                "定义损失在 "
                "`--external_plugins` 的文件中注册。",
            ),
        ),
    ),
    (
        r"ValueError: Failed to automatically match `template_type` for `(?P<folder>[^`\n]{1,300})`",
        Message(
            en=Words(
                "ms-swift cannot tell which chat template `{folder}` was trained with",
                "Several of its templates fit the architecture, and the folder has no `args.json` of a training with "
                "ms-swift that says which. `--template` is for the model of `--model` alone, not for a reward, "
                "reference or teacher model.",
                "For the model itself: `--template qwen3` (one of those in the exception). For another model: copy the "
                "`args.json` of its training with ms-swift into the folder (merging by other tools loses it), name its "
                "type (`--reward_model_type`, `--teacher_model_type`) where that leaves one template, and upgrade: "
                "`pip install -U ms-swift`; 3.11 did not ask.",
            ),
            zh=Words(
                "ms-swift 无法判断 `{folder}` 是用哪个聊天模板训练的",
                "有多个模板适合该架构,而目录中没有 ms-swift 训练留下的 `args.json` 来说明。`--template` 只用于 "
                "`--model` 的模型,不用于奖励模型、参考模型或教师模型。",
                "模型本身:`--template qwen3`(取自异常中的列表)。其他模型:把其 ms-swift 训练的 `args.json` 复制到该目"
                "录(用其他工具合并会丢失它),在只对应一个模板时指定其类型(`--reward_model_type`"
                "、`--teacher_model_type`),并升级:`pip install -U ms-swift`;3.11 不要求此项。",
            ),
        ),
    ),
)

NO_MODE = Message(
    en=Words(
        "`--use_vllm true` is given without `--vllm_mode`",
        "From 3.12 on ms-swift has no default for it and stops with `vllm_mode is required when use_vllm is true`.",
        "Add `--vllm_mode colocate` (the engine in the training processes), or `--vllm_mode server` with the address "
        "of a `swift rollout`.",
    ),
    zh=Words(
        "给出了 `--use_vllm true`,但没有 `--vllm_mode`",
        "从 3.12 起 ms-swift 对它没有默认值,会以 `vllm_mode is required when use_vllm is true` 停止。",
        "加上 `--vllm_mode colocate`(引擎位于训练进程中),或 `--vllm_mode server` 及 `swift rollout` 的地址。",
    ),
)

CONFIG = Message(
    en=Words(
        "`--config` is no option of ms-swift {version}",
        "Up to 4.0 it named a file of arguments. From 4.1 on that file stands in front of all others, and a word that "
        "is not understood ends the command with `ValueError: remaining_argv`.",
        "Put the file first, without `--config`: `swift rlhf FILE.yaml --key value ...`. What follows it wins now.",
    ),
    zh=Words(
        "ms-swift {version} 没有选项 `--config`",
        "到 4.0 为止它指定参数文件。从 4.1 起该文件要写在所有参数之前,无法识别的词会使命令以 "
        "`ValueError: remaining_argv` 结束。",
        "把文件写在最前面,去掉 `--config`:`swift rlhf FILE.yaml --key value ...`。此时写在其后的参数优先。",
    ),
)

PARALLEL = Message(
    en=Words(
        "`--vllm_tensor_parallel_size {size}` does not divide the {processes} processes",
        "The engines of colocate mode are made of groups of training processes, and the last group would be too "
        "small: ms-swift stops with `must divide world size`.",
        "Choose a size that divides {processes}, or another NPROC_PER_NODE.",
    ),
    zh=Words(
        "`--vllm_tensor_parallel_size {size}` 不能整除 {processes} 个进程",
        "colocate 模式的引擎由若干组训练进程构成,最后一组会不够:ms-swift 以 `must divide world size` 停止。",
        "选择能整除 {processes} 的大小,或改变 NPROC_PER_NODE。",
    ),
)

TRUNCATION = Message(
    en=Words(
        "`--truncation_strategy {strategy}` is refused for GRPO",
        "GRPO draws another row in place of one that is too long, or cuts it at its beginning; ms-swift takes nothing "
        "else and stops with a ValueError.",
        "Use `--truncation_strategy left` (the default for GRPO) or `delete`.",
    ),
    zh=Words(
        "GRPO 不接受 `--truncation_strategy {strategy}`",
        "GRPO 对过长的行要么另取一行,要么从开头截断;ms-swift 不接受其他取值,会以 ValueError 停止。",
        "使用 `--truncation_strategy left`(GRPO 的默认值)或 `delete`。",
    ),
)

REFERENCE = Message(
    en=Words(
        "`--ref_model` is given to training with LoRA",
        "Without its adapter the model is its own reference; ms-swift, which trains with LoRA unless told otherwise, "
        "stops with `LoRA training does not require a ref_model to be passed in`.",
        "Leave `--ref_model` out (an adapter as the reference: `--ref_adapters`), or train all weights: "
        "`--tuner_type full` (3.x: `--train_type full`).",
    ),
    zh=Words(
        "LoRA 训练给出了 `--ref_model`",
        "不加适配器的模型本身就是参考模型;ms-swift 默认用 LoRA 训练,会以 `LoRA training does not require a ref_model "
        "to be passed in` 停止。",
        "去掉 `--ref_model`(参考模型为适配器时用 `--ref_adapters`),或训练全部参数:`--tuner_type full`(3.x:"
        "`--train_type full`)。",
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0]),
    Signature(CASES[5][0]),
    Signature(CASES[6][0]),
    Signature(CASES[7][0], frame=r"swift[\\/](?:llm[\\/])?dataset[\\/]preprocessor"),
    Signature(
        CASES[8][0],
        frame=r"swift[\\/](?:trainers[\\/])?(?:rlhf_trainers?|plugin|rewards)[\\/]\w{2,40}\.py:(?:__init__|prepare_rewards|_prepare_rewards|\w{0,20}reward\w{0,20})$",
    ),
    Signature(CASES[9][0]),
    Signature(CASES[10][0]),
    Signature(CASES[11][0], frame=r"swift[\\/](?:cli[\\/]main|cli[\\/]_megatron[\\/]main)\.py:cli_main$"),
    Signature(CASES[12][0], frame=r"swift[\\/](?:plugin|loss)[\\/]\w{2,20}\.py:get_loss_func$"),
    Signature(CASES[13][0]),
)


@check(PROBLEM)
def swift_refuses(training: Training, world: World, packages: Packages) -> Judgement:
    """What ms-swift's own arguments refuse before the model is loaded; nothing without its release."""
    if training.config_origin != SWIFT or packages.version("ms-swift") is None:
        return
    for message, names, values in _refusals(training, world, packages):
        given = [setting for name in names if (setting := training.get(name)) is not None]
        yield found(
            PROBLEM,
            message,
            where=place_of(*given[:1]),
            evidence=tuple(Evidence("launch command", f"--{each.name} {each.text or each.value}") for each in given),
            **values,
        )


def _refusals(
    training: Training, world: World, packages: Packages
) -> Iterator[tuple[Message, tuple[str, ...], dict[str, Any]]]:
    """(message, arguments that are at fault, values) of each rule that is broken."""
    if training.get("config") is not None:
        if packages.matches("ms-swift", ">=4.1.0"):
            yield CONFIG, ("config",), {"version": packages.version("ms-swift")}
        if packages.matches("ms-swift", ">=3.10.0,<4.1.0") is not True:
            return  # what the file says is not read
    kind, engine = training.value("rlhf_type"), truth(training.value("use_vllm"))
    if what := _one_process_for_several(training, world, grpo=kind == "grpo", packages=packages):
        yield CASES[0][1], ("use_vllm",) if "vLLM" in what else (), {"what": what}
    if training.lora is not None and training.value("ref_model") and packages.matches("ms-swift", ">=3.5.3"):
        beta = training.get("beta")
        if kind != "grpo" or beta is None or (beta.known and beta.value != 0):
            yield REFERENCE, ("ref_model",), {}
    if kind != "grpo":
        return
    if engine and training.get("vllm_mode") is None and packages.matches("ms-swift", ">=3.12.0"):
        yield NO_MODE, ("use_vllm",), {}
    size = whole(training.value("vllm_tensor_parallel_size"))
    colocated = engine and training.value("vllm_mode") == "colocate" and packages.matches("ms-swift", ">=3.10.0")
    if colocated and size and world.processes and world.processes % size:
        yield PARALLEL, ("vllm_tensor_parallel_size",), {"size": size, "processes": world.processes}
    strategy = training.value("truncation_strategy")
    if strategy is not None and strategy not in {"left", "delete"} and packages.matches("ms-swift", ">=3.5.3"):
        yield TRUNCATION, ("truncation_strategy",), {"strategy": strategy}


def _one_process_for_several(training: Training, world: World, *, grpo: bool, packages: Packages) -> str:
    """What does not allow that one process takes several GPUs, empty where that is not so.

    The number of GPUs counts, not their use: swift/utils/env.py, `is_mp`.
    """
    several = world.local_processes == 1 and len(world.visible_gpus or ()) > 1
    if not several or truth(training.value("use_ray")):
        return ""
    if world.backend == "deepspeed":
        return "DeepSpeed"
    mixed = grpo and truth(training.value("use_vllm")) and packages.matches("ms-swift", ">=3.6.4")
    return "GRPO with vLLM" if mixed else ""


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
