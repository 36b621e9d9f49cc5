"""Prompt and completion together are longer than the window.

## What it means
The window is the model's `max_position_embeddings`, and inside vLLM `vllm_max_model_length` (TRL 0.26 and
newer) or, in colocate mode of TRL 0.18 to 0.25, `max_prompt_length + max_completion_length`.
## What it does to a run
vLLM refuses an engine longer than the model's window. A smaller engine window cuts completions before
`max_completion_length`; without vLLM the model generates past the positions that it was trained for.
## What to do
Lower `max_completion_length`, or raise `vllm_max_model_length` up to the model's window.
## How it is found
The lengths that script, YAML, command line and the installed TRL's defaults give, against the local
`config.json` of the model.
## References
https://github.com/huggingface/trl/blob/v0.23.1/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/generation/vllm_generation.py
https://docs.vllm.ai/en/latest/configuration/engine_args/
"""

from __future__ import annotations

from doctor.checks.trl._helpers import config_place, installed, is_grpo, quoted, vllm_mode, whole_argument
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Skip, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRL022", name="grpo-length-beyond-window", severity=WARNING, since="0.1", affects={"trl": ">=0.14"}
)

REFUSED = Message(
    en=Words(
        "vLLM is asked for {length} tokens; the model's window is {window}",
        "vLLM raises a ValueError when `max_model_len` is greater than what the model's `config.json` "
        "gives, unless the model scales its positions.",
        "Lower the lengths so that they fit into {window} tokens.",
    ),
    zh=Words(
        "要求 vLLM 使用 {length} 个 token;而模型窗口为 {window}",
        "当 `max_model_len` 大于模型 `config.json` 给出的长度时,vLLM 会抛出 ValueError,除非模型对位置进行缩放。",
        "降低长度,使其不超过 {window} 个 token。",
    ),
)

CUT = Message(
    en=Words(
        "`vllm_max_model_length={window}` leaves {room} tokens for {completion} of completion",
        "The engine ends each completion at its window, so completions stop before `max_completion_length` "
        "and count as truncated.",
        "Raise `vllm_max_model_length` to the longest prompt plus {completion}, or lower `max_completion_length`.",
    ),
    zh=Words(
        "`vllm_max_model_length={window}` 只给长度 {completion} 的生成留下 {room} 个 token",
        "引擎会在窗口处结束每条生成,因此生成会在 `max_completion_length` 之前停止并被计为截断。",
        "把 `vllm_max_model_length` 提高到最长 prompt 加 {completion},或降低 `max_completion_length`。",
    ),
)

BEYOND = Message(
    en=Words(
        "`max_completion_length={completion}` reaches past the model's window of {window}",
        "A completion of that length, behind its prompt, runs over the positions that the model was "
        "trained for, and its text degrades.",
        "Lower `max_completion_length` so that prompt and completion fit into {window} tokens.",
    ),
    zh=Words(
        "`max_completion_length={completion}` 超出模型窗口 {window}",
        "加上 prompt 之后,这样长的生成会超出模型训练过的位置,文本质量会变差。",
        "降低 `max_completion_length`,使 prompt 与生成一起不超过 {window} 个 token。",
    ),
)


def _engine_length(training: Training, packages: Packages, mode: str, completion: int) -> int | None:
    """Return the `max_model_len` that TRL hands to a colocated vLLM, None where it leaves it to vLLM."""
    if mode != "colocate":
        return None
    version = installed(packages, "trl")
    if packages.matches("trl", ">=0.26"):
        return whole_argument(training, "vllm_max_model_length", version)
    prompt = whole_argument(training, "max_prompt_length", version)
    return None if prompt is None else prompt + completion


@check(PROBLEM)
def length_beyond_window(training: Training, packages: Packages, model: Model | None) -> Judgement:
    """Compare the engine's window and the completion with the model's window."""
    version = installed(packages, "trl")
    if not is_grpo(training):
        return
    completion, mode = whole_argument(training, "max_completion_length", version), vllm_mode(training, version)
    if completion is None or mode is None:
        yield Skip("`max_completion_length` or the mode of vLLM could not be read without running the script")
        return
    window = model.max_position_embeddings if model else None
    length = _engine_length(training, packages, mode, completion)
    settings = [training.get(name) for name in ("vllm_max_model_length", "max_completion_length", "max_prompt_length")]
    message, severity = None, WARNING
    if length is not None and window is not None and length > window:
        message, severity = REFUSED, ERROR
    elif length is not None and completion >= length:
        message, window = CUT, length
    elif window is not None and completion >= window:
        message = BEYOND
    if message is not None:
        yield found(
            PROBLEM,
            message,
            where=place_of(*settings, otherwise=config_place(training)),
            evidence=quoted(*settings),
            severity=severity,
            confidence=LIKELY,
            length=length,
            window=window,
            completion=completion,
            room=0,
        )
