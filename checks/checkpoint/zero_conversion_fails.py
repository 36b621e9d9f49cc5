"""A DeepSpeed checkpoint cannot be turned into whole weights or into a universal checkpoint.

## What it means
`zero_to_fp32.py` puts the shards of ZeRO stages 1 to 3 together, `ds_to_universal.py` those of ZeRO into files that
another number of ranks can load. Both look for the shards and for what the training wrote beside them.
## What it does to a run
The conversion ends; the checkpoint is not changed by it.
## What to do
What the finding says: another folder, tool or release, or nothing at all, for the weights are whole already.
## How it is found
In a log: by the messages of both scripts and of DeepSpeed's checkpoint reader.
## References
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/utils/zero_to_fp32.py
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/checkpoint/ds_to_universal.py
https://github.com/deepspeedai/DeepSpeed/issues/5430
https://github.com/deepspeedai/DeepSpeed/pull/5526
https://github.com/huggingface/accelerate/issues/3210
https://github.com/deepspeedai/DeepSpeed/pull/1372
https://www.deepspeed.ai/tutorials/universal-checkpointing/
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CKP022", name="zero-conversion-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"ValueError: (?P<file>[^\n]{1,300}) is not a zero checkpoint",
        Message(
            en=Words(
                "`{file}` holds no ZeRO partition: there is nothing to convert",
                "`zero_to_fp32.py` takes the optimizer shards (`*_optim_states.pt`) of ZeRO stages 1 to 3 apart. "
                "This run used stage 0, or only the model was saved: then the weights are whole already.",
                'Load them as they are: `torch.load(".../mp_rank_00_model_states.pt", map_location="cpu", '
                'weights_only=False)["module"]`, and `model.load_state_dict` or `save_pretrained` from there. If '
                "it was meant to be ZeRO, look at `zero_stage` in the configuration that the run was started "
                "with.",
            ),
            zh=Words(
                "`{file}` 不含 ZeRO 分片:没有需要转换的内容",
                "`zero_to_fp32.py` 处理 ZeRO 1 到 3 阶段的优化器分片(`*_optim_states.pt`)。本次运行使用 stage 0,"
                "或只保存了模型:权重已是完整的。",
                '直接加载:`torch.load(".../mp_rank_00_model_states.pt", map_location="cpu", '
                'weights_only=False)["module"]`,再用 `model.load_state_dict` 或 `save_pretrained`。若本应使用 '
                "ZeRO,请检查启动时配置中的 `zero_stage`。",
            ),
        ),
    ),
    (
        r"ValueError: unknown zero stage (?P<stage>\w{1,40})",
        Message(
            en=Words(
                "the checkpoint names ZeRO stage {stage}, which this `zero_to_fp32.py` does not know",
                "The script beside the checkpoint is older than the DeepSpeed that wrote it (stage 1 came later "
                "than 2 and 3), or the run did not partition anything (stage 0).",
                "Run the script of the installed DeepSpeed in place of the copied one: `python -m "
                "deepspeed.utils.zero_to_fp32 CHECKPOINT_FOLDER OUTPUT_FOLDER`. For stage 0 take the weights "
                "from `mp_rank_00_model_states.pt` (key `module`).",
            ),
            zh=Words(
                "检查点的 ZeRO stage 为 {stage},该 `zero_to_fp32.py` 不认识",
                "检查点旁的脚本比写检查点的 DeepSpeed 旧(对 stage 1 的支持晚于 2 和 3),或该运行没有分片(stage 0)。",
                "用已安装的 DeepSpeed 的脚本代替复制的脚本:`python -m deepspeed.utils.zero_to_fp32 "
                "CHECKPOINT_FOLDER OUTPUT_FOLDER`。stage 0 时从 `mp_rank_00_model_states.pt`(键 `module`)取权重。",
            ),
        ),
    ),
    (
        r"ValueError: consumed (?P<used>\d{1,15}) numels out of (?P<there>\d{1,15}) - something is wrong",
        Message(
            en=Words(
                "the shards hold {there} values and the parameters listed with them {used}",
                "The list of parameters and the shards do not belong together: shards of two saves lie in one "
                "folder, frozen or tied parameters were added after `deepspeed.initialize`, or the script beside "
                "the checkpoint is of another DeepSpeed than wrote it.",
                "Run the script of the DeepSpeed that trained: `python -m deepspeed.utils.zero_to_fp32 "
                "CHECKPOINT_FOLDER OUTPUT_FOLDER`. Look whether all files of the `global_step*` folder have the "
                "same date and number of ranks; take another checkpoint if not. For the next run set "
                "`stage3_gather_16bit_weights_on_model_save: true` and save by `trainer.save_model()`.",
            ),
            zh=Words(
                "分片中有 {there} 个值,而随附的参数列表共 {used} 个",
                "参数列表与分片不匹配:同一文件夹中混有两次保存的分片,在 `deepspeed.initialize` 之后添加了冻结或共"
                "享的参数,或检查点旁的脚本与写它的 DeepSpeed 版本不同。",
                "用训练时的 DeepSpeed 的脚本:`python -m deepspeed.utils.zero_to_fp32 CHECKPOINT_FOLDER "
                "OUTPUT_FOLDER`。检查 `global_step*` 文件夹中所有文件的日期和 rank 数是否一致;不一致则换一个检查"
                "点。下次运行请设置 `stage3_gather_16bit_weights_on_model_save: true` 并用 "
                "`trainer.save_model()` 保存。",
            ),
        ),
    ),
    (
        r"ValueError: (?P<file>[^\n]{1,300}) is not a model state checkpoint",
        Message(
            en=Words(
                "`{file}` is not a model file that DeepSpeed's engine wrote",
                "It lacks the list of buffers that `save_checkpoint` writes: it was saved by other code, or is "
                "of another kind.",
                "Point the script to a folder that `engine.save_checkpoint` (or the Trainer with DeepSpeed) "
                "wrote: `python zero_to_fp32.py CHECKPOINT_FOLDER OUTPUT_FOLDER`, where the former holds "
                "`latest` and `global_step*`.",
            ),
            zh=Words(
                "`{file}` 不是 DeepSpeed 引擎写的模型文件",
                "它缺少 `save_checkpoint` 写入的 buffer 列表:由其他代码保存,或属于另一种文件。",
                "把脚本指向由 `engine.save_checkpoint`(或使用 DeepSpeed 的 Trainer)写的文件夹:`python "
                "zero_to_fp32.py CHECKPOINT_FOLDER OUTPUT_FOLDER`,前者包含 `latest` 和 `global_step*`。",
            ),
        ),
    ),
    (
        r"FileNotFoundError: Directory '(?P<folder>[^'\n]{1,300})' doesn't exist",
        Message(
            en=Words(
                "the folder `{folder}` that `latest` names is not there",
                "`zero_to_fp32.py` joins the folder that it was given with the tag in its file `latest`; the "
                "step was deleted (`save_total_limit`), not copied, or the script was pointed one level too deep.",
                "Give it the folder that holds `latest` and `global_step*`, or name the step that is there: "
                "`python zero_to_fp32.py CHECKPOINT_FOLDER OUTPUT_FOLDER --tag global_stepN`.",
            ),
            zh=Words(
                "`latest` 所指的文件夹 `{folder}` 不存在",
                "`zero_to_fp32.py` 把给定的文件夹与其 `latest` 文件中的标签拼接;该步已被删除(`save_total_limit`)"
                "、未被复制,或脚本指向的层级过深。",
                "给出包含 `latest` 和 `global_step*` 的文件夹,或指定存在的步:`python zero_to_fp32.py "
                "CHECKPOINT_FOLDER OUTPUT_FOLDER --tag global_stepN`。",
            ),
        ),
    ),
    (
        r"AssertionError: Required universal_checkpoint_info state is missing in checkpoint",
        Message(
            en=Words(
                "the checkpoint lacks `universal_checkpoint_info`, which the conversion to universal needs",
                "Megatron-DeepSpeed writes that entry when it saves; the Hugging Face Trainer and Accelerate do not.",
                "Let the converter make it up: `python -m deepspeed.checkpoint.ds_to_universal "
                "--inject_missing_state --input_folder CHECKPOINT/global_stepN --output_folder "
                'CHECKPOINT/global_stepN_universal` (DeepSpeed 0.14.3 or newer), and load with `"checkpoint": '
                '{{"load_universal": true}}` in the DeepSpeed configuration.',
            ),
            zh=Words(
                "检查点缺少转换为 universal 所需的 `universal_checkpoint_info`",
                "该条目由 Megatron-DeepSpeed 在保存时写入;Hugging Face Trainer 和 Accelerate 不写。",
                "让转换器补上:`python -m deepspeed.checkpoint.ds_to_universal --inject_missing_state "
                "--input_folder CHECKPOINT/global_stepN --output_folder "
                "CHECKPOINT/global_stepN_universal`(DeepSpeed 0.14.3 或更新),并在 DeepSpeed 配置中用 "
                '`"checkpoint": {{"load_universal": true}}` 加载。',
            ),
        ),
    ),
    (
        r"AssertionError: No ZeRO files found in (?P<folder>[^\n]{1,300})",
        Message(
            en=Words(
                "`{folder}` holds no ZeRO files",
                "The converters look for `*_optim_states.pt` (`zero_pp_rank_*`, `bf16_zero_pp_rank_*`) in the "
                "step's own folder; a run without ZeRO writes none.",
                "Give the folder of one step (`--input_folder CHECKPOINT/global_stepN`), from a run with ZeRO "
                "stage 1 to 3. Without ZeRO the weights in `mp_rank_*_model_states.pt` are whole and need no "
                "conversion.",
            ),
            zh=Words(
                "`{folder}` 中没有 ZeRO 文件",
                "转换器在该步自己的文件夹中查找 `*_optim_states.pt`(`zero_pp_rank_*`、`bf16_zero_pp_rank_*`);没有"
                " ZeRO 的运行不会写这些文件。",
                "给出某一步的文件夹(`--input_folder CHECKPOINT/global_stepN`),且来自使用 ZeRO 1 到 3 的运行。没有"
                " ZeRO 时 `mp_rank_*_model_states.pt` 中的权重是完整的,无需转换。",
            ),
        ),
    ),
    (
        r"ValueError: Invalid for universal checkpoint: (?P<file>[^\n]{1,300}) does not exist",
        Message(
            en=Words(
                "no universal checkpoint to load: `{file}` is not there",
                "The configuration asks for one (`load_universal`), and the folder holds ZeRO shards that were "
                "never converted, or the conversion wrote elsewhere.",
                "Convert first: `python -m deepspeed.checkpoint.ds_to_universal --input_folder "
                "CHECKPOINT/global_stepN --output_folder CHECKPOINT/global_stepN_universal` (it writes "
                "`latest_universal` beside it), or take `load_universal` out of the configuration.",
            ),
            zh=Words(
                "没有可加载的 universal 检查点:`{file}` 不存在",
                "配置要求加载它(`load_universal`),而文件夹中是从未转换的 ZeRO 分片,或转换结果写到了别处。",
                "先转换:`python -m deepspeed.checkpoint.ds_to_universal --input_folder CHECKPOINT/global_stepN "
                "--output_folder CHECKPOINT/global_stepN_universal`(会在旁边写 `latest_universal`),或从配置中去掉"
                " `load_universal`。",
            ),
        ),
    ),
    (
        r"^AssertionError:? ?(?:assert len\(self\.ckpt_list\) > 0)?$",
        Message(
            en=Words(
                "DeepSpeed found no model file for this rank in the checkpoint",
                "It looks for `mp_rank_*_model_states.pt` (ZeRO-3: one a rank, `zero_pp_rank_*_model_states.pt`) "
                "in the folder that `latest` names. The save was cut off, only some nodes see the folder, or the "
                "checkpoint was not written by DeepSpeed.",
                "Look on every node: `ls CHECKPOINT/$(cat CHECKPOINT/latest)`. Write checkpoints to storage that "
                "all nodes share (or set `use_node_local_storage: true`), resume from an earlier step that is "
                "complete, with as many ranks as before; to start from the weights alone give them as "
                "`model_name_or_path` and resume nothing.",
            ),
            zh=Words(
                "DeepSpeed 在检查点中找不到该 rank 的模型文件",
                "它在 `latest` 所指的文件夹中查找 `mp_rank_*_model_states.pt`(ZeRO-3:每个 rank 一个 "
                "`zero_pp_rank_*_model_states.pt`)。保存中断、只有部分节点能看到该文件夹,或检查点不是由 "
                "DeepSpeed 写的。",
                "在每个节点上查看:`ls CHECKPOINT/$(cat CHECKPOINT/latest)`。把检查点写到所有节点共享的存储(或设置"
                " `use_node_local_storage: true`),从更早的完整步恢复,且 rank 数相同;若只想从权重开始,用 "
                "`model_name_or_path` 给出权重,不要恢复训练。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0], frame=r"zero_to_fp32\.py:"),
    Signature(CASES[5][0]),
    Signature(CASES[6][0]),
    Signature(CASES[7][0]),
    Signature(CASES[8][0], frame=r"deepspeed[\\/]runtime[\\/]state_dict_factory\.py:check_ckpt_list$"),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
