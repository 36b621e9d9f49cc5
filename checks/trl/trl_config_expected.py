"""A TRL trainer was given plain `TrainingArguments`.

## What it means
Since 0.9 to 0.12 TRL's trainers take a configuration class of their own (`GRPOConfig`, `DPOConfig`, `SFTConfig`). It
holds what older releases took as arguments of the trainer. Plain `TrainingArguments` lacks these fields.
## What it does to a run
AttributeError when the trainer is made.
## What to do
Make the arguments with the trainer's own class.
## How it is found
In a log: by a field of TRL's configurations that `TrainingArguments` is asked for.
## References
https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOConfig
https://github.com/huggingface/trl/blob/v0.14.0/trl/trainer/grpo_trainer.py
https://github.com/ZhangXJ199/TinyLLaVA-Video-R1/issues/2
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRL063", name="trl-config-expected", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^AttributeError: '(?P<given>(?:Seq2Seq)?TrainingArguments)' object has no attribute "
        r"'(?P<name>model_init_kwargs|"
        r"ref_model_init_kwargs|max_prompt_length|max_completion_length|max_seq_length|max_length|num_generations|beta|"
        r"dataset_kwargs|dataset_text_field|dataset_num_proc|packing|padding_free|precompute_ref_log_probs|loss_type|"
        r"label_smoothing|generate_during_eval|use_vllm|reward_weights|sync_ref_model|is_encoder_decoder|padding_value|"
        r"disable_dropout|response_length|missing_eos_penalty|temperature)'",
    ),
    Signature(
        r"^AttributeError: '(?P<given>dict|str|Namespace|DictConfig)' object has no attribute "
        r"'(?P<name>(?!column_names|features|map|filter|config|generate|parameters|named_|to\b|device|dtype|eos_|pad_|shape"
        r"|keys|get\b|items|split|startswith|endswith|lower|name_or_path)\w{1,60})'",
        frame=r"[\\/](?:trl[\\/](?:trainer|experimental)[\\/][\w\\/]+|transformers[\\/]trainer)\.py:__init__$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{given}` was given where TRL's own configuration is expected: it has no `{name}`",
        "TRL's trainers read their options from the configuration: `GRPOConfig`, `DPOConfig`, `SFTConfig`, "
        "`RewardConfig` and so on, which extend `TrainingArguments`. Releases before 0.9 took them as arguments of "
        "the trainer, so scripts of that time, and projects made for another release, pass the plain class.",
        "Make the arguments with the trainer's class: `from trl import GRPOConfig; args = "
        "GRPOConfig(output_dir=..., ...)` (`DPOConfig` for DPO, `SFTConfig` for SFT), and move the options there. "
        "For a project with a trainer of its own, parse with that class (`HfArgumentParser((ScriptArguments, "
        'GRPOConfig, ModelConfig))`) or install the TRL that it was written for: `pip install "trl==VERSION"`, see '
        "its requirements.",
    ),
    zh=Words(
        "在需要 TRL 自己的配置类的地方传入了 `{given}`:它没有 `{name}`",
        "TRL 的训练器从配置中读取选项:`GRPOConfig`、`DPOConfig`、`SFTConfig`、`RewardConfig` 等,它们扩展了 "
        "`TrainingArguments`。0.9 之前的版本把这些作为训练器参数,因此当时的脚本以及为其他版本编写的项目会传入普通的"
        "类。",
        "用该训练器对应的类创建参数:`from trl import GRPOConfig; args = GRPOConfig(output_dir=..., ...)`(DPO 用 "
        "`DPOConfig`,SFT 用 `SFTConfig`),并把选项移到其中。对自带训练器的项目,用该类解析"
        "(`HfArgumentParser((ScriptArguments, GRPOConfig, ModelConfig))`),或安装其所针对的 TRL:`pip install "
        '"trl==VERSION"`,见其 requirements。',
    ),
)

LOG_CONFIDENCE = LIKELY
