"""LLaMA-Factory cannot make training samples of the data that it was given.

## What it means
It finds a dataset by its name in `dataset_info.json`, reads its columns as written there, and lays conversations out
by a template. A name, a file, a template or a field is not as it expects.
## What it does to a run
The run ends before the first step.
## What to do
What the finding says for the part that failed.
## How it is found
In a log: by the messages of LLaMA-Factory's loader, parser, formatter and templates.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/data/template.py
https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/data/loader.py
https://github.com/hiyouga/LlamaFactory/issues/7894
https://github.com/hiyouga/LlamaFactory/issues/4108
https://github.com/hiyouga/LlamaFactory/issues/7703
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="DAT043", name="llamafactory-data-refused", severity=ERROR, since="0.1")

#: place in CASES: a processor may be absent for several reasons
_PROCESSOR = 8

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"(?:ValueError|AssertionError): Template (?!(?:file|folder|directory) "
            r")(?P<template>[\w.\-]{1,60}) does not exist\.?"
        ),
        Message(
            en=Words(
                "this LLaMA-Factory knows no template `{template}`",
                "Templates are part of its source: one for a newer model comes with a newer release, and names "
                "are changed now and then.",
                "Update: `git pull && pip install -e .` in its checkout (or `pip install -U llamafactory`), and "
                "start with that Python. The names that are there: `grep -n 'name=\"' "
                "src/llamafactory/data/template.py`, or the table of models in its README; `template: default` "
                "fits base models only.",
            ),
            zh=Words(
                "该版本的 LLaMA-Factory 没有模板 `{template}`",
                "模板是其源码的一部分:新模型的模板随新版本提供,名称也会变化。",
                "更新:在其源码目录 `git pull && pip install -e .`(或 `pip install -U llamafactory`),并用该 "
                "Python 启动。现有名称:`grep -n 'name=\"' src/llamafactory/data/template.py`,或 README 中的模型表"
                ";`template: default` 仅适合基座模型。",
            ),
        ),
    ),
    (
        r"ValueError: Undefined dataset (?P<dataset>[\w.\-/]{1,120}) in (?P<file>[\w.\-/]{1,120}?)\.?$",
        Message(
            en=Words(
                "the dataset `{dataset}` has no entry in `{file}`",
                "LLaMA-Factory looks it up in `dataset_info.json` of `dataset_dir`, by default the folder `data` "
                "below the working directory.",
                "Start in the checkout (`cd LLaMA-Factory`), or name the folder: `dataset_dir: /path/to/data`. "
                'For data of your own add an entry to `dataset_info.json`: `"{dataset}": {{"file_name": '
                '"FILE.json"}}`.',
            ),
            zh=Words(
                "数据集 `{dataset}` 在 `{file}` 中没有条目",
                "LLaMA-Factory 在 `dataset_dir`(默认为工作目录下的 `data` 文件夹)的 `dataset_info.json` 中查找它。",
                "在源码目录中启动(`cd LLaMA-Factory`),或指定文件夹:`dataset_dir: /path/to/data`。自己的数据需在 "
                '`dataset_info.json` 中加入条目:`"{dataset}": {{"file_name": "FILE.json"}}`。',
            ),
        ),
    ),
    (
        r"ValueError: Cannot open (?P<file>[^\n]{1,200}?dataset_info\.json) due to ",
        Message(
            en=Words(
                "`{file}` cannot be read",
                "It is not there, or is no valid JSON (a missing comma, a comma too many, a comment).",
                "Try it: `python -m json.tool {file}`; if it is elsewhere, start in LLaMA-Factory's checkout or "
                "name its folder: `dataset_dir: /path/to/data`.",
            ),
            zh=Words(
                "无法读取 `{file}`",
                "文件不存在,或不是有效的 JSON(缺少或多余的逗号、注释)。",
                "检查:`python -m json.tool {file}`;若在别处,请在 LLaMA-Factory 源码目录中启动,或指定其文件夹"
                ":`dataset_dir: /path/to/data`。",
            ),
        ),
    ),
    (
        r"ValueError: File (?P<file>[^\n]{1,300}?) not found\.$",
        Message(
            en=Words(
                "the data file `{file}` is not there",
                "`file_name` in `dataset_info.json` is taken below `dataset_dir`.",
                "Put the file there, or mend `file_name` (an absolute path works, too) or `dataset_dir`.",
            ),
            zh=Words(
                "数据文件 `{file}` 不存在",
                "`dataset_info.json` 中的 `file_name` 相对于 `dataset_dir`。",
                "把文件放到该处,或修正 `file_name`(也可用绝对路径)或 `dataset_dir`。",
            ),
        ),
    ),
    (
        r"RuntimeError: Cannot find (?P<which>valid|sufficient) samples",
        Message(
            en=Words(
                "not one row of the dataset became a training sample",
                "The columns or tags in `dataset_info.json` do not name what the rows hold (then every row is "
                "dropped as invalid: look for warnings above), the stage wants another form (DPO and reward: "
                '`"ranking": true` with `chosen` and `rejected`; pre-training: plain text and enough of it for '
                "one block of `cutoff_len`), or `cutoff_len` leaves no room for an answer.",
                'Compare one row with its entry: `"formatting": "alpaca"` (instruction, input, output) or '
                '`"sharegpt"` (with `columns` and `tags` for role, content and the names of the roles). For '
                "pre-training with few texts lower `cutoff_len` or set `packing: false`. Delete the cache "
                "afterwards: `overwrite_cache: true`.",
            ),
            zh=Words(
                "数据集中没有一行成为训练样本",
                "`dataset_info.json` 中的列或标签与数据行不符(此时每一行都被视为无效而丢弃:查看上方警告),训练阶段"
                '需要另一种形式(DPO 和奖励模型:`"ranking": true` 加 `chosen` 与 `rejected`;预训练:纯文本且足够组'
                "成一个 `cutoff_len` 块),或 `cutoff_len` 没有给回答留下空间。",
                '把一行数据与其条目对照:`"formatting": "alpaca"`(instruction、input、output)或 `"sharegpt"`(用 '
                "`columns` 和 `tags` 指明角色、内容和角色名)。预训练文本较少时减小 `cutoff_len` 或设置 `packing: "
                "false`。之后清除缓存:`overwrite_cache: true`。",
            ),
        ),
    ),
    (
        r"RuntimeError: Invalid JSON format in (?P<what>tool description|function message): ",
        Message(
            en=Words(
                "a row's {what} is not JSON",
                "The column that `dataset_info.json` maps to `tools` (or the text of a role that calls "
                "functions) must hold JSON or nothing; a blank string is neither.",
                'Write JSON (`"tools": "[{{\\"name\\": ...}}]"`), an empty string or null; rows without tools: '
                "take the key out, or take `tools` out of `columns` when no row has any. A role that is not a "
                "call must not be tagged `function_tag`.",
            ),
            zh=Words(
                "某一行的 {what} 不是 JSON",
                "`dataset_info.json` 映射到 `tools` 的列(或调用函数的角色的文本)必须是 JSON 或为空;只含空格的字符"
                "串两者都不是。",
                '写成 JSON(`"tools": "[{{\\"name\\": ...}}]"`)、空字符串或 null;没有工具的行去掉该键,所有行都没有时'
                "从 `columns` 去掉 `tools`。不是函数调用的角色不要用 `function_tag`。",
            ),
        ),
    ),
    (
        r"ValueError: The dataset is not applicable in the current training stage",
        Message(
            en=Words(
                "the dataset has another form than the training stage reads",
                'Reward modelling and DPO read pairs, the other stages single answers; an entry with `"ranking": '
                "true` is for the former only.",
                'For `stage: rm` or `dpo` give the entry `"ranking": true` and columns `chosen` and `rejected`; '
                "for `sft`, `pt`, `ppo` and `kto` take a dataset without it.",
            ),
            zh=Words(
                "数据集的形式与训练阶段所需不同",
                '奖励模型和 DPO 读取成对数据,其他阶段读取单个回答;带 `"ranking": true` 的条目只用于前者。',
                '`stage: rm` 或 `dpo` 的条目需 `"ranking": true` 及 `chosen`、`rejected` 列;`sft`、`pt`、`ppo`、'
                "`kto` 请使用不带它的数据集。",
            ),
        ),
    ),
    (
        r"ValueError: This model does not support (?P<medium>image|video|audio) input",
        Message(
            en=Words(
                "rows hold {medium} input, and the template takes none",
                "What a model can see or hear is told by the template here, not by the weights; a template of "
                "text (`qwen`, `llama3`) refuses media.",
                "Choose the template of the multimodal model (`qwen2_vl`, `mllama`, `llava` ...; table of models "
                "in the README), or take the column out of the dataset's entry.",
            ),
            zh=Words(
                "数据行含有 {medium} 输入,而模板不支持",
                "此处由模板而非权重决定模型能看或能听什么;文本模板(`qwen`、`llama3`)拒绝媒体输入。",
                "选择多模态模型的模板(`qwen2_vl`、`mllama`、`llava` 等;见 README 的模型表),或从数据集条目中去掉该列。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?P<part>Processor|Image processor|Video processor|Audio feature extractor) was not "
            r"found, please check and update your (?:model file|processor config)"
        ),
        Message(
            en=Words(
                "the model folder has no {part}",
                "`preprocessor_config.json` (and `processor_config.json`) did not come along, which is usual for "
                "a folder that a training or an export wrote, or this Transformers does not know the class that "
                "they name.",
                'Copy these files from the original model into the folder, and look whether `python -c "from '
                "transformers import AutoProcessor; print(AutoProcessor.from_pretrained('MODEL'))\"` works; if it "
                "fails, it says what is missing: another version of Transformers (the model card names it; `pip "
                "install -U "
                "transformers`), `pillow`, `torchvision` or `av`.",
            ),
            zh=Words(
                "模型文件夹中没有 {part}",
                "`preprocessor_config.json`(以及 `processor_config.json`)缺失,训练或导出得到的文件夹常如此;或该版"
                "本 Transformers 不认识其中的类。",
                '从原始模型复制这些文件到该文件夹,并检查 `python -c "from transformers import AutoProcessor; '
                "print(AutoProcessor.from_pretrained('MODEL'))\"` 是否可用;若失败,它会说明缺少什么:另一版本的 "
                "Transformers(见模型卡;`pip install -U transformers`)、`pillow`、`torchvision` 或 `av`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], frame=r"(?:llamafactory|llmtuner)[\\/]"),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0], frame=r"(?:llamafactory|llmtuner)[\\/](?:data|dsets)[\\/]loader\.py:"),
    Signature(CASES[4][0]),
    Signature(CASES[5][0]),
    Signature(CASES[6][0]),
    Signature(CASES[7][0]),
    Signature(CASES[8][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    finding = finding_of_case(PROBLEM, CASES, hits)
    return replace(finding, confidence=LIKELY) if hits.first.signature == _PROCESSOR else finding
