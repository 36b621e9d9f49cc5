"""To which library a file belongs, as its path tells: among what pip installs, in a checkout, in any other folder."""

from __future__ import annotations

from functools import lru_cache

from doctor.base.patterns import later

#: among what pip installs
_LIBRARY = later(r"(?:^|[\\/])(?:site-packages|dist-packages)[\\/](?P<package>[^\\/]+)")
#: the stack's own packages where they run from a checkout: a folder of theirs tells
_CHECKOUT = later(
    r"(?:^|[\\/])(?P<package>vllm(?=[\\/](?:entrypoints|engine|v1|model_executor|worker|executor|distributed|platforms|"
    r"config|utils|lora|attention|compilation|transformers_utils|device_allocator))"
    r"|verl(?=[\\/](?:trainer|workers|utils|single_controller|models|third_party|experimental|model_merger|"
    r"checkpoint_engine|tools|interactions|protocol\.py))|trl(?=[\\/](?:extras|experimental|generation)"
    r"[\\/]|[\\/]scripts[\\/](?:vllm_serve|sft|dpo|grpo|rloo)\.py)"
    r"|transformers(?=[\\/](?:models|utils|generation|integrations|trainer))"
    r"|deepspeed(?=[\\/](?:runtime|launcher|ops|comm))"
    r"|sglang(?=[\\/](?:srt|multimodal_gen|cli|lang|launch_server))|trinity(?=[\\/](?:explorer|trainer|common|buffer|"
    r"cli|manager|algorithm))|openrlhf(?=[\\/](?:trainer|cli|models|utils|datasets))"
    r"|megatron(?=[\\/](?:core|training|legacy|bridge|inference|rl)[\\/])"
    r"|slime(?=[\\/](?:backends|ray|utils|rollout)[\\/])"
    r"|areal(?=[\\/](?:api|core|engine|experimental|infra|launcher|platforms|scheduler|trainer|utils|workflow)[\\/])"
    r"|skyrl(?:_train|_gym)?(?=[\\/](?:backends|train|tinker|inference_engines|inference_servers|generators|workers|utils|"
    r"entrypoints|weight_sync|dataset|envs|trainer\.py)(?:[\\/]|$))"
    r"|roll(?=[\\/](?:distributed|pipeline|third_party|agentic|configs)[\\/])|miles(?=[\\/](?:backends|ray|rollout|utils)[\\/])"
    r"|prime_rl(?=[\\/](?:orchestrator|trainer|inference|entrypoints|configs|utils)[\\/])|(?<=[\\/]src[\\/])(?:prime_rl|oumi)"
    r"|oumi(?=[\\/](?:builders|cli|core|launcher|performance)[\\/])"
    r"|rllm(?=[\\/](?:agents|trainer|engine|rewards|tools|environments|parser|router)[\\/])"
    r"|vllm_ascend(?=[\\/](?:worker|ops|attention|patch|distributed|platform|quantization|models|core|compilation)[\\/.])"
    r"|lmdeploy(?=[\\/](?:turbomind|pytorch|serve|cli|vl|archs|lite)[\\/])"
    r"|agentlightning(?=[\\/](?:runner|trainer|verl|instrumentation|tracer|execution|algorithm|store)[\\/.])"
    r"|nemo_rl(?=[\\/](?:algorithms|models|distributed|environments|data|utils)[\\/])|rlinf(?=[\\/](?:workers|"
    r"hybrid_engines|runners|scheduler|models)[\\/])"
    r"|accelerate(?=[\\/](?:commands|utils))|peft(?=[\\/](?:tuners|utils))"
    r"|swift(?=[\\/](?:llm|cli|trainers|plugin|rlhf_trainers|megatron|arguments|pipelines|utils|tuners)[\\/])"
    r"|(?:llamafactory|llmtuner)(?=[\\/](?:train|model|data|hparams|extras|cli|launcher))"
    r"|axolotl(?=[\\/](?:cli|utils|core|monkeypatch|train|integrations)))[\\/.]"
)

