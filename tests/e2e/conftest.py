"""What the end-to-end tests share: a machine of eight H100 and the sample run with its environment."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.homes import made_once
from tests.nvml import build_standin, scenario_env, shared_directory

from .environments import complete, environment_of, lay, report_of, site_packages_of

#: an HGX board with the driver that CUDA 13 wheels need
H100 = "include = h100x8.ini\n[system]\ndriver = 580.65.06\ncuda = 13000\n"
STACK = (
    "trl==1.16.0", "vllm==0.31.0", "transformers==5.17.0", "accelerate==1.15.0", "peft==0.21.2", "datasets==5.2.0",
    "numpy==2.2.6",
)  # fmt: skip
MODEL = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864,
    "num_attention_heads": 14, "num_key_value_heads": 2, "num_hidden_layers": 24, "vocab_size": 151936,
    "max_position_embeddings": 32768, "torch_dtype": "bfloat16", "tie_word_embeddings": True,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """The sample run in a folder of its own, on a machine with eight H100."""

    folder: Path
    env: dict[str, str]

    def check(self, *options: str, command: str = "accelerate launch --config_file zero2.yaml train_grpo.py") -> Any:
        """The JSON report of `doctor check -- command` here."""
        return report_of(*options, "--", *command.split(), cwd=self.folder, env=self.env)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the published metadata of a stack that fits together, and of what it requires; its `bin`.

    All workers share it: no test changes it.
    """
    return made_once(shared_directory(tmp_path_factory), "stack", _make_stack) / "env" / "bin"


def _make_stack(folder: Path) -> None:
    python = environment_of(folder / "env", *STACK)
    site = site_packages_of(python)
    # torch's index entry here may be a local CPU build, and DeepSpeed publishes no wheel: what their metadata say
    lay(site, {"metadata_version": "2.1", "name": "torch", "version": "2.13.0", "requires_python": ">=3.10"})
    requires = ["torch", "packaging>=20.0"]
    lay(site, {"metadata_version": "2.1", "name": "deepspeed", "version": "0.19.8", "requires_dist": requires})
    complete(site)
    for name in ("torch", "trl", "vllm", "transformers", "accelerate", "peft", "datasets", "deepspeed", "numpy"):
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("")
    (site / "torch" / "version.py").write_text("__version__ = '2.13.0'\ncuda = '13.0'\nhip = None\n")
    (site / "vllm" / "_version.py").write_text("")
    (site / "vllm" / "_C.abi3.so").write_text("")
    programs = {"accelerate": "accelerate.commands.accelerate_cli", "vllm": "vllm.entrypoints.cli.main"}
    for program, module in programs.items():
        script = python.parent / program
        script.write_text(f"#!{python}\nfrom {module} import main\nmain()\n")
        script.chmod(0o755)


@pytest.fixture
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in for NVML, compiled once for all workers."""
    return build_standin(shared_directory(tmp_path_factory))


def write_model(folder: Path, **changes: object) -> None:
    """A model folder as `save_pretrained` leaves it, without weights."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**MODEL, **changes}))
    tokenizer = {
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "chat_template": "{% for message in messages %}{{ message.content }}{% endfor %}",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer.json").write_text("{}")


@pytest.fixture
def sample_run(stack: Path, nvml_folder: Path, samples: Path, tmp_path: Path) -> Any:
    """A function that lays out the sample run: `sample_run("mended")`."""

    def make(kind: str) -> Run:
        folder = tmp_path / kind
        shutil.copytree(samples / "run" / kind, folder)
        write_model(folder / "model")
        env = scenario_env(nvml_folder, H100)
        env |= {name: os.environ[name] for name in ("HOME", "HF_HOME", "XDG_STATE_HOME")}
        return Run(folder, {**env, "PATH": f"{stack}:{env['PATH']}"})

    return make
