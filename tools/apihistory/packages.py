"""Which libraries are read, from which release on, and how finely."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import Version


@dataclass(frozen=True)
class Library:
    """A distribution whose names are followed.

    Args:
        name: of the distribution, as pip spells it.
        since: first release that is read.
        module: the package that it installs.
        every: which releases are read: "release" all, "minor" the last patch of each minor (and the first release of
            the span; calendar versions: of each month).
        also: further releases, where those are too far apart.
        outline: pattern of paths of which only the outline is read: definitions and imports, not what is in classes.
        internal: pattern of modules of which the tables hold only what other libraries import; `outline` counts too.
        members: pattern of those other modules whose classes and functions are followed; "" all.
        closed: modules of which running code makes no name that is gone later (somebody read them); no name of
            such a library is taken to have come with a release, for compiled modules may have given it before.

    """

    name: str
    since: str
    module: str = ""
    every: str = "release"
    also: tuple[str, ...] = ()
    outline: str = ""
    internal: str = ""
    members: str = ""
    closed: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """Name under which it is imported."""
        return self.module or self.name.replace("-", "_")

    def is_internal(self, module: str) -> bool:
        """Whether other code rarely imports from a module."""
        path = f"{module.replace('.', '/')}/"
        return bool(
            (self.outline and re.match(self.outline, path)) or (self.internal and re.match(self.internal, module))
        )

    def follows_members(self, module: str) -> bool:
        """Whether attributes and parameters of a module's classes and functions are followed."""
        return not self.is_internal(module) and (not self.members or re.match(self.members, module) is not None)

    def chosen(self, versions: Sequence[Version]) -> list[Version]:
        """Releases to be read, oldest first."""
        wanted = sorted(each for each in versions if each >= Version(self.since))
        if self.every == "release":
            return wanted
        last = {each.release[:2]: each for each in wanted}
        named = {Version(each) for each in self.also}
        return sorted({*last.values(), *wanted[-1:], *(each for each in wanted if each in named)})


#: model families whose attention and caches other code reads or copies; of the others an outline is enough
_READ_WHOLE = r"auto|llama|qwen\w*|mistral|mixtral|gemma\w*|phi3|gpt2|gpt_neox|deepseek_v\d|bert|opt|llava\w*|idefics\d"
#: what is kept of vLLM: the parts that trainers, servers and patches import
_VLLM = (
    r"vllm$|vllm\.(utils|sampling_params|outputs|inputs|config|engine|executor|worker|lora|sequence|platforms|logger|envs|"
    r"forward_context|transformers_utils|distributed$|distributed\.(parallel_state|utils|weight_transfer)|entrypoints$|"
    r"entrypoints\.(llm|api_server|chat_utils|utils|openai$|openai\.(api_server|protocol|serving_\w+|cli_args))|"
    r"v1$|v1\.(engine|executor|outputs|request|sample$|worker$|worker\.(gpu_)?(worker|model_runner|worker_base)$))"
)
_TRANSFORMERS = (
    r"transformers\.(models$|utils\.dummy_|generation\.continuous_batching|testing_utils|agents|sagemaker|cli|tools|"
    r"pipelines\.|data\.processors|integrations\.(finegrained|tensor_par)|distributed|onnx|training_args_(tf|sm)|trainer_tf)"
)
_TRANSFORMERS_MEMBERS = (
    r"transformers\.(?!core_model|pipelines|models\.(?!(auto|llama|qwen2|qwen2_(5_)?vl|qwen3|qwen3_moe|mistral|mixtral|gemma2|"
    r"gemma3|phi3|gpt2|bert|llava)\.))"
)
_VLLM_MEMBERS = (
    r"vllm\.(sampling_params|outputs|inputs$|engine\.(arg_utils|llm_engine|async_llm_engine)|config|lora\.request|"
    r"entrypoints\.llm|v1\.engine\.(llm_engine|async_llm)$|v1\.worker\.(gpu_)?worker|worker\.worker|v1\.outputs)"
)
_RAY = (
    r"ray\.(?!(util|train|data|tune|air|actor|exceptions|runtime_context|job_submission|"
    r"util\.(placement_group|scheduling_strategies|state|queue|collective))$)"
)
_DEEPSPEED = (
    r"deepspeed\.(inference|module_inject|model_implementations|compile|profiling|autotuning|checkpoint|compression|"
    r"ops\.(?!adam|op_builder$)|runtime\.(domino|zenflow|rollout|pipe|swap_tensor|data_pipeline|tensor_parallel|superof)|"
    r"linear|launcher|nebula|elasticity|accelerator)"
)
_SGLANG = ("0.3.3", "0.3.5", "0.4.1", "0.4.2", "0.4.3", "0.4.4", "0.4.5", "0.4.6", "0.4.7", "0.4.8", "0.4.9")
_SGLANG += ("0.5.1", "0.5.2", "0.5.4", "0.5.6", "0.5.8", "0.5.10", "0.5.12", "0.5.15", "0.5.18", "0.5.20")

