"""Judges kv-cache-below-one-sequence (VLL015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.engine_gpus import overridden, served_gpus
from doctor.catalogue.shared.memory_bounds import gib
from doctor.catalogue.shared.proofs import proofs
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_TOKENS = TOML["log_tokens"]
MESSAGE = TOML["main"]


#: dense model types of which every layer keeps the whole sequence
FULL_ATTENTION = {"llama", "qwen2", "qwen3"}
#: no release takes a greater share by default (0.9, later 0.92)
DEFAULT_SHARE = 0.92
#: options that change what is kept or where
CHANGES = (
    "num_gpu_blocks_override", "kv_cache_memory_bytes", "cpu_offload_gb", "kv_offloading_size", "kv_transfer_config",
    "decode_context_parallel_size", "prefill_context_parallel_size", "quantization", "kv_offloading_backend",
)  # fmt: skip
HALF_BYTES = 2


def token_bytes(model: Model, serving: Serving) -> float | None:
    """Least bytes that a token takes in the cache of one GPU, None where the model does not tell."""
    if not (model.layers and model.attention_heads and model.kv_heads) or model.model_type not in FULL_ATTENTION:
        return None
    head = model.head_dim or (model.hidden_size or 0) // model.attention_heads
    heads = max(1.0, model.kv_heads / serving.tensor_parallel_size)
    kind = serving.arguments.get("kv_cache_dtype")
    width = 1 if kind is not None and kind.value != "auto" else HALF_BYTES
    return 2 * model.layers * heads * head * width / serving.pipeline_parallel_size or None


@check(PROBLEM, requires=("MEM003",))
def cache_below_one_sequence(serving: Serving, model: Model, gpus: Gpus, environment: Environment | None) -> Judgement:
    """Every number errs to the side of silence; only the first of equal cards is told."""
    given = serving.arguments
    if any(name in given for name in CHANGES) or overridden(serving) or model.quantization or not model.parameters:
        return
    setting = given.get("max_model_len")
    length = serving.max_model_len if setting is not None else model.max_position_embeddings
    each = token_bytes(model, serving)
    if length is None or each is None or (setting is None and model.rope_type not in {None, "default", "llama3"}):
        return
    used = [gpu for gpu in served_gpus(serving, gpus, environment) if gpu.memory_total_bytes and not gpu.mig_enabled]
    if not used:
        return
    largest = max(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    share = serving.gpu_memory_utilization or DEFAULT_SHARE
    weights = model.parameters * HALF_BYTES / (serving.tensor_parallel_size * serving.pipeline_parallel_size)
    room = (largest.memory_total_bytes or 0) * share - weights
    if room <= 0 or length * each <= room:
        return
    fitting = max(int(room / each) // 1024 * 1024, 1024)
    yield found(
        PROBLEM,
        MESSAGE,
        length=length,
        need=gib(length * each),
        gpu=f"GPU {largest.index}",
        have=gib(room),
        fitting=fitting,
        where=place_of(setting),
        confidence=LIKELY,
        commands=(f"--max-model-len {fitting}",),
        evidence=(
            *proofs(setting),
            Observed.quoted(model.stated_in, f"{model.layers} layers, {model.kv_heads} key-value heads"),
            Observed.quoted("NVML", f"{largest.label}: {gib(largest.memory_total_bytes or 0)} GiB"),
        ),
    )


def explain(hits: Hits) -> Finding | None:
    """Newer releases tell the length that would fit, older ones only both sizes or the tokens."""
    length, need, have = hits.get("length"), hits.get("need"), hits.get("have")
    fits = hits.get("fits") or hits.get("tokens")
    if fits is None and need and have and length and float(need) > 0:
        fits = str(int(int(length) * float(have) / float(need)) // 16 * 16)
    return found(
        PROBLEM,
        LOG_MESSAGE if need else LOG_MESSAGE_TOKENS,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--max-model-len {fits}",),
        length=length,
        need=need,
        have=have,
        fits=fits,
    )