#: what a library writes at run time: Unsloth's copies of TRL's trainers
#: https://github.com/unslothai/unsloth-zoo/blob/main/unsloth_zoo/compiler.py
_WRITTEN = later(r"(?:^|[\\/])(?P<package>unsloth)_compiled_\w{1,20}[\\/]")
#: a package in a checkout that bears its name, and in the folder for sources that some of them have
_DOUBLED = later(
    r"[\\/](?i:(?P<repository>vllm|verl|trl|transformers|accelerate|peft|deepspeed|sglang|unsloth|mbridge|openrlhf"
    r"|flashinfer|bitsandbytes|slime|xformers))(?:[\-_][\w.\-]{1,30})?[\\/](?:(?:src|python)[\\/])?"
    r"(?P<package>(?i:(?P=repository)))[\\/]"
)
#: packages in any folder, as `pip install --target` puts them there: told by names that no user gives to a folder, or
#: by what lies in them
_LAYOUT = later(
    r"[\\/](?P<package>(?:huggingface_hub|flash_attn|liger_kernel|unsloth_zoo|compressed_tensors|mistral_common|torchao"
    r"|xgrammar|pydantic|pydantic_core|safetensors|tensordict|flashinfer|sgl_kernel|urllib3|aiohttp|httpx|httpcore"
    r"|starlette|uvicorn|omegaconf|sklearn|scipy|torchvision|torchaudio|fsspec|pyarrow|anyio|tenacity|sentencepiece)"
    r"(?=[\\/](?!(?:examples?|tests?|benchmarks?|docs|scripts|train|run|main|demo)\b)[\w\\/]{1,300}\.py$)"
    r"|torch(?=[\\/](?:nn|optim|autograd|multiprocessing|cuda|fx|jit|ao|backends|amp|_\w{1,40}|(?:utils|distributed)"
    r"[\\/]\w{1,40})[\\/]\w|[\\/](?:_\w{1,40}|functional|serialization|storage|hub|overrides|random|distributed[\\/]"
    r"(?:distributed_c10d|rendezvous|c10d_logger|run)|utils[\\/](?:_\w{1,40}|checkpoint|cpp_extension|hooks))\.py$)"
    r"|numpy(?=[\\/](?:_core|core|lib|linalg|ma|random|f2py)[\\/])|pandas(?=[\\/](?:core|io|_libs)[\\/])"
    r"|ray(?=[\\/](?:_private|_common|_raylet|actor\.py|remote_function\.py|cloudpickle|rllib|util[\\/]client"
    r"|(?:data|train|tune|serve)[\\/]_\w{1,40})\b)|wandb(?=[\\/](?:sdk|apis|cli|proto|errors)[\\/])"
    r"|triton(?=[\\/](?:compiler|runtime|language|backends)[\\/])|hydra(?=[\\/](?:_internal|core)[\\/])"
    r"|multiprocess(?=[\\/](?:pool|process|managers|connection)\.py$)"
    r"|accelerate(?=[\\/](?:accelerator|big_modeling|local_sgd|launchers|state|data_loader)\.py$)"
    r"|peft(?=[\\/](?:peft_model|mapping(?:_func)?|mixed_model)\.py$)"
    r"|transformers(?=[\\/](?:modeling_(?:utils|outputs|layers|rope_utils|flash_attention_utils|attn_mask_utils)"
    r"|configuration_utils|tokenization_utils\w{0,12}|cache_utils|training_args|masking_utils|dynamic_module_utils"
    r"|processing_utils|image_processing_utils\w{0,12}|hf_argparser|pytorch_utils|import_utils)\.py$)"
    r"|datasets(?=[\\/](?:arrow_(?:dataset|reader|writer)|dataset_dict|iterable_dataset|fingerprint)\.py$"
    r"|[\\/](?:packaged_modules|formatting)[\\/])"
    r"|deepspeed(?=[\\/](?:zero|moe|module_inject|inference|pipe|elasticity|op_builder)[\\/])"
    r"|vllm(?=[\\/](?:multimodal|reasoning|tool_parsers|sampling_params|outputs|_custom_ops|spec_decode|compilation)\b)"
    r"|unsloth(?=[\\/](?:models[\\/](?:_utils|loader|llama|vision|rl)\w{0,20}\.py$|kernels[\\/]|import_fixes\.py$)))"
    r"[\\/.]"
)
#: one of these is in every path of which the two forms above, or the history of modules, can tell
_IN_ANY_FOLDER = (
    "vllm", "verl", "trl", "transformers", "accelerate", "peft", "deepspeed", "sglang", "unsloth", "mbridge",
    "openrlhf", "flashinfer", "bitsandbytes", "slime", "xformers", "huggingface_hub", "flash_attn", "liger_kernel",
    "compressed_tensors", "mistral_common", "torch", "xgrammar", "pydantic", "safetensors", "tensordict", "sgl_kernel",
    "urllib3", "aiohttp", "httpx", "httpcore", "starlette", "uvicorn", "omegaconf", "sklearn", "scipy", "fsspec",
    "pyarrow", "anyio", "tenacity", "sentencepiece", "numpy", "pandas", "ray", "wandb", "triton", "hydra",
    "multiprocess", "datasets", "swift", "trinity", "outlines", "tokenizers",
)  # fmt: skip
#: names of modules that anybody gives
ANYBODYS = frozenset({
    "api", "base", "cache", "callbacks", "cli", "client", "combine", "common", "config", "configs", "constants", "core",
    "data", "dataset", "datasets", "distributed", "engine", "env", "envs", "errors", "eval", "evaluate", "evaluation",
    "features", "generate", "generation", "helper", "helpers", "hooks", "hub", "inference", "info", "io", "launch",
    "launcher", "load", "loader", "logger", "logging", "loss", "losses", "main", "memory", "metric", "metrics", "model",
    "modeling", "models", "naming", "optim", "optimizer", "optimizers", "parallel", "prompt", "prompts", "reward",
    "rewards", "run", "runner", "sample", "sampler", "sampling", "script", "scripts", "search", "server", "splits",
    "state", "table", "test", "tests", "tool", "tools", "train", "trainer", "training", "types", "typing", "util",
    "utils", "version", "worker", "workers", "__init__",
})  # fmt: skip


@lru_cache(maxsize=4096)
def package_of(path: str) -> str:
    """The package that a file belongs to, "" where that is nobody's that is known."""
    match = _LIBRARY.search(path) or _CHECKOUT.search(path)
    if match is None and any(each in path for each in _IN_ANY_FOLDER):
        match = _WRITTEN.search(path) or _DOUBLED.search(path) or _LAYOUT.search(path)
        return match["package"] if match else _by_history(path)
    return match["package"].removesuffix(".py") if match else ""


def _by_history(path: str) -> str:
    """The package of which some release has just this module, where its name is not one that anybody gives."""
    from doctor.data import api

    parts = path.removesuffix(".py").replace("\\", "/").split("/")
    for place in range(len(parts) - 2, 0, -1):
        if parts[place] in api.packages():
            telling = not ANYBODYS.issuperset(parts[place + 1 :])
            return parts[place] if telling and api.has_module(".".join(parts[place:])) else ""
    return ""
