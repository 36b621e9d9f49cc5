"""veRL packs sequences, and the attention in use cannot.

## What it means
`use_remove_padding=True` joins all sequences of a batch into one row without padding. Only flash attention with
variable lengths keeps them apart; with sdpa, eager, or a model that was not patched, shapes of logits and
labels differ.
## What it does to a run
The first forward pass fails.
## What to do
flash_attention_2 with a supported model, or padding.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/verl-project/verl/issues/6284
https://verl.readthedocs.io/en/latest/perf/perf_tuning.html
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL019", name="padding-removed-without-flash", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^\s{1,12}assert labels\.shape == \(n_rows,\)",
    ),
    Signature(
        r"(?:shape mismatch|The size of tensor a \(\d{1,9}\) must match the size of tensor b"
        r" \(\d{1,9}\))",
        frame=r"verl[\\/][^\n:]{0,80}:(?:_forward_micro_batch|logprobs_from_logits\w{0,20}|forward_step|prepare_model_outputs)$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "logits and labels differ in length in a packed batch of veRL",
        "`use_remove_padding=True` (and `ulysses_sequence_parallel_size` above 1) packs and cuts the "
        "sequences, which needs flash attention with variable lengths and a model that veRL patches. "
        "Here one side was packed or cut and the other was not: another `attn_implementation` (sdpa, "
        "eager), a model or transformers release that the patch does not know, or an older veRL.",
        "Set `actor_rollout_ref.model.use_remove_padding=False` and `ulysses_sequence_parallel_size=1` "
        "to see whether it goes away. To keep packing, install flash-attn, set "
        "`+actor_rollout_ref.model.override_config.attn_implementation=flash_attention_2`, and upgrade "
        "veRL together with a transformers release that it lists for this model.",
    ),
    zh=Words(
        "veRL 的打包批次中 logits 与 labels 长度不一致",
        "`use_remove_padding=True`(以及大于 1 的 `ulysses_sequence_parallel_size`)会打包并切分序列,需要支"
        "持变长的 flash attention 以及 veRL 已适配的模型。此处一侧已打包或切分,另一侧没有:使用了其他 "
        "`attn_implementation`(sdpa、eager)、补丁不认识的模型或 transformers 版本,或 veRL 过旧。",
        "先设置 `actor_rollout_ref.model.use_remove_padding=False` 与 `ulysses_sequence_parallel_size=1`,"
        "确认问题是否消失。若要保留打包,安装 flash-attn,设置 "
        "`+actor_rollout_ref.model.override_config.attn_implementation=flash_attention_2`,并将 veRL 与其"
        "为该模型列出的 transformers 版本一起升级。",
    ),
)

LOG_CONFIDENCE = LIKELY
