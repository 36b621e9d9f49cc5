"""max_num_batched_tokens is below what one step must take.

## What it means
Without chunked prefill a prompt must fit into one step, so `max_num_batched_tokens` must be at least
`max_model_len`; and it must be at least `max_num_seqs` in any case.
## What it does to a run
The engine ends before anything is loaded.
## What to do
Raise it, lower the other, or switch chunked prefill on.
## How it is found
Before launch, where the command says both numbers, or switches chunked prefill off and the model's length is known.
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/scheduler.py
https://docs.vllm.ai/en/latest/configuration/optimization/
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.vllm.length_beyond_window import PLAIN
from doctor.core.check import Judgement, check
from doctor.core.finding import Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Hits, Signature
from doctor.facts.base import Setting
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving, human_int

PROBLEM = Problem(id="VLL042", name="batched-tokens-too-few", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"max_num_batched_tokens \((?P<tokens>\d{1,9})\) is smaller than max_model_len"
        r" \((?P<other>\d{1,9})\)",
    ),
    Signature(
        r"max_num_batched_tokens \((?P<tokens>\d{1,9})\) must be greater than or equal to"
        r" max_num_seqs \((?P<other>\d{1,9})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`max_num_batched_tokens` of {tokens} is below {what} ({other})",
        "Each step of the engine takes at most that many tokens. Without chunked prefill a whole prompt "
        "must fit in, and every running sequence needs one.",
        "Raise `--max-num-batched-tokens` to {other} or more (`rollout.max_num_batched_tokens` in veRL), "
        "or switch `--enable-chunked-prefill` on, or lower `--max-model-len` and `--max-num-seqs`.",
    ),
    zh=Words(
        "`max_num_batched_tokens` 为 {tokens},小于 {what}({other})",
        "引擎每一步最多处理这么多 token。未启用 chunked prefill 时整个 prompt 必须放得下,且每条运行中的序"
        "列都需要一个 token。",
        "把 `--max-num-batched-tokens` 提高到 {other} 以上(veRL 为 `rollout.max_num_batched_tokens`),或启"
        "用 `--enable-chunked-prefill`,或减小 `--max-model-len` 和 `--max-num-seqs`。",
    ),
)


@check(PROBLEM)
def batched_tokens_too_few(serving: Serving, packages: Packages, model: Model | None) -> Judgement:
    """Both rules on explicit numbers; before 0.11 the engine of the release decides about chunks on its own."""
    setting = serving.arguments.get("max_num_batched_tokens")
    tokens = _number(setting)
    if setting is None or tokens is None:
        return
    seqs = serving.arguments.get("max_num_seqs")
    most = _number(seqs)
    evidence = proofs(setting, seqs)
    other, what = most, "`max_num_seqs`"
    if most is None or tokens >= most:
        off = _chunks_off(serving)
        length, source = _length(serving, model)
        if off is None or length is None or not packages.matches("vllm", ">=0.11"):
            return
        other, what, evidence = length, "`max_model_len`", (*proofs(setting, off), *source)
    if other is not None and tokens < other:
        yield found(
            PROBLEM, LOG_MESSAGE, where=place_of(setting), evidence=evidence, tokens=tokens, other=other, what=what,
            commands=(f"--max-num-batched-tokens {other}",),
        )  # fmt: skip


def _number(setting: Setting | None) -> int | None:
    return human_int(str(setting.value)) if setting is not None and setting.known else None


def _chunks_off(serving: Serving) -> Setting | None:
    """The setting that switches chunked prefill off, None where none does for certain."""
    negated, plain = (serving.arguments.get(f"{each}enable_chunked_prefill") for each in ("no_", ""))
    if negated is not None:
        return negated
    return plain if plain is not None and plain.known and truth(plain.value) is False else None


def _length(serving: Serving, model: Model | None) -> tuple[int | None, tuple[Evidence, ...]]:
    """The longest sequence: as told, else the window of a model of a plain kind."""
    told = serving.arguments.get("max_model_len")
    if told is not None:
        return serving.max_model_len, proofs(told)
    if model is None or model.model_type not in PLAIN or model.rope_type not in {None, "default", "llama3"}:
        return None, ()
    window = model.max_position_embeddings
    return window, (Evidence(f"{model.folder}/config.json", f"max_position_embeddings: {window}"),)


def explain(hits: Hits) -> Finding | None:
    """Which of the two rules it was."""
    what = "`max_model_len`" if hits.of(0) else "`max_num_seqs`"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        tokens=hits.get("tokens"),
        other=hits.get("other"),
        what=what,
        commands=(f"--max-num-batched-tokens {hits.get('other')}",),
    )
