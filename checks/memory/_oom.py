"""CUDA's out of memory: which phase asked, told by the frames of the traceback, and what to turn in which framework.

Frames are "path:function", outermost first. The first phase in the table of which a frame tells is the answer, so the
table goes from the special to the general.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Confidence, Finding, Message, Phrase, found, joined
from doctor.catalogue.problem import Problem
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)

PHASES = (
    (
        "kv",
        later(
            r":(?:_?allocate_kv_caches?(?:_tensors)?"
            r"|_allocate_kv_cache"
            r"|initialize_kv_caches?"
            r"|allocate_gpu_cache"
            r"|_create_buffers)$"
            r"|vllm/worker/cache_engine\.py:"
        ),
    ),
    (
        "graph",
        later(
            r":(?:capture_model"
            r"|_capture_cudagraphs"
            r"|capture_graph"
            r"|capture_one_batch_size"
            r"|init_cuda_graphs"
            r"|_warmup_and_capture)$"
            r"|cuda_graph_runner\.py:"
        ),
    ),
    (
        "profile",
        later(
            r":(?:profile_run"
            r"|determine_available_memory"
            r"|determine_num_available_blocks"
            r"|profile_num_available_blocks"
            r"|_dummy_run"
            r"|_dummy_sampler_run|_dummy_pooler_run|compile_or_warm_up_model)$"
        ),
    ),
    (
        "save",
        later(
            r":(?:save_checkpoint"
            r"|_save_checkpoint"
            r"|save_model"
            r"|_save"
            r"|save_pretrained"
            r"|get_fsdp_full_state_dict"
            r"|save_16bit_model"
            r"|_zero3_consolidated_16bit_state_dict)$"
        ),
    ),
    (
        "optimizer",
        later(
            r"torch/optim/"
            r"|bitsandbytes/optim/"
            r"|optimizer\.py:step$"
            r"|:(?:_optimizer_step"
            r"|_take_model_step"
            r"|_init_group"
            r"|unscale_and_clip_grads)$"
            r"|deepspeed/runtime/zero/stage\w{0,12}\.py:(?:step|initialize_optimizer_states"
            r"|_optimizer_states_and_set_step)$"
        ),
    ),
    (
        "sync",
        later(
            r":(?:_move_model_to_vllm"
            r"|update_named_param"
            r"|update_weights"
            r"|update_weights_from_tensor"
            r"|sync_weights"
            r"|rollout_mode"
            r"|_sync_fsdp\w{0,20}"
            r"|_sync_fsdp1_params_to_vllm|_gather_params|wake_up|_update_model_params"
            r"|update_actor_weights|receive_weights)$|verl/workers/sharding_manager/"
        ),
    ),
    (
        "load",
        later(
            r":(?:load_model"
            r"|from_pretrained"
            r"|_load_pretrained_model"
            r"|_initialize_model"
            r"|initialize_model"
            r"|create_weights"
            r"|process_weights_after_loading"
            r"|_build_model_optimizer|_load_state_dict_into_meta_model|_move_model_to_device"
            r"|_sync_params_and_buffers|_build_model|get_model)$"
            r"|model_loader/|torch/distributed/fsdp/_init_utils\.py:"
        ),
    ),
    ("reward", later(r":(?:_?calculate_rewards|_?compute_rewards?|compute_rm_score|get_rewards?|reward_fn)$")),
    (
        "generate",
        later(
            r"transformers/generation/utils\.py:|:(?:execute_model|_generate_single_turn)$"
            r"|sglang/srt/managers/\w{1,40}\.py:(?:run_batch|forward_batch_generation)$"
        ),
    ),
    (
        "logits",
        later(
            r":(?:selective_log_softmax"
            r"|_get_per_token_logps(?:_and_entropies)?"
            r"|logprobs_from_logits\w{0,12}"
            r"|entropy_from_logits\w{0,24}"
            r"|entropy_from_logits"
            r"|get_logprobs|get_topk_logits|get_batch_logps|log_softmax|logsumexp|cross_entropy|compute_token_entropy"
            r"|compute_log_probs|(?:calculate|get)_log_probs\w{0,16}|\w{0,20}vocab_parallel_\w{1,40}"
            r"|_compute_distributed_(?:log_)?softmax|from_parallel_logits_to_logprobs|get_next_token_logprobs_from_logits"
            r"|fixed_cross_entropy|ForCausalLMLoss|compute_logits)$"
        ),
    ),
    ("backward", later(r"torch/autograd/(?:graph|__init__)\.py:|torch/_tensor\.py:backward$|:backward$")),
    (
        "step",
        later(
            r":(?:training_step"
            r"|_?inner_training_loop"
            r"|train(?:_\w{1,20})?"
            r"|_?compute_loss"
            r"|forward_backward_batch"
            r"|update_(?:policy|actor|critic)"
            r"|compute_(?:ref_)?log_prob"
            r"|compute_values)$"
        ),
    ),
    ("forward", later(r":(?:forward|_call_impl)$")),
)


def phase(hit: Hit) -> str:
    """What the process was doing: a name of the table, "" where the log has no traceback that tells."""
    frames = _within_closure(hit.frames)
    return next((name for name, pattern in PHASES if any(pattern.search(frame) for frame in frames)), "")


def _within_closure(frames: Sequence[str]) -> Sequence[str]:
    """Frames of what an optimizer calls back: Lightning runs forward and backward inside of its step."""
    last = max((number for number, frame in enumerate(frames) if frame.endswith(":closure")), default=-1)
    return frames[last + 1 :]


def phases_of(hits: Hits) -> list[str]:
    """Phases of all hits, the earliest first; a log record and the exception itself may both be hits."""
    return [name for name in map(phase, hits) if name]


def told(hits: Hits, *phases: str) -> bool:
    """Whether the first hit whose frames tell a phase tells one of these; "" stands for no hit that tells any.

    No phase is to blame where other processes fill the card: that alone is told then, as "others".
    """
    if held_by_others(hits) is not None:
        return "others" in phases
    known = phases_of(hits)
    return (known[0] if known else "") in phases


_SIZE = r"(?P<{}>[\d.]{{1,12}}) (?P<{}_unit>[KMGT]iB|bytes|B(?:ytes)?)"
_TOTAL = later(r"total capacity of " + _SIZE.format("total", "total"))
_FREE = later(r"of which " + _SIZE.format("free", "free") + r" is free")
_OWN = later(r"this process has " + _SIZE.format("own", "own"))
_ALLOCATED = later(r"allocated memory " + _SIZE.format("allocated", "allocated") + r" is allocated by PyTorch")
_RESERVED = later(_SIZE.format("reserved", "reserved") + r" is reserved by PyTorch")
_GIB = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}
#: beside torch's own memory a process holds the CUDA context and the workspaces of libraries
_CONTEXT_GIB = 1.0


def _gib(pattern: re.Pattern[str], text: str) -> float | None:
    """A size of torch's message in GiB, None where the message does not tell it."""
    match = pattern.search(text)
    if match is None:
        return None
    number, unit = match.group(1), match.group(2)
    return float(number) * _GIB.get(unit[0], 2.0**-30) if number.count(".") < 2 else None