LIBRARIES = (
    Library("trl", "0.7.0", internal=r"trl\.experimental\.(?!ppo|kto|online_dpo|utils)\w+\."),
    Library(
        "transformers",
        "4.28.0",
        every="minor",
        outline=rf"transformers/models/(?!({_READ_WHOLE})/)",
        internal=_TRANSFORMERS,
        members=_TRANSFORMERS_MEMBERS,
    ),
    Library("peft", "0.4.0"),
    Library("accelerate", "0.20.0"),
    Library(
        "huggingface_hub",
        "0.14.0",
        every="minor",
        internal=r"huggingface_hub\.(_|cli|commands|inference|serialization|utils\._(?!hf_folder|http|errors))",
    ),
    Library("datasets", "2.10.0", every="minor"),
    Library("deepspeed", "0.9.0", internal=_DEEPSPEED),
    Library(
        "vllm",
        "0.4.0",
        outline=r"vllm/(model_executor|attention|v1/attention|compilation|kernels)/",
        internal=rf"(?!{_VLLM})",
        members=_VLLM_MEMBERS,
    ),
    Library(
        "verl",
        "0.1",
        internal=r"verl\.(models|experimental|third_party|utils\.(profiler|debug|vllm|rollout_skip|qat)|tools|interactions)",
    ),
    Library(
        "trinity-rft",
        "0.1.0",
        "trinity",
        internal=r"trinity\.(manager|explorer|buffer|data|algorithm|cli|trainer|service|plugins)",
    ),
    Library("liger-kernel", "0.1.0"),
    Library("tokenizers", "0.13.0", every="minor"),
    Library(
        "flash-attn", "2.0.0", every="minor", internal=r"flash_attn\.(cute|ops|models|flash_attn_triton_amd|utils)"
    ),
    Library("bitsandbytes", "0.39.0", every="minor"),
    Library("unsloth", "2024.8", every="minor", internal=r"unsloth\.(?!models(\.loader)?$|trainer|save|chat_)"),
    Library("unsloth_zoo", "2024.9", every="minor", internal=r"unsloth_zoo\."),
    Library(
        "ms-swift",
        "2.0.0",
        "swift",
        every="minor",
        internal=r"swift\.(megatron|ui|ray|model|llm\.(model|template|dataset|utils\.|app|export|infer\.)|template|dataset|cli)",
        members=r"swift\.(trainers\.(?!rlhf_arguments|arguments)|utils|plugin|tuners|rlhf)",
    ),
    Library("openrlhf", "0.3.0", every="minor"),
    Library("compressed-tensors", "0.5.0"),
    Library("xgrammar", "0.1.0"),
    Library("outlines", "0.0.30", every="minor"),
    Library("mistral-common", "1.3.0"),
    Library(
        "numpy",
        "1.19.0",
        every="minor",
        closed=("numpy",),
        internal=r"numpy\.(f2py|distutils|_|core\._|ma|testing|lib\._|compat|ctypeslib|typing)",
    ),
    Library(
        "pandas",
        "1.2.0",
        every="minor",
        internal=r"pandas\.(core\.(?!api|frame|series|generic|groupby|dtypes)|_|io\.|plotting|util|tseries|compat)",
    ),
    Library("pydantic", "1.8", every="minor", internal=r"pydantic\.(_internal|_migration|v1|experimental|deprecated)"),
    Library("xformers", "0.0.20"),
    Library(
        "torchao",
        "0.1",
        every="minor",
        internal=r"torchao\.(?!(quantization|float8|optim|utils|dtypes|quantization\.(quant_api|qat))$)",
    ),
    Library(
        "wandb",
        "0.15.0",
        every="minor",
        internal=r"wandb\.(proto|sdk\.(internal|launch|artifacts)|apis|automations|_|vendor|filesync|cli)",
    ),
    Library("sglang", "0.3.0", every="minor", also=_SGLANG, outline=r"sglang/(?!srt/(server_args|entrypoints))"),
    Library(
        "ray",
        "2.9.0",
        every="minor",
        outline=r"ray/(dashboard|rllib|tune|_private|autoscaler)/",
        internal=_RAY,
        members=r"ray\.(actor|util)",
    ),
)
