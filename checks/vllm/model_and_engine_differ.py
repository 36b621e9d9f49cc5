"""What the folder of a model holds, and what vLLM makes of it, do not fit each other.

## What it means
vLLM builds the model from `config.json`, fills it from the weight files, and takes the tokenizer from beside them. A
part that is missing, of another form, or for another way of asking shows at the start or with the first request.
## What it does to a run
The engine does not start, or a request fails.
## What to do
What the finding says for the part that does not fit.
## How it is found
In a log: by vLLM's messages about weights, tokenizer and inputs.
## References
https://github.com/vllm-project/vllm/blob/v0.10.0/vllm/model_executor/model_loader/default_loader.py
https://github.com/vllm-project/vllm/issues/21713
https://docs.vllm.ai/en/latest/usage/troubleshooting.html
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL092", name="model-and-engine-differ", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: Following weights were not initialized from(?: checkpoint)?: "
            r"\{'(?P<weight>[\w.\-]{1,200})'"
        ),
        Message(
            en=Words(
                "the weight files lack `{weight}` and others that vLLM's model has",
                "The folder is incomplete (a shard that was not copied), the names in it are those of another "
                "release, or `config.json` asks for layers that the checkpoint does not have and vLLM's class "
                "does not know it (shared experts, tied heads, prediction layers).",
                "Check that all shards of `model.safetensors.index.json` are there. Then upgrade: `pip install "
                "-U vllm`; newer releases skip such layers. After a training save by the trainer's own way "
                "(`save_pretrained`, `zero_to_fp32.py`), with the `config.json` of the model that was trained.",
            ),
            zh=Words(
                "权重文件缺少 vLLM 模型中的 `{weight}` 等权重",
                "文件夹不完整(有分片未复制)、其中的名称属于另一版本,或 `config.json` 要求检查点没有的层而 vLLM 的"
                "类不知道(共享专家、共享的输出头、预测层)。",
                "检查 `model.safetensors.index.json` 中的所有分片是否存在。然后升级:`pip install -U vllm`;较新版"
                "本会跳过这些层。训练后请用训练器自己的方式保存(`save_pretrained`、`zero_to_fp32.py`),并使用所训"
                "练模型的 `config.json`。",
            ),
        ),
    ),
    (
        r"RuntimeError: Failed to load the tokenizer\. If the tokenizer is a custom tokenizer",
        Message(
            en=Words(
                "vLLM cannot load the model's tokenizer",
                "It is written in the model's own Python code, which runs only when allowed; or its files are "
                "not in the folder.",
                "Add `--trust-remote-code` (in Python `trust_remote_code=True`) if you trust the model; else "
                "look for `tokenizer.json` or `tokenizer.model` and `tokenizer_config.json` in the folder, and "
                "name another one by `--tokenizer BASE_MODEL`.",
            ),
            zh=Words(
                "vLLM 无法加载模型的分词器",
                "它由模型自己的 Python 代码实现,只有允许时才会运行;或文件夹中没有其文件。",
                "信任该模型时加上 `--trust-remote-code`(Python 中为 `trust_remote_code=True`);否则检查文件夹中是"
                "否有 `tokenizer.json` 或 `tokenizer.model` 及 `tokenizer_config.json`,或用 `--tokenizer "
                "BASE_MODEL` 指定。",
            ),
        ),
    ),
    (
        r"ValueError: You cannot pass text prompts when `skip_tokenizer_init` is True",
        Message(
            en=Words(
                "text was sent to an engine that was started without a tokenizer",
                "`skip_tokenizer_init=True` leaves tokens as the only form of input.",
                'Send ids: `llm.generate({{"prompt_token_ids": ids}})`, or start without `skip_tokenizer_init`.',
            ),
            zh=Words(
                "向没有分词器的引擎发送了文本",
                "`skip_tokenizer_init=True` 时只能输入 token。",
                '发送 id:`llm.generate({{"prompt_token_ids": ids}})`,或启动时不要 `skip_tokenizer_init`。',
            ),
        ),
    ),
    (
        (
            r"ValueError: When using LoRA, vocab size must be (?P<low>\d{1,7}) >= vocab_size <= "
            r"(?P<high>\d{1,7})"
        ),
        Message(
            en=Words(
                "LoRA on the output head: vLLM takes vocabularies from {low} to {high} entries only",
                "Its LoRA kernels for the logits are made for that range.",
                "Train the adapter without `lm_head` and `embed_tokens` in `target_modules` and "
                "`modules_to_save`, merge it (`merge_and_unload`) and serve the result, or upgrade vLLM, where "
                "the bound has been raised.",
            ),
            zh=Words(
                "输出头上的 LoRA:vLLM 只支持 {low} 到 {high} 的词表",
                "其 logits 的 LoRA 内核针对该范围。",
                "训练适配器时不要把 `lm_head`、`embed_tokens` 放入 `target_modules` 和 `modules_to_save`,或合并"
                "(`merge_and_unload`)后再部署,或升级已放宽该限制的 vLLM。",
            ),
        ),
    ),
    (
        (
            r"KeyError: \W?(?:invalid )?tool[_ ](?:call )?parser: ?'?(?P<parser>[\w\-]{1,60})'? (?:not "
            r"found|\(chose from)"
        ),
        Message(
            en=Words(
                "this vLLM has no tool parser `{parser}`",
                "Parsers are part of vLLM; one for a newer model comes with a newer release, and a plugin of "
                "your own must be named, too.",
                "Take one that is there (`vllm serve --help=tool-call-parser`: hermes for Qwen, llama3_json, "
                "mistral, pythonic ...), `pip install -U vllm`, or name the plugin: `--tool-parser-plugin "
                "FILE.py`.",
            ),
            zh=Words(
                "该版本 vLLM 没有工具解析器 `{parser}`",
                "解析器是 vLLM 的一部分;新模型的解析器随新版本提供,自己的插件也需要指定。",
                "使用现有的(`vllm serve --help=tool-call-parser`:Qwen 用 hermes,另有 llama3_json、mistral、"
                "pythonic 等),`pip install -U vllm`,或指定插件:`--tool-parser-plugin FILE.py`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0], symptom_of=("TRF015", "TRF025", "TRF046", "HUB", "PYT")),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0], symptom_of=("VLL111",)),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
