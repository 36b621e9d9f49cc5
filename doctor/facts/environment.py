"""Environment variables as the launched command would see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from doctor.base.record import record

#: names and prefixes that the stack reads; nothing else of the environment is kept
NAMES = frozenset({
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "VIRTUAL_ENV", "RANK",
    "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "TOKENIZERS_PARALLELISM", "TMPDIR", "HOME", "HOSTNAME", "KUBERNETES_SERVICE_HOST", "http_proxy", "https_proxy",
    "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "ALL_PROXY", "CC", "CXX", "HYDRA_FULL_ERROR",
    "MAX_JOBS", "LANG",
})  # fmt: skip
PREFIXES = (
    "CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "TORCH", "PYTORCH_", "HF_", "HUGGING", "TRANSFORMERS_", "DATASETS_",
    "VLLM_", "DS_", "DEEPSPEED_", "ACCELERATE_", "FSDP_", "WANDB_", "MLFLOW_", "TRACKIO_", "RAY_", "SLURM_", "OMP_",
    "MKL_", "OMPI_", "PMI_", "TRITON_", "CONDA_", "MODELSCOPE_", "UCX_", "FLASH", "BNB_", "TRL_", "OPENAI_", "XDG_",
    "USE_", "PET_",
)  # fmt: skip


@record
class Environment:
    """Variables of interest; `from_command` names those that the launch command itself sets."""

    variables: Mapping[str, str] = field(default_factory=dict)
    from_command: tuple[str, ...] = ()

    def get(self, name: str) -> str | None:
        """Value of a variable, None when unset."""
        return self.variables.get(name)

    def flag(self, name: str) -> bool:
        """Whether a variable is set to something that means yes."""
        return (self.variables.get(name) or "").strip().lower() in {"1", "true", "yes", "on"}
