"""There is no checkpoint to resume from.

## What it means
`resume_from_checkpoint=True` takes the last `checkpoint-N` of the output folder; a path takes that folder, which must
hold weights, the state of trainer, optimizer and scheduler, and random states.
## What it does to a run
`train` raises ValueError or FileNotFoundError after the model was loaded.
## What to do
Name an existing folder, or start without resuming the first time.
## How it is found
In a log: by the exception of the Trainer.
## References
https://huggingface.co/docs/transformers/trainer#checkpoints
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
https://github.com/axolotl-ai-cloud/axolotl/issues/1631
https://github.com/huggingface/transformers/pull/39599
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/integrations/deepspeed.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.16.7/deepspeed/runtime/engine.py
https://github.com/PKU-YuanGroup/Video-LLaVA/issues/42
https://github.com/Haochen-Wang409/ross/issues/13
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="CKP004", name="resume-checkpoint-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: Can't find a valid checkpoint at (?P<path>[^\s]{1,300})"),
    Signature(r"ValueError: \[deepspeed\] failed to resume from checkpoint (?P<unread>[^\s]{1,300})"),
    Signature(r"KeyError: '(?P<missing>step)'", frame=r"accelerate[\\/]accelerator\.py:load_state"),
    Signature(r"ValueError: Can't find a checkpoint index \([^)\n]{1,200}\) in (?P<indexless>[^\s]{1,300})\."),
    Signature(r"ValueError: No valid checkpoint found in output directory \((?P<folder>[^)\n]{1,300})\)"),
    Signature(
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<holder>[^'\n]{0,200}checkpoint[^'\n/]{0,60})/"
        r"(?P<part>trainer_state\.json|optimizer\.(?:pt|bin)|scheduler\.(?:pt|bin)|rng_state\w{0,12}\.pth|"
        r"random_states_\d{1,4}\.pkl|pytorch_model(?:_fsdp)?\.bin|model\.safetensors)'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no checkpoint to resume from at `{path}`",
        "The folder does not exist on this machine, or holds no weights that the Trainer can load (a "
        "save that was cut off, a ZeRO or FSDP folder under another name).",
        "List what is there: `ls {path}`, and give the newest complete `checkpoint-N`, as an absolute "
        "path; on several nodes it must be visible on each.",
    ),
    zh=Words(
        "`{path}` 处没有可用于恢复的检查点",
        "该目录在本机不存在,或没有 Trainer 能加载的权重(保存被中断,或名称不同的 ZeRO、FSDP 目录)。",
        "列出内容:`ls {path}`,并以绝对路径给出最新的完整 `checkpoint-N`;多机时每个节点都必须能看到它。",
    ),
)

LOG_MESSAGE_ENGINE = Message(
    en=Words(
        "`{path}` holds no DeepSpeed state (`global_step*`) to resume from",
        "Under DeepSpeed the Trainer resumes from the engine's own folder `global_step*` in the checkpoint. There is "
        "none: only weights were saved (`save_only_model=True`, or a script that keeps nothing but its adapter or "
        "projector), the run that saved it had no DeepSpeed, the folder was tidied up, or it is another path than "
        "meant.",
        "List `ls {path}`. Where there are weights alone, give the folder as the model (or adapter) and begin anew "
        "without `resume_from_checkpoint`; for later runs leave `save_only_model` off. Where `global_step*` lies "
        "elsewhere, give the folder that holds it, as an absolute path that every node sees.",
    ),
    zh=Words(
        "`{path}` 中没有可用于恢复的 DeepSpeed 状态(`global_step*`)",
        "使用 DeepSpeed 时,Trainer 从检查点中引擎自己的 `global_step*` 目录恢复。这里没有:只保存了权重"
        "(`save_only_model=True`,或脚本只保存适配器、projector),保存它的运行没有使用 DeepSpeed,目录被清理过,或路径不对"
        "。",
        "执行 `ls {path}`。若只有权重,把该目录作为模型(或适配器)重新开始,不设 `resume_from_checkpoint`;以后的运行不要打"
        "开 `save_only_model`。若 `global_step*` 在别处,以绝对路径给出包含它的目录,且每个节点都能看到。",
    ),
)

LOG_MESSAGE_UNREAD = Message(
    en=Words(
        "DeepSpeed did not load the checkpoint `{path}`, though it has a `global_step*`",
        "The engine came back without one: the file `latest`, which names the step, is missing there (the save was cut "
        "off before it, or it was not copied), or the states in the folder are not those of an engine of this kind "
        "(only weights were kept). Its warning just before says which.",
        "`cat {path}/latest; ls {path}/global_step*`. A missing `latest` beside a complete folder is mended by writing "
        "the name of that folder into it: `echo global_step500 > {path}/latest`. Else resume from an earlier complete "
        "checkpoint; for later runs leave `save_only_model` off.",
    ),
    zh=Words(
        "DeepSpeed 没有加载检查点 `{path}`,尽管其中有 `global_step*`",
        "引擎没有加载到任何内容:记录步数的 `latest` 文件不在那里(保存在写它之前中断,或没有一起复制),或目录中的状态不属"
        "于这种引擎(只保留了权重)。其前一条警告说明是哪一种。",
        "`cat {path}/latest; ls {path}/global_step*`。若目录完整而缺少 `latest`,把该目录名写入即可:`echo "
        "global_step500 > {path}/latest`。否则从更早的完整检查点恢复;以后的运行不要打开 `save_only_model`。",
    ),
)

LOG_MESSAGE_FOLDER = Message(
    en=Words(
        "`resume_from_checkpoint=True`, and `{path}` holds no `checkpoint-N`",
        'Nothing was saved there yet: the first start, another `output_dir`, or `save_strategy="no"`.',
        "Pass `resume_from_checkpoint` only where one exists: `resume = get_last_checkpoint(output_dir)` "
        "(`from transformers.trainer_utils import get_last_checkpoint`), or check `output_dir`.",
    ),
    zh=Words(
        "设置了 `resume_from_checkpoint=True`,但 `{path}` 中没有 `checkpoint-N`",
        '那里还没有保存过任何东西:首次启动、`output_dir` 不同,或 `save_strategy="no"`。',
        "仅在检查点存在时传入 `resume_from_checkpoint`:`resume = get_last_checkpoint(output_dir)`(`from "
        "transformers.trainer_utils import get_last_checkpoint`),或检查 `output_dir`。",
    ),
)

LOG_MESSAGE_PART = Message(
    en=Words(
        "the checkpoint `{path}` is incomplete: it lacks `{part}`",
        "The training is to go on from it, and a part that resuming needs is not there: the save was interrupted "
        "(killed, disk full) before that part was written, only the model was saved (`save_only_model=True`, or a "
        "folder made by `save_model`), or it was written by another trainer or kind of run.",
        "List `ls -la {path}` and resume from an earlier, complete checkpoint: "
        '`resume_from_checkpoint=".../checkpoint-N"` (and remove the broken folder, or the automatic choice takes it '
        "again). From weights alone begin anew: give the folder as the model and no `resume_from_checkpoint`. In later "
        "runs leave `save_only_model` off (Accelerate's scripts: `--save_state`).",
    ),
    zh=Words(
        "检查点 `{path}` 不完整:缺少 `{part}`",
        "要从它恢复训练,而恢复所需的一部分不存在:保存在写出该部分之前中断(被杀、磁盘满),只保存了模型"
        "(`save_only_model=True`,或由 `save_model` 生成的目录),或它由其他训练器或其他类型的运行写出。",
        '用 `ls -la {path}` 查看,从更早的完整检查点恢复:`resume_from_checkpoint=".../checkpoint-N"`(并删除损坏的目录,否'
        "则自动选择会再次选中它)。只有权重时重新开始:把该目录作为模型,不设 `resume_from_checkpoint`。以后的运行不要打开"
        " `save_only_model`(Accelerate 脚本:`--save_state`)。",
    ),
)

#: each process writes its own random state, and asks for it again
LOG_MESSAGE_RANK = Message(
    en=Words(
        "the checkpoint `{path}` has no random state of process {process}: `{part}`",
        "Each process writes a file of its own. It is missing where fewer processes saved the checkpoint than resume "
        "from it, or where the script called `save_state` on the main process alone (`if "
        "accelerator.is_main_process:`).",
        "Resume with as many processes as saved it. In the script call `accelerator.save_state(DIR)` on every "
        "process, outside of that condition. To use this checkpoint nonetheless, upgrade Accelerate (newer releases "
        "go on without the file) or copy `random_states_0.pkl` to the missing name: only the order of random numbers "
        "differs.",
    ),
    zh=Words(
        "检查点 `{path}` 中没有进程 {process} 的随机数状态:`{part}`",
        "每个进程写出自己的文件。保存时的进程数少于恢复时的进程数,或脚本只在主进程上调用 `save_state`(`if "
        "accelerator.is_main_process:`)时会缺失。",
        "用与保存时相同的进程数恢复。在脚本中让每个进程都调用 `accelerator.save_state(DIR)`,放在该条件之外。若仍要使用"
        "此检查点,升级 Accelerate(新版本没有该文件也会继续),或把 `random_states_0.pkl` 复制为缺失的文件名:只影响随机数"
        "的顺序。",
    ),
)

LOG_MESSAGE_INDEX = Message(
    en=Words(
        "the checkpoint `{path}` holds no whole weights and no index of their pieces",
        "Resuming looks for `pytorch_model.bin` or `model.safetensors` or the index of their pieces. A LoRA run "
        "wrote only the adapter there, or FSDP or DeepSpeed its shards, and the trainer that resumes does not know "
        "it, because its release is older than that kind of checkpoint or because the model is not wrapped as it "
        "was.",
        "List `ls {path}`. With `adapter_model.safetensors`: resume with the same PEFT configuration and a current "
        "transformers, accelerate and peft (`pip install -U`), or load it by hand "
        "(`PeftModel.from_pretrained(model, PATH, is_trainable=True)`). With FSDP shards: the same FSDP settings as "
        "at the save, or a full state (`fsdp_state_dict_type: FULL_STATE_DICT`) in the next run.",
    ),
    zh=Words(
        "检查点 `{path}` 中没有完整权重,也没有其分片的索引",
        "恢复时查找 `pytorch_model.bin`、`model.safetensors` 或其分片索引。LoRA 运行只写了适配器,或 FSDP、DeepSpeed "
        "写的是各自的分片,而恢复的训练器不认识它:其版本比这种检查点旧,或模型没有以同样方式包装。",
        "执行 `ls {path}`。若有 `adapter_model.safetensors`:使用相同的 PEFT 配置和较新的 transformers、accelerate、"
        "peft(`pip install -U`)恢复,或手动加载(`PeftModel.from_pretrained(model, PATH, is_trainable=True)`)。若为 "
        "FSDP 分片:使用与保存时相同的 FSDP 设置,或下次保存完整状态(`fsdp_state_dict_type: FULL_STATE_DICT`)。",
    ),
)

LOG_MESSAGE_STEP = Message(
    en=Words(
        "Accelerate could not load the random states of the checkpoint, and `step` with them",
        "`load_state` only warns `Could not load random states` and then needs what was in them. The state was "
        "saved by another release of Accelerate, with another number of processes, or its `random_states_N.pkl` "
        "cannot be read (torch 2.6 refuses pickled objects).",
        "Use the Accelerate that saved it, or a newer one on both sides (`pip install -U accelerate`), with the "
        "same number of processes. Without them: remove the checkpoint's `random_states_*.pkl` only where your "
        "release goes on without, else set `accelerator.step` by hand after loading the parts.",
    ),
    zh=Words(
        "Accelerate 无法加载检查点的随机状态,因而缺少一并保存的 `step`",
        "`load_state` 只警告 `Could not load random states`,随后却需要其中的内容。该状态由另一版本的 Accelerate、另"
        "一进程数保存,或其 `random_states_N.pkl` 无法读取(torch 2.6 拒绝 pickle 对象)。",
        "使用保存时的 Accelerate 版本,或两边都升级(`pip install -U accelerate`),并保持相同进程数。若没有这些文件:仅"
        "当你的版本可以不用它们时才删除 `random_states_*.pkl`,否则在加载各部分后手动设置 `accelerator.step`。",
    ),
)

MESSAGES = (
    LOG_MESSAGE, LOG_MESSAGE_ENGINE, LOG_MESSAGE_UNREAD, LOG_MESSAGE_FOLDER, LOG_MESSAGE_PART, LOG_MESSAGE_INDEX,
    LOG_MESSAGE_STEP, LOG_MESSAGE_RANK,
)  # fmt: skip

#: the function that looks for the engine's state; the Trainer's own look-up of weights ends with the same words
_ENGINE = "deepspeed_load_checkpoint"


def explain(hits: Hits) -> Finding | None:
    """Tell a named checkpoint from the search for the last one; the end of the path is enough to know it by."""
    path, folder, holder = hits.get("path"), hits.get("folder"), hits.get("holder")
    part = hits.get("part") or ""
    rank = re.fullmatch(r"random_states_(0*[1-9]\d*)\.pkl", part)
    if rank:
        return found(
            PROBLEM, LOG_MESSAGE_RANK, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, part=part,
            process=rank[1], path="/".join((holder or "").split("/")[-2:]),
        )  # fmt: skip
    if hits.get("missing"):
        return found(PROBLEM, LOG_MESSAGE_STEP, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if indexless := hits.get("indexless"):
        return found(
            PROBLEM, LOG_MESSAGE_INDEX, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            path="/".join(indexless.split("/")[-2:]),
        )  # fmt: skip
    unread = hits.get("unread")
    if unread or (path and any(_ENGINE in frame for hit in hits for frame in hit.frames[-1:])):
        return found(
            PROBLEM, LOG_MESSAGE_UNREAD if unread else LOG_MESSAGE_ENGINE, where=hits.where(),
            evidence=hits.evidence(), confidence=CONFIRMED, path="/".join((unread or path or "").split("/")[-2:]),
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE_PART if part else LOG_MESSAGE if path else LOG_MESSAGE_FOLDER,
        where=hits.where(), evidence=hits.evidence(), part=part, confidence=LIKELY if part else CONFIRMED,
        path="/".join((path or folder or holder or "").split("/")[-2:]),
    )  # fmt: skip