def held_by_others(hits: Hits) -> tuple[float, float, float] | None:
    """(others, this process, card) in GiB, where others hold more than half of the card and this one under a third."""
    text = hits.first.text
    total, free, own = _gib(_TOTAL, text), _gib(_FREE, text), _gib(_OWN, text)
    allocated = _gib(_ALLOCATED, text)
    if own is None and allocated is not None:
        own = allocated + (_gib(_RESERVED, text) or 0.0) + _CONTEXT_GIB
    if total is None or free is None or own is None:
        return None
    others = total - free - own
    return (others, own, total) if others > total / 2 and own < total / 3 else None


def uses(hits: Hits, package: str) -> bool:
    """Whether frames, versions or settings show that this framework runs."""
    return package in hits.versions or any(f"/{package}/" in frame for hit in hits for frame in hit.frames)


def setting(hits: Hits, name: str) -> str | None:
    """A setting by the last part of its name, as Hydra writes it with dots."""
    for key, value in hits.config.items():
        if key == name or key.endswith("." + name):
            return value
    return None


def training_knobs(hits: Hits) -> Phrase:
    """The batch and length settings of the framework at hand."""
    return TOML.phrase(f"knobs.{_framework(hits)}")


def _framework(hits: Hits) -> str:
    """Name of its phrase."""
    actor = next((hit.process.partition(" ")[0] for hit in hits if hit.process), "")
    if actor in _TRINITY_ENGINES or (uses(hits, "trinity") and actor in _ENGINE_ACTORS):
        return "trinity_rollout"
    if uses(hits, "trinity"):
        return _trinity(hits)
    verl = uses(hits, "verl") or actor in _VERL_ACTORS
    if verl and actor in _ENGINE_ACTORS:
        return "verl_rollout"
    if verl and (setting(hits, "use_dynamic_bsz") or "").lower() == "true":
        return "verl_dynamic"
    if verl:
        return "verl_fixed"
    own = next((knobs for package, knobs in _OTHERS if uses(hits, package)), None)
    frames = [frame for hit in hits for frame in hit.frames]
    return own or next((knobs for part, knobs in _ENGINES if any(part in each for each in frames)), "trainer")


