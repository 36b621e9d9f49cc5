"""The dataset holds conversations and the tokenizer has no chat template.

## What it means
A prompt that is a list of messages is turned into text by the tokenizer's chat template. Base models often
come without one.
## What it does to a run
The trainer raises "tokenizer.chat_template is not set" at the first batch, after everything was loaded.
## What to do
Use the instruct variant of the model, set `tokenizer.chat_template` in the script, or turn the prompts into
plain text.
## How it is found
The first rows of the local dataset, and the tokenizer files of the local model.
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/chat_templating
https://huggingface.co/docs/trl/dataset_formats
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Skip, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.dataset import Dataset
from doctor.facts.model import Model
from doctor.facts.training import Training

PROBLEM = Problem(
    id="DAT009", name="chat-template-missing", severity=ERROR, since="0.1", affects={"transformers": ">=4.44"}
)

SIGNATURES = (
    Signature(r"chat_template is not set and no template argument was passed"),
    Signature(r"ValueError: No chat template is set for this (?P<kind>processor)"),
    Signature(
        r"ValueError: Cannot use apply_chat_template because this (?P<kind>processor) does not have a chat template"
    ),
    Signature(r"does not have a \{% if (?P<part>add_generation_prompt) %\} for generation purposes"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the prompts are conversations, and the tokenizer has no chat template",
        "Lists of messages are turned into text by `tokenizer.chat_template`. Base models often come without one, and "
        "a "
        "folder that a newer Transformers saved has it in `chat_template.jinja`, which older releases and copies of "
        "single files leave out.",
        "See whether the folder has `chat_template.jinja` (then upgrade what reads it, or copy that file, too). Else "
        "use "
        "the instruct variant of the model, set `tokenizer.chat_template` (TRL: `chat_template_path` "
        "of the SFT stage, or `clone_chat_template`), or make the prompts plain strings.",
    ),
    zh=Words(
        "prompt 是对话,而分词器没有聊天模板",
        "消息列表由 `tokenizer.chat_template` 转换为文本。基座模型往往不附带模板;由较新的 Transformers 保存的目录把它"
        "放在 "
        "`chat_template.jinja` 中,旧版本不读取该文件,只复制部分文件时也会漏掉。",
        "查看目录中是否有 `chat_template.jinja`(若有,升级读取它的程序,或一并复制该文件)。否则使用该模型的 instruct 版"
        "本,或设置 `tokenizer.chat_template`(TRL:SFT 阶段的 `chat_template_path`,"
        "或 `clone_chat_template`),或把 prompt 改为普通字符串。",
    ),
)

PROCESSOR = Message(
    en=Words(
        "the model's processor has no chat template",
        "A processor has a template of its own, in `chat_template.jinja` or `chat_template.json` of the model's "
        "folder. It is missing where single files were copied, where a training saved model and tokenizer and not the "
        "processor, in base models (`-Vision` without `-Instruct`), and where Transformers is too old for the file "
        "that is there.",
        "List the folder. Without these files copy them (and `preprocessor_config.json`, `tokenizer_config.json`) from "
        "the original instruct model: `hf download MODEL --include 'chat_template*' --local-dir FOLDER`, or load the "
        'processor from there: `AutoProcessor.from_pretrained("ORIGINAL_MODEL")`, and save it beside your '
        "checkpoints: `processor.save_pretrained(output_dir)`. With them: `pip install -U transformers`.",
    ),
    zh=Words(
        "该模型的 processor 没有聊天模板",
        "processor 有自己的模板,位于模型目录的 `chat_template.jinja` 或 `chat_template.json`。以下情况会缺失:只复制了部"
        "分文件;训练时保存了模型和分词器而没有保存 processor;基座模型(没有 `-Instruct` 的 `-Vision`);以及 "
        "Transformers 太旧,不读取该文件。",
        "列出该目录。如果没有这些文件,从原始 instruct 模型复制(连同 `preprocessor_config.json`、"
        "`tokenizer_config.json`):`hf download MODEL --include 'chat_template*' --local-dir FOLDER`;或从原始模型加载 "
        'processor:`AutoProcessor.from_pretrained("ORIGINAL_MODEL")`,并保存到检查点旁:'
        "`processor.save_pretrained(output_dir)`。如果文件存在:`pip install -U transformers`。",
    ),
)

WITHOUT_TURN = Message(
    en=Words(
        "the tokenizer's chat template does not know `{part}`",
        "Unsloth looks for `{{% if {part} %}}` in the template, which opens the assistant's turn. Checkpoints saved by "
        "LLaMA-Factory and older tools carry templates without it.",
        "Put the template of the model's original repository back (copy its `tokenizer_config.json` or "
        "`chat_template.jinja` over the saved one, or set `tokenizer.chat_template` before Unsloth sees it), or "
        "upgrade: `pip install -U --no-deps unsloth unsloth_zoo`.",
    ),
    zh=Words(
        "分词器的聊天模板不认识 `{part}`",
        "Unsloth 在模板中查找 `{{% if {part} %}}`,它用于开启助手的回合。由 LLaMA-Factory 和旧工具保存的检查点所带的"
        "模板没有它。",
        "换回模型原仓库的模板(用其 `tokenizer_config.json` 或 `chat_template.jinja` 覆盖已保存的文件,或在 Unsloth 读"
        "取之前设置 `tokenizer.chat_template`),或升级:`pip install -U --no-deps unsloth unsloth_zoo`。",
    ),
)

MESSAGE = Message(
    en=Words(
        "prompts are conversations, and the tokenizer of `{model}` has no chat template",
        'TRL applies the template to each prompt and raises "chat_template is not set" at the first batch.',
        "Use the instruct variant of the model, or set `chat_template` on the tokenizer.",
    ),
    zh=Words(
        "prompt 是对话形式,而 `{model}` 的分词器没有 chat template",
        "TRL 会对每个 prompt 应用模板,并在第一个批次抛出 chat_template is not set。",
        "使用该模型的 instruct 版本,或为分词器设置 `chat_template`。",
    ),
)


@check(PROBLEM)
def chat_template_missing(training: Training, dataset: Dataset, model: Model) -> Judgement:
    """Judge files; a script that makes its own tokenizer can set the template."""
    if not is_grpo(training) or dataset.prompt_kind != "conversation" or training.dataset_processed:
        return
    if model.has_chat_template is None:
        yield Skip("no tokenizer files of the model on this machine")
        return
    if not model.has_chat_template:
        own = "processing_class" in training.trainer_arguments
        yield found(
            PROBLEM,
            MESSAGE,
            where=Where(file=f"{model.folder}/tokenizer_config.json"),
            evidence=(Evidence(dataset.path, "prompt: a list of messages"),),
            severity=WARNING if own else ERROR,
            confidence=LIKELY if own else CONFIRMED,
            model=model.name,
        )


def explain(hits: Hits) -> Finding:
    """No template at all, or one that cannot open a turn."""
    part = hits.get("part")
    message = WITHOUT_TURN if part else PROCESSOR if hits.first.groups.get("kind") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), part=part or "")
