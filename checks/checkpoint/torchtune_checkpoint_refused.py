"""torchtune is pointed at a checkpoint that its checkpointer cannot take.

## What it means
torchtune has a checkpointer for each format (Hugging Face, Meta, its own), reads the files that the recipe lists from
one folder, and since 0.5 writes each epoch into a folder of its own (`epoch_0`) and the state of the recipe into
`recipe_state`.
## What it does to a run
The recipe ends while it loads weights.
## What to do
What the finding says for the message.
## How it is found
In a log: by the messages of torchtune's checkpointers.
## References
https://meta-pytorch.org/torchtune/stable/deep_dives/checkpointer.html
https://github.com/meta-pytorch/torchtune/blob/main/torchtune/training/checkpointing/_utils.py
https://github.com/meta-pytorch/torchtune/blob/main/torchtune/models/convert_weights.py
https://github.com/meta-pytorch/torchtune/issues/917
https://github.com/meta-pytorch/torchtune/issues/2927
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="CKP025", name="torchtune-checkpoint-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"Error converting the state dict\. Found unexpected key: \"(?P<key>[\w.\-]{1,160})\"",
        Message(
            en=Words(
                "the checkpoint is in another format than torchtune's checkpointer expects (key `{key}`)",
                "Names of weights differ between Hugging Face (`model.layers`), Meta (`layers`, `tok_embeddings`) and "
                "torchtune's own files, or the model of the recipe is not the one of the checkpoint.",
                "Take the checkpointer of that format: `torchtune.training.FullModelMetaCheckpointer` for Meta's "
                "`consolidated.*.pth` and `meta_model_*.pt`, `FullModelHFCheckpointer` for Hugging Face's safetensors "
                "and `hf_model_*.pt`, `FullModelTorchTuneCheckpointer` for `.pt` of torchtune; and check `model_type` "
                "and `model._component_`.",
            ),
            zh=Words(
                "检查点的格式与 torchtune 的 checkpointer 不符(键 `{key}`)",
                "Hugging Face(`model.layers`)、Meta(`layers`、`tok_embeddings`)与 torchtune 自己的文件权重命名不同,"
                "或配方中的模型不是检查点的模型。",
                "选用对应格式的 checkpointer:Meta 的 `consolidated.*.pth` 和 `meta_model_*.pt` 用 "
                "`torchtune.training.FullModelMetaCheckpointer`,Hugging Face 的 safetensors 和 `hf_model_*.pt` 用 "
                "`FullModelHFCheckpointer`,torchtune 的 `.pt` 用 `FullModelTorchTuneCheckpointer`;并检查 `model_type` "
                "与 `model._component_`。",
            ),
        ),
    ),
    (
        r"ValueError: No file with name: (?P<name>[^\s]{1,200}) found in (?P<folder>[^\s]{1,250}?)\.?$",
        Message(
            en=Words(
                "torchtune finds no `{name}` in `{folder}`",
                "`checkpoint_dir` and the names under `checkpoint_files` must be those on the disk. When "
                "`resume_from_checkpoint` is on, newer releases look into the output folder (`epoch_N` below "
                "`output_dir`) whatever `checkpoint_dir` says.",
                "List the folder and correct `checkpointer.checkpoint_dir` and `checkpoint_files` (the download: "
                "`tune download MODEL --output-dir DIR`). To resume give `output_dir` as it was in the first run and "
                "leave `checkpoint_dir` at the base model; to begin anew from those weights set "
                "`resume_from_checkpoint=False`.",
            ),
            zh=Words(
                "torchtune 在 `{folder}` 中找不到 `{name}`",
                "`checkpoint_dir` 与 `checkpoint_files` 中的名称必须与磁盘上一致。打开 `resume_from_checkpoint` 时,新版"
                "本会到输出目录(`output_dir` 下的 `epoch_N`)中查找,而不管 `checkpoint_dir`。",
                "列出该目录并改正 `checkpointer.checkpoint_dir` 与 `checkpoint_files`(下载:`tune download MODEL "
                "--output-dir DIR`)。恢复训练时 `output_dir` 与首次运行相同,`checkpoint_dir` 保持为基座模型;若要从这些"
                "权重重新开始,设 `resume_from_checkpoint=False`。",
            ),
        ),
    ),
    (
        r"KeyError: '(?:\\n)?Checkpoint does not contain the required keys needed for updating recipe state",
        Message(
            en=Words(
                "the file given as torchtune's recipe state holds no recipe state",
                "Resuming wants epochs, seed and optimizer beside the weights, which are in `recipe_state.pt` only "
                "after a finished epoch of the same kind of recipe.",
                "Set `checkpointer.recipe_checkpoint` to that file (`recipe_state/recipe_state.pt` below "
                "`output_dir`), or begin anew from the weights with `resume_from_checkpoint=False`.",
            ),
            zh=Words(
                "作为 torchtune 配方状态给出的文件中没有配方状态",
                "恢复训练除权重外还需要 epoch、随机种子和优化器,它们只在同类配方完成一个 epoch 之后存在于 "
                "`recipe_state.pt` 中。",
                "把 `checkpointer.recipe_checkpoint` 设为该文件(`output_dir` 下的 `recipe_state/recipe_state.pt`),或以 "
                "`resume_from_checkpoint=False` 从权重重新开始。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:Adapter checkpoint (?:file|not found in state_dict)|Recipe "
            r"state "
            r"cannot be loaded|If `should_load_recipe_state=True`|No intermediate checkpoint was found)"
        ),
        Message(
            en=Words(
                "torchtune is to resume, and the output folder lacks what the first run should have left",
                "`resume_from_checkpoint=True` needs the adapter (`adapter_0.pt`) and the recipe state of an earlier "
                "epoch; a run that ended before its first checkpoint left none, and a LoRA recipe cannot go on from a "
                "full checkpoint.",
                "Look what lies below `output_dir`. Name the files (`checkpointer.adapter_checkpoint`, "
                "`checkpointer.recipe_checkpoint`) or start without resuming: `resume_from_checkpoint=False`.",
            ),
            zh=Words(
                "torchtune 要恢复训练,而输出目录中没有首次运行应留下的文件",
                "`resume_from_checkpoint=True` 需要先前 epoch 的适配器(`adapter_0.pt`)与配方状态;在第一个检查点之前结束"
                "的运行没有留下它们,LoRA 配方也不能从全参数检查点继续。",
                "查看 `output_dir` 下的内容。指明文件(`checkpointer.adapter_checkpoint`、"
                "`checkpointer.recipe_checkpoint`),或不恢复而重新开始:`resume_from_checkpoint=False`。",
            ),
        ),
    ),
    (
        r"ValueError: The output directory cannot be the same as or a subdirectory of the checkpoint directory",
        Message(
            en=Words(
                "torchtune's `output_dir` is the folder of the checkpoint, or lies below it",
                "Everything but the weights is copied from the checkpoint's folder to the output, which would copy "
                "into itself.",
                "Set `output_dir` (and `checkpointer.output_dir`) to another folder: `output_dir=./runs/NAME`.",
            ),
            zh=Words(
                "torchtune 的 `output_dir` 就是检查点目录,或位于其中",
                "检查点目录中除权重外的内容会被复制到输出目录,这样会复制到自身。",
                "把 `output_dir`(及 `checkpointer.output_dir`)设为其他目录:`output_dir=./runs/NAME`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(
    Signature(pattern, symptom_of=(), frame=r"torchtune[\\/]|recipes[\\/]" if number == 1 else "")
    for number, (pattern, _) in enumerate(CASES)
)


def explain(hits: Hits) -> Finding:
    """Say what the message's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