def _trinity(hits: Hits) -> str:
    """Trinity's own keys came with 0.3.2; before, and where the release is not known, veRL's file is named."""
    from packaging.version import Version

    told = hits.versions.get("trinity-rft") or hits.versions.get("trinity")
    try:
        return "trinity" if told and Version(told) >= Version("0.3.2") else "trinity_old"
    except ValueError:
        return "trinity_old"


#: actors that hold an engine or a trainer, by the frameworks' own class names
#: https://github.com/modelscope/Trinity-RFT/blob/v0.3.1/trinity/common/models/vllm_model.py
#: https://github.com/volcengine/verl/blob/v0.5.0/verl/single_controller/ray/base.py
_TRINITY_ENGINES = frozenset({"vLLMRolloutModel", "vLLMAsyncRolloutModel"})
_ENGINE_ACTORS = _TRINITY_ENGINES | {"vLLMHttpServer", "AsyncvLLMServer", "vLLMReplica", "SGLangHttpServer", "LLMActor"}
_VERL_ACTORS = frozenset({"WorkerDict", "TaskRunner", "ActorRolloutRefWorker", "main_task"})


#: package -> phrase of its settings; the first that runs counts, and Trinity-RFT runs veRL's workers
_OTHERS = (("openrlhf", "openrlhf"), ("nemo_rl", "nemo"), ("slime", "slime"), ("trl", "trainer"))
#: part of a frame -> phrase of the settings of an engine that runs by itself
_ENGINES = (("sglang/srt/", "sglang"), ("/vllm/", "vllm"))


def _beside(hits: Hits) -> list[Phrase]:
    """What an engine holds of the same card, where the log shows its share and does not say that it serves apart."""
    share = setting(hits, "vllm_gpu_memory_utilization") or setting(hits, "gpu_memory_utilization")
    trl = uses(hits, "trl") or setting(hits, "vllm_gpu_memory_utilization") or setting(hits, "vllm_mode")
    if share is None or not trl or setting(hits, "vllm_mode") == "server":
        return []
    return [TOML.phrase("beside", share=share)]


def finding(problem: Problem, message: Message, hits: Hits, confidence: Confidence = LIKELY) -> Finding:
    """The message with the sizes that the log tells."""
    asked, total, free = (hits.get(each) for each in ("asked", "total", "free"))
    return found(
        problem,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=confidence,
        asked=asked or "more",
        total=total,
        free=free,
        knobs=joined((training_knobs(hits), *_beside(hits))),
    )
