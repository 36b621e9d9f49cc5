"""An image or video needs more tokens than vLLM has set aside for its encoder.

## What it means
vLLM keeps the outputs of the vision or audio encoder in a cache that is as large as the largest item, or as
`max_num_batched_tokens`. A model whose largest item is larger than a batch, or an item larger than the cache, cannot be
scheduled.
## What it does to a run
The engine does not start, or the request is refused.
## What to do
Raise `max_num_batched_tokens`, or make the items smaller.
## How it is found
In a log: by vLLM's two messages with their numbers.
## References
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/engine/processor.py
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/v1/core/encoder_cache_manager.py
https://github.com/modelscope/ms-swift/blob/main/docs/source_en/Instruction/Frequently-asked-questions.md
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL104", name="media-beyond-encoder-cache", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"[Tt]he (?:decoder |encoder )?prompt contains a\(n\) (?P<kind>\w{2,20}) item with length (?P<length>\d{1,9}), "
        r"which exceeds the pre-allocated encoder cache size (?P<room>\d{1,9})"
    ),
    Signature(
        r"Chunked MM input disabled but max_tokens_per_mm_item \((?P<item>\d{1,9})\) is larger than "
        r"max_num_batched_tokens \((?P<batch>\d{1,9})\)"
    ),
    Signature(
        r"RuntimeError: (?P<uneven>query, key and positions must have the same number of tokens)",
        frame=r"profile_run|profile_multimodal|determine_num_available|determine_available",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "one {kind} of this prompt is {length} tokens long, and vLLM's encoder cache has room for {room}",
        "The cache is as large as `max_num_batched_tokens` or the largest item that the model's profile expects. A "
        "long video, many frames or a large image comes to more.",
        "Raise it at start, `--max-num-batched-tokens {wanted}` (in ms-swift `--vllm_engine_kwargs "
        "'{{\"max_num_batched_tokens\": {wanted}}}'`), or make the item smaller: fewer frames (`fps`, `nframes`), a "
        "lower `max_pixels`, `--limit-mm-per-prompt` and `--mm-processor-kwargs` that say so.",
    ),
    zh=Words(
        "该提示中的一个 {kind} 有 {length} 个 token,而 vLLM 的 encoder cache 只能容纳 {room}",
        "该缓存的大小为 `max_num_batched_tokens` 或模型预估的最大条目。长视频、帧数多或大图会超过它。",
        "启动时增大:`--max-num-batched-tokens {wanted}`(ms-swift 为 `--vllm_engine_kwargs "
        "'{{\"max_num_batched_tokens\": {wanted}}}'`),或减小条目:减少帧数(`fps`、`nframes`)、降低 `max_pixels`,并用 "
        "`--limit-mm-per-prompt` 与 `--mm-processor-kwargs` 指明。",
    ),
)
START = Message(
    en=Words(
        "one image or video of this model takes up to {length} tokens, and `max_num_batched_tokens` is {room}",
        "The model's media cannot be processed in pieces (its attention looks at a whole item at once), so one item "
        "must fit into one batch.",
        "Raise it: `--max-num-batched-tokens {wanted}` (`max_num_batched_tokens` of the engine). If the model is used "
        "for text only: `--limit-mm-per-prompt '{{\"image\": 0}}'`.",
    ),
    zh=Words(
        "该模型的一个图像或视频最多占 {length} 个 token,而 `max_num_batched_tokens` 为 {room}",
        "该模型的多模态输入不能分块处理(其注意力需要看到整个条目),因此一个条目必须放进一个 batch。",
        "增大它:`--max-num-batched-tokens {wanted}`(引擎参数 `max_num_batched_tokens`)。若只用于文本:"
        "`--limit-mm-per-prompt '{{\"image\": 0}}'`。",
    ),
)

UNEVEN = Message(
    en=Words(
        "in vLLM's trial run the images of one prompt do not fit into one batch",
        "At the start vLLM computes a prompt with as many images as `--limit-mm-per-prompt` allows. They have more "
        "tokens than `max_num_batched_tokens`, so positions and tokens differ in number.",
        "Raise `--max-num-batched-tokens` above the tokens of all these images, allow fewer of them with "
        "`--limit-mm-per-prompt`, or upgrade vLLM, which now says the needed size itself.",
    ),
    zh=Words(
        "vLLM 试运行时,一个提示中的图像放不进一个 batch",
        "启动时 vLLM 按 `--limit-mm-per-prompt` 允许的最多图像数试算一个提示。其 token 数超过 "
        "`max_num_batched_tokens`,导致位置与 token 数量不一致。",
        "把 `--max-num-batched-tokens` 提高到超过这些图像的 token 总数,用 `--limit-mm-per-prompt` 减少允许的图像数"
        ",或升级 vLLM(新版会直接给出所需大小)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The next power of two that the item fits into is proposed."""
    if hits.get("uneven"):
        return found(PROBLEM, UNEVEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    item = hits.get("item")
    length = int(item or hits.get("length") or 0)
    wanted = 1 << max(length - 1, 1).bit_length()
    return found(
        PROBLEM, START if item else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        kind=hits.get("kind"), length=length, room=hits.get("batch") or hits.get("room"), wanted=wanted,
        commands=(f"--max-num-batched-tokens {wanted}",),
    )  # fmt: skip
