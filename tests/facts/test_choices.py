"""Words that settings may take, read from the sources of installed libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.fact import DoesNotApply
from doctor.facts.choices import Choices
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.readers.command.choices import collect

TRANSFORMERS = {
    "training_args.py": '''
class OptimizerNames(ExplicitEnum):
    """
    Stores the names = of the optimizers
    """

    ADAMW_TORCH = "adamw_torch"
    SGD = "sgd"  # plain


class ParallelMode(Enum):
    DISTRIBUTED = "distributed"
''',
    "trainer_utils.py": """
class SaveStrategy(ExplicitEnum):
    NO = "no"
    BEST = "best"

class SchedulerType(ExplicitEnum):
    LINEAR = "linear"
    MADE = "a" + "b"
""",
}
VLLM = {
    "config/lora.py": "MaxLoRARanks = Literal[1, 8, 16]\n",
    "config/model.py": 'ModelDType = Literal[\n    "auto",\n    "half",\n]\n',
    "model_executor/layers/quantization/__init__.py": (
        'QuantizationMethods = Literal[\n    "awq",\n    # online shorthands (see [config])\n    "fp8",\n]\n'
    ),
    "v1/attention/backends/registry.py": (
        "class AttentionBackendEnum(Enum, metaclass=_Meta):\n"
        '    FLASH_ATTN = "vllm.flash"\n    OTHER = (\n        "vllm.other"\n    )\n\n'
        "    def get_class(self):\n        pass\n"
    ),
    "tool_parsers/__init__.py": (
        '_TOOL_PARSERS_TO_REGISTER = {\n    "hermes": (\n        "hermes_tool_parser",\n        "Hermes",\n    ),\n'
        '    "granite-20b-fc": (  # name\n        "granite",\n    ),\n}\n'
    ),
    "reasoning/__init__.py": "from .a import A\n",
    "reasoning/one_parser.py": '@ReasoningParserManager.register_module("deepseek_r1")\nclass A: pass\n',
    "reasoning/two_parser.py": '@ReasoningParserManager.register_module(\n    ["qwen3", "qwen"])\nclass B: pass\n',
}
TRL = {
    "generation/vllm_generation.py": (
        "raise ValueError(f\"vllm_mode must be either 'server' or 'colocate', got '{self.mode}'.\")\n"
    ),
    "trainer/grpo_trainer.py": (
        "raise ValueError(\n    f\"Unknown importance sampling level: {self.level}. Possible values are 'token' \"\n"
        "    \"and 'sequence'.\"\n)\nother = 'word'\n"
    ),
    "scripts/grpo.py": 'def main():\n    reward_funcs_registry = {\n        "accuracy_reward": accuracy,\n    }\n',
}
TRAINING = Launch(argv=("python", "t.py"), kind="python")


def read(folder: Path, **packages: dict[str, str]) -> Choices:
    """What is told of packages with these files."""
    for package, files in packages.items():
        for name, text in files.items():
            path = folder / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return collect(Packages(modules={name: str(folder / name) for name in packages}), TRAINING)


def test_enumerations_of_words(tmp_path: Path) -> None:
    choices = read(tmp_path, transformers=TRANSFORMERS)
    assert choices.of("transformers.OptimizerNames") == ("adamw_torch", "sgd")
    assert choices.of("transformers.SaveStrategy") == ("no", "best")
    # one of its words is computed: none is told
    assert choices.of("transformers.SchedulerType") == ()


def test_lists_of_vllm(tmp_path: Path) -> None:
    choices = read(tmp_path, vllm=VLLM)
    assert choices.of("vllm.MaxLoRARanks", "vllm.possible_max_ranks") == ("1", "8", "16")
    assert choices.of("vllm.ModelDType") == ("auto", "half")
    assert choices.of("vllm.QuantizationMethods") == ("awq", "fp8")
    assert choices.of("vllm.AttentionBackendEnum") == ("FLASH_ATTN", "OTHER")
    assert choices.of("vllm.tool_call_parser") == ("hermes", "granite-20b-fc")
    assert choices.of("vllm.reasoning_parser") == ("deepseek_r1", "qwen3", "qwen")


def test_refusals_of_trl_name_what_is_allowed(tmp_path: Path) -> None:
    choices = read(tmp_path, trl=TRL)
    assert choices.of("trl.vllm_mode") == ("server", "colocate")
    assert choices.of("trl.importance_sampling_level") == ("token", "sequence")
    assert choices.of("trl.reward_funcs_registry") == ("accuracy_reward",)
    assert choices.of("trl.scale_rewards") == ()


def test_what_is_not_there_is_not_told(tmp_path: Path) -> None:
    for text in ("(8, ranks())", "(8,", "(8, 16) + MORE", "(8, *MORE)", "ranks(8)", "Literal[8] | Literal[16]"):
        assert read(tmp_path, transformers={}, vllm={"config.py": f"possible_max_ranks = {text}\n"}).words == {}, text
    assert read(tmp_path, vllm={"config.py": "\xff possible_max_ranks = (8,)  # why\n"}).words == {}
    assert read(tmp_path, vllm={"config.py": "possible_max_ranks = (8,)  # why\n"}).words != {}
    with pytest.raises(DoesNotApply):
        collect(Packages(), Launch(argv=("ls",), kind="unknown"))
