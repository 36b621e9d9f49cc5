"""What frameworks call the settings that mean the same everywhere: one vocabulary, for laws that hold of any of them.

TRL's own classes are judged by checks that know their releases, and are not in this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record


@record
class Key:
    """One setting that carries a meaning.

    Args:
        name: the framework's own, in full; a dotted one also as the end of a longer name.
        needs: setting that must be on for it to be used; "" for none.
        by_default: whether that setting is on where nobody set it.

    """

    name: str
    needs: str = ""
    by_default: bool = False


@record
class Dialect:
    """The words of one framework; names are those of the sources beside the table.

    Args:
        program: the framework as people write it.
        learning_rate: of the trained policy.
        kl_coef: weight of the divergence from the reference model; of preference losses, their `beta`.
        group_size: answers to each prompt of a step.
        temperature, top_k, samples, greedy: how answers are sampled; the last two switch sampling on, and off.
        completion: tokens that an answer may have.
        tensor_parallel: GPUs that share one copy of the model in the engine.
        memory_share: part of a GPU's memory that vLLM takes.
        teacher: another model that scores the answers by itself, whatever the rest of their group is worth.
        optimizer: its name, or switches that put another one in its place.
        method: settings that name the algorithm, `otherwise` the one that runs where nobody set them, "" where that
            cannot be told.
        adapter: settings that turn an adapter on, by a rank above 0, a name, or a switch; `always` where one is
            trained unless they name another way.

    """

    program: str
    learning_rate: tuple[Key, ...] = ()
    kl_coef: tuple[Key, ...] = ()
    group_size: tuple[Key, ...] = ()
    temperature: tuple[Key, ...] = ()
    top_k: tuple[Key, ...] = ()
    samples: tuple[Key, ...] = ()
    greedy: tuple[Key, ...] = ()
    completion: tuple[Key, ...] = ()
    tensor_parallel: tuple[Key, ...] = ()
    memory_share: tuple[Key, ...] = ()
    teacher: tuple[Key, ...] = ()
    optimizer: tuple[Key, ...] = ()
    method: tuple[str, ...] = field(default_factory=tuple)
    otherwise: str = ""
    adapter: tuple[str, ...] = field(default_factory=tuple)
    always: bool = False


#: what a setting of a run can mean: the fields of `Dialect` that hold keys
MEANINGS = (
    "learning_rate", "kl_coef", "group_size", "temperature", "top_k", "samples", "greedy", "completion",
    "tensor_parallel", "memory_share", "teacher",
)  # fmt: skip


def _keys(*names: str) -> tuple[Key, ...]:
    """Keys that nothing else must turn on; the first that is written counts."""
    return tuple(map(Key, names))


_ACTOR, _ROLLOUT = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
_SKYRL, _SAMPLING = "trainer.algorithm.", "generator.sampling_params."

#: framework, as `doctor.facts.framework_config` names it, or "verl", "swift", "trinity" -> its words
DIALECTS: Mapping[str, Dialect] = {
    # https://github.com/volcengine/verl/blob/b178a3cd56f58b2d502255daba591e92833930a7/verl/trainer/config
    "verl": Dialect(
        "veRL",
        optimizer=_keys(_ACTOR + "optim.optimizer"),
        learning_rate=_keys(_ACTOR + "optim.lr"),
        kl_coef=(
            Key(_ACTOR + "kl_loss_coef", _ACTOR + "use_kl_loss"),
            Key("algorithm.kl_ctrl.kl_coef", "algorithm.use_kl_in_reward"),
        ),
        group_size=_keys(_ROLLOUT + "n"),
        temperature=_keys(_ROLLOUT + "temperature"),
        top_k=_keys(_ROLLOUT + "top_k"),
        samples=_keys(_ROLLOUT + "do_sample"),
        completion=_keys("data.max_response_length"),
        memory_share=_keys(_ROLLOUT + "gpu_memory_utilization"),
        method=("algorithm.adv_estimator",),
        otherwise="gae",
        adapter=("actor_rollout_ref.model.lora_rank",),
    ),
    # https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/arguments/rlhf_args.py
    # https://github.com/modelscope/ms-swift/blob/v4.5.2/swift/rlhf_trainers/args_mixin.py
    "swift": Dialect(
        "ms-swift",
        optimizer=_keys("optim", "optimizer"),
        learning_rate=_keys("learning_rate"),
        kl_coef=_keys("beta", "kl_coef"),
        group_size=_keys("num_generations"),
        temperature=_keys("temperature"),
        top_k=_keys("top_k"),
        completion=_keys("max_completion_length"),
        tensor_parallel=_keys("vllm_tensor_parallel_size"),
        teacher=_keys("teacher_model", "teacher_model_server"),
        method=("rlhf_type",),
        adapter=("tuner_type", "train_type", "sft_type"),
        always=True,
    ),
    # https://github.com/hiyouga/LlamaFactory/tree/ff6d4d12eeb035d6ce06805a5733dd7b29f2ac30/src/llamafactory/hparams
    "llamafactory": Dialect(
        "LLaMA-Factory",
        optimizer=_keys("optim", "use_muon", "use_galore", "use_apollo", "use_badam"),
        learning_rate=_keys("learning_rate"),
        kl_coef=_keys("pref_beta"),
        temperature=_keys("temperature"),
        top_k=_keys("top_k"),
        samples=_keys("do_sample"),
        completion=_keys("max_new_tokens"),
        method=("stage",),
        otherwise="sft",
        adapter=("finetuning_type",),
        always=True,
    ),
    # https://github.com/OpenRLHF/OpenRLHF/blob/3c3be6234e0cb353e76bb8019947db9dfe99fca7/openrlhf/cli/train_ppo_ray.py
    # https://github.com/OpenRLHF/OpenRLHF/blob/v0.8.5/openrlhf/cli/train_ppo_ray.py
    "openrlhf": Dialect(
        "OpenRLHF",
        optimizer=_keys("actor.optim", "optim"),
        learning_rate=_keys("actor.adam.lr", "actor_learning_rate", "adam.lr", "learning_rate"),
        kl_coef=_keys("algo.kl.init_coef", "init_kl_coef", "model.beta", "beta"),
        group_size=_keys("rollout.n_samples_per_prompt", "n_samples_per_prompt"),
        temperature=_keys("rollout.temperature", "temperature"),
        completion=_keys("rollout.max_new_tokens", "generate_max_len"),
        tensor_parallel=_keys("vllm.tensor_parallel_size", "vllm_tensor_parallel_size"),
        memory_share=_keys("vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"),
        method=("algo.advantage.estimator", "advantage_estimator"),
        otherwise="gae",
        adapter=("ds.lora.rank", "lora_rank"),
    ),
    # https://github.com/NovaSky-AI/SkyRL/blob/a9564572eb8e91076be43c1bd5e4615e3de17265/skyrl/train/config/config.py
    "skyrl": Dialect(
        "SkyRL",
        learning_rate=_keys("trainer.policy.optimizer_config.lr"),
        kl_coef=(Key(_SKYRL + "kl_loss_coef", _SKYRL + "use_kl_loss", by_default=True),),
        group_size=_keys("generator.n_samples_per_prompt"),
        temperature=_keys(_SAMPLING + "temperature"),
        top_k=_keys(_SAMPLING + "top_k"),
        completion=_keys(_SAMPLING + "max_generate_length"),
        tensor_parallel=_keys(
            "generator.inference_engine.tensor_parallel_size", "generator.inference_engine_tensor_parallel_size"
        ),
        memory_share=_keys("generator.inference_engine.gpu_memory_utilization", "generator.gpu_memory_utilization"),
        method=(_SKYRL + "advantage_estimator",),
        otherwise="grpo",
        adapter=("trainer.policy.model.lora.rank",),
    ),
    # https://github.com/THUDM/slime/blob/624b824a898ab0ec1fcb4d373004c7f3852bf515/slime/utils/arguments.py
    "slime": Dialect(
        "slime",
        optimizer=_keys("optimizer"),
        learning_rate=_keys("lr"),
        kl_coef=(Key("kl_loss_coef", "use_kl_loss"), Key("kl_coef")),
        group_size=_keys("n_samples_per_prompt"),
        temperature=_keys("rollout_temperature"),
        top_k=_keys("rollout_top_k"),
        completion=_keys("rollout_max_response_len"),
        teacher=_keys("use_opd"),
        method=("advantage_estimator",),
        otherwise="grpo",
    ),
    # https://github.com/inclusionAI/AReaL/blob/4aef98d8d818af55b43621aaadba047ae10f4e77/areal/api/cli_args.py
    "areal": Dialect(
        "AReaL",
        optimizer=_keys("actor.optimizer.type"),
        learning_rate=_keys("actor.optimizer.lr"),
        kl_coef=_keys("actor.kl_ctl"),
        group_size=_keys("gconfig.n_samples"),
        temperature=_keys("gconfig.temperature"),
        top_k=_keys("gconfig.top_k"),
        greedy=_keys("gconfig.greedy"),
        completion=_keys("gconfig.max_new_tokens"),
        memory_share=_keys("vllm.gpu_memory_utilization"),
        otherwise="ppo",  # what stands below `actor` and `gconfig` is for nothing else
        adapter=("actor.use_lora",),
    ),
    # https://github.com/NVIDIA-NeMo/RL/tree/7ea279abfbeb698b092856d0dab61e7cf39bc909/examples/configs
    "nemo_rl": Dialect(
        "NeMo-RL",
        optimizer=_keys("policy.optimizer.name"),
        learning_rate=(
            Key("policy.megatron_cfg.optimizer.lr", "policy.megatron_cfg.enabled"),
            Key("policy.optimizer.kwargs.lr"),
        ),
        kl_coef=_keys("loss_fn.reference_policy_kl_penalty", "dpo.reference_policy_kl_penalty"),
        group_size=_keys("grpo.num_generations_per_prompt"),
        temperature=_keys("policy.generation.temperature"),
        top_k=_keys("policy.generation.top_k"),
        completion=_keys("policy.generation.max_new_tokens"),
        tensor_parallel=_keys("policy.generation.vllm_cfg.tensor_parallel_size"),
        memory_share=_keys("policy.generation.vllm_cfg.gpu_memory_utilization"),
        method=("grpo.adv_estimator.name",),
        adapter=("policy.dtensor_cfg.lora_cfg.enabled", "policy.megatron_cfg.peft.enabled"),
    ),
    # https://github.com/PrimeIntellect-ai/prime-rl/tree/559b44772e471d1538537b8805cc77f3824a5e64/packages/prime-rl-configs
    "prime_rl": Dialect(
        "prime-rl",
        optimizer=_keys("optim.type"),
        learning_rate=_keys("optim.lr"),
        temperature=_keys("train.sampling.temperature"),
        completion=_keys("train.sampling.max_completion_tokens"),
        memory_share=_keys("inference.gpu_memory_utilization"),
        adapter=("model.lora.rank",),
    ),
    # https://github.com/axolotl-ai-cloud/axolotl/tree/067b021c8b87a9e5e380b9173c704cf7340e30f5/src/axolotl/utils/schemas
    "axolotl": Dialect(
        "Axolotl",
        optimizer=_keys("optimizer"),
        learning_rate=_keys("learning_rate"),
        kl_coef=_keys("trl.beta", "rl_beta"),
        group_size=_keys("trl.num_generations"),
        temperature=_keys("trl.temperature"),
        top_k=_keys("trl.top_k"),
        completion=_keys("trl.max_completion_length"),
        memory_share=_keys("vllm.gpu_memory_utilization"),
        method=("rl",),
        otherwise="sft",
        adapter=("adapter",),
    ),
    # https://github.com/oumi-ai/oumi/tree/d8ed07778d7931565798ad45a859cafb54d4fc58/src/oumi/core/configs/params
    "oumi": Dialect(
        "Oumi",
        optimizer=_keys("training.optimizer"),
        learning_rate=_keys("training.learning_rate"),
        group_size=_keys("training.grpo.num_generations"),
        temperature=_keys("training.grpo.temperature"),
        completion=_keys("training.grpo.max_completion_length"),
        memory_share=_keys("training.grpo.vllm_gpu_memory_utilization"),
        method=("training.trainer_type",),
        adapter=("training.use_peft",),
    ),
}

#: how a run learns: from its own samples, from pairs of answers, from demonstrations
SAMPLES, PAIRS, DEMONSTRATIONS = "samples", "pairs", "demonstrations"
#: algorithms whose advantage is the difference to the other answers to the same prompt
OF_GROUPS = frozenset((
    "grpo", "trl_grpo", "verl_grpo", "dr_grpo", "group_norm", "gspo", "rloo", "reinforce_baseline", "grpo_passk",
    "grpo_vectorized", "opo", "reinforce_plus_plus_baseline",
))  # fmt: skip
#: algorithms, in the words of the frameworks -> how they learn
LEARNS_FROM: Mapping[str, str] = {
    **dict.fromkeys(OF_GROUPS, SAMPLES),
    **dict.fromkeys(("gae", "ppo", "reinforce", "reinforce_plus_plus", "reinforce++", "remax", "cispo"), SAMPLES),
    **dict.fromkeys(("dpo", "trl_dpo", "kto", "trl_kto", "orpo", "simpo", "cpo", "ipo"), PAIRS),
    **dict.fromkeys(("sft", "pt", "trl_sft"), DEMONSTRATIONS),
}
