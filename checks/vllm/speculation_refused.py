"""Speculative decoding is set up with a draft that does not fit the model.

## What it means
A draft proposes tokens that the model verifies, so both must share a vocabulary; it runs on one GPU or on as many as
the model, and its number of tokens must be told.
## What it does to a run
The engine does not start, or stops when the draft is loaded.
## What to do
Take a draft of the same family, or n-grams in its place, and set what is missing.
## How it is found
In a log: by vLLM's messages about draft and target.
## References
https://docs.vllm.ai/en/latest/features/spec_decode.html
https://github.com/vllm-project/vllm/issues/14939
https://github.com/vllm-project/vllm/issues/10483
https://github.com/vllm-project/vllm/issues/50708
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/spec_decode/spec_decode_worker.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL085", name="speculation-refused", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"^AssertionError:?$",
        Message(
            en=Words(
                "draft and target model of speculative decoding have vocabularies of different size",
                "The draft's token ids would mean other words to the model that verifies them. Members of one "
                "family differ here, too: Qwen2.5 up to 3B has 151,936 rows, from 7B on 152,064.",
                "Compare `vocab_size` in both `config.json`. Take a draft that was made for the model (its EAGLE "
                "head, or a member of the family with the same number), pad the smaller embedding to the same "
                'size, or speculate without a draft: `--speculative-config \'{{"method": "ngram", '
                '"num_speculative_tokens": 4, "prompt_lookup_max": 4}}\'`.',
            ),
            zh=Words(
                "投机解码的草稿模型与目标模型词表大小不同",
                "草稿的 token id 对验证它的模型含义不同。同一系列内也会不同:Qwen2.5 到 3B 为 151,936 行,7B 起为 "
                "152,064 行。",
                "比较两个 `config.json` 中的 `vocab_size`。使用为该模型制作的草稿(其 EAGLE 头,或同系列中大小相同"
                '者),把较小的嵌入补齐到相同大小,或不用草稿模型:`--speculative-config \'{{"method": "ngram", '
                '"num_speculative_tokens": 4, "prompt_lookup_max": 4}}\'`。',
            ),
        ),
    ),
    (
        (
            r"Target and draft model should have the same vocabulary size\. Target model "
            r"vocab_size=(?P<target>\d{1,8})\. Draft model vocab_size=(?P<draft>\d{1,8})"
        ),
        Message(
            en=Words(
                "the draft model has {draft} tokens in its vocabulary, the target {target}",
                "The draft's token ids would mean other words to the model that verifies them.",
                "Take a draft with {target} rows (`vocab_size` in its `config.json`) that was made for the "
                'model, an EAGLE head, or n-grams: `--speculative-config \'{{"method": "ngram", '
                '"num_speculative_tokens": 4, "prompt_lookup_max": 4}}\'`. For other vocabularies newer releases '
                'have `"use_heterogeneous_vocab": true` with `"method": "draft_model"`.',
            ),
            zh=Words(
                "草稿模型的词表有 {draft} 个 token,目标模型有 {target} 个",
                "草稿的 token id 对验证它的模型含义不同。",
                "使用为该模型制作、`config.json` 中 `vocab_size` 为 {target} 的草稿、EAGLE 头,或 "
                'n-gram:`--speculative-config \'{{"method": "ngram", "num_speculative_tokens": 4, '
                '"prompt_lookup_max": 4}}\'`。词表不同时,较新版本在 `"method": "draft_model"` 下提供 '
                '`"use_heterogeneous_vocab": true`。',
            ),
        ),
    ),
    (
        r"speculative_draft_tensor_parallel_size=(?P<draft>\d{1,5}) cannot be other value than 1",
        Message(
            en=Words(
                "the draft model may run on one GPU or on as many as the target, not on {draft}",
                "Its tensor parallel size must be 1 or that of the target.",
                'Set `"draft_tensor_parallel_size": 1` in `--speculative-config` (older: '
                "`--speculative-draft-tensor-parallel-size 1`).",
            ),
            zh=Words(
                "草稿模型只能用一个 GPU 或与目标模型相同的数量,不能是 {draft}",
                "其张量并行大小必须为 1 或与目标模型相同。",
                '在 `--speculative-config` 中设置 `"draft_tensor_parallel_size": 1`(旧版'
                ":`--speculative-draft-tensor-parallel-size 1`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?:num_speculative_tokens must be provided with speculative model|A speculative "
            r"model was provided, but `num_speculative_tokens` was not provided)"
        ),
        Message(
            en=Words(
                "speculative decoding was asked for without saying how many tokens the draft proposes",
                "Only drafts with `n_predict` in their configuration (MTP heads) bring that number with them.",
                'Add it: `--speculative-config \'{{"model": "DRAFT", "num_speculative_tokens": 3}}\'`.',
            ),
            zh=Words(
                "启用了投机解码,但没有说明草稿一次提出多少 token",
                "只有配置中含 `n_predict` 的草稿(MTP 头)自带该数字。",
                '补上:`--speculative-config \'{{"model": "DRAFT", "num_speculative_tokens": 3}}\'`。',
            ),
        ),
    ),
    (
        (
            r"ValueError: speculative_max_model_len=(?P<asked>\d{1,9}) cannot be larger than "
            r"(?P<of>draft|target)_max_model_len=(?P<limit>\d{1,9})"
        ),
        Message(
            en=Words(
                "the draft is to take {asked} tokens, and the {of} model takes {limit}",
                "The length of speculation is bounded by both models.",
                'Set `"max_model_len": {limit}` (or less) in `--speculative-config`.',
            ),
            zh=Words(
                "要求草稿处理 {asked} 个 token,而 {of} 模型只支持 {limit}",
                "投机的长度受两个模型的限制。",
                '在 `--speculative-config` 中设置 `"max_model_len": {limit}`(或更小)。',
            ),
        ),
    ),
    (
        (
            r"Can't determine cudagraph shapes that are both a multiple of (?P<per>\d{1,4}) \(num_speculative_tokens "
            r"\+ 1\)[^\n]{1,60}? and (?P<parallel>\d{1,4}) \(tensor_parallel_size\)"
        ),
        Message(
            en=Words(
                "speculating {per} tokens at once does not go together with sequence parallelism over {parallel} GPUs",
                "Each CUDA graph must hold whole steps of `num_speculative_tokens` + 1 and divide by the tensor "
                "parallel size, and no size does both. vLLM before 0.12 also asked for this where sequence "
                "parallelism is off.",
                "Set `num_speculative_tokens` so that it plus one is a multiple of {parallel} or divides it, turn "
                "sequence parallelism off (`enable_sp` of the pass configuration), change "
                "`--tensor-parallel-size`, or upgrade vLLM.",
            ),
            zh=Words(
                "一次投机 {per} 个 token 与 {parallel} 个 GPU 上的序列并行不能同时使用",
                "每个 CUDA graph 必须包含整数个 `num_speculative_tokens` + 1 的步,并能被张量并行大小整除,而没有大小"
                "同时满足二者。0.12 之前的 vLLM 在未启用序列并行时也会这样要求。",
                "设置 `num_speculative_tokens`,使其加一是 {parallel} 的倍数或约数;关闭序列并行(pass 配置中的 "
                "`enable_sp`),修改 `--tensor-parallel-size`,或升级 vLLM。",
            ),
        ),
    ),
    (
        (
            r"NotImplementedError: Speculative decoding is (?:currently|not yet) (?:incompatible "
            r"with|supported with) pipeline parallelism"
        ),
        Message(
            en=Words(
                "speculative decoding together with pipeline parallelism",
                "This vLLM does not take both.",
                "Set `--pipeline-parallel-size 1` (and tensor parallelism in its place), or leave "
                "`--speculative-config` out.",
            ),
            zh=Words(
                "同时使用投机解码与流水线并行",
                "该版本 vLLM 不支持两者并用。",
                "设置 `--pipeline-parallel-size 1`(改用张量并行),或不使用 `--speculative-config`。",
            ),
        ),
    ),
    (
        r"max_num_scheduled_tokens is set to (?P<left>-?\d{1,9})[^\n]{0,40}?does not allow any tokens",
        Message(
            en=Words(
                "speculation takes more slots than a step has tokens: {left} are left",
                "For each running sequence vLLM keeps room for the tokens that the draft proposes: "
                "`num_speculative_tokens` times `max_num_seqs` is taken off `max_num_batched_tokens`, and nothing "
                "remains to be scheduled.",
                "Lower `--max-num-seqs` (the default counts hundreds), raise `--max-num-batched-tokens` above that "
                "product, or propose fewer tokens (`num_speculative_tokens` in `--speculative-config`).",
            ),
            zh=Words(
                "投机占用的位置超过一步的 token 数:剩余 {left}",
                "vLLM 为每条运行中的序列预留草稿提出的 token 的位置:从 `max_num_batched_tokens` 中扣除 "
                "`num_speculative_tokens` 乘以 `max_num_seqs`,之后已没有可调度的 token。",
                "降低 `--max-num-seqs`(默认值为数百),把 `--max-num-batched-tokens` 提高到该乘积以上,或减少投机 token 数"
                "(`--speculative-config` 中的 `num_speculative_tokens`)。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], frame=r"spec_decode[\\/]spec_decode_worker\.py:_vocab_size$"),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0]),
    Signature(CASES[4][0]),
    Signature(CASES[5][0]),
    Signature(CASES[6][0]),
    Signature(CASES[7][0]),
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
