"""The script that makes the version knowledge: reading source and metadata, shaping, and the same output every time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
if not (TOOLS / "versiondata").is_dir():
    pytest.skip("the tools are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(TOOLS))

import build_version_data  # noqa: E402
from packaging.requirements import Requirement  # noqa: E402
from versiondata import facts, history, index, keys, metadata, trl, vllm  # noqa: E402
from versiondata.dataclass_fields import (  # noqa: E402
    Argument,
    all_fields,
    classes_of,
    deprecates,
    deprecation_in,
    replacement_in,
)

CONFIG = """
import warnings
from dataclasses import dataclass, field
from typing import ClassVar, Optional
from transformers import TrainingArguments
from ..base import Base as _Base

@dataclass
class GRPOConfig(_Base):
    kinds: ClassVar[list] = []
    required: str
    beta: float = field(default=0.04, metadata={"help": "KL coefficient."})
    stops: list = field(default_factory=lambda: ["a"])
    empty: Optional[list] = field(default_factory=list)
    hidden: int = field(init=False, default=3)
    old_name: Optional[int] = field(default=None, metadata={"help": "Deprecated: use `new_name` instead."})
    vllm_device: Optional[str] = None
    top_k: Optional[int] = 50

    def __post_init__(self):
        if self.vllm_device is not None:
            warnings.warn("`vllm_device` is deprecated and will be " "removed in version 0.18.0. Use the server.")
        if self.top_k is None:
            warnings.warn("The value `None` for `top_k` is deprecated.")
"""
BASE = "from transformers import TrainingArguments\nclass Base(TrainingArguments):\n    logging_steps: float = 10\n"


# --- source --------------------------------------------------------------------------------------------------------


def test_fields_of_a_dataclass() -> None:
    classes = classes_of({"trl/trainer/grpo_config.py": CONFIG, "trl/base.py": BASE})
    fields = all_fields(classes, "GRPOConfig")
    assert {name: each.default for name, each in fields.items()} == {
        "logging_steps": "10",
        "required": None,
        "beta": "0.04",
        "stops": "['a']",
        "empty": "[]",
        "old_name": "None",
        "vllm_device": "None",
        "top_k": "50",
    }
    assert [name for name, each in fields.items() if each.warning] == ["old_name", "vllm_device"]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("`max_seq_length` is deprecated. Use `max_length` instead.", "max_seq_length", True),
        ("The `max_prompt_length` argument is deprecated", "max_prompt_length", True),
        ("using `--fsdp_min_num_params` is deprecated. Use fsdp_config instead", "fsdp_min_num_params", True),
        ("`--a` and `--b` are deprecated", "a", True),
        ("The value `None` for `top_k` is deprecated", "top_k", False),
        ("using `EvaluationStrategy` for `eval_strategy` is deprecated", "eval_strategy", False),
        ("`torch_dtype` is deprecated, please use `dtype`", "dtype", False),
        ("`loss_type='chunked_nll'` is deprecated", "loss_type", False),
        ("`f_divergence_type` will require a string; `FDivergenceType` is deprecated", "f_divergence_type", False),
    ],
)
def test_what_a_warning_calls_deprecated(text: str, name: str, expected: bool) -> None:
    assert deprecates(text, name) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deprecated. Use `eval_strategy` instead", "eval_strategy"),
        ("Deprecated alias of `activation_checkpointing`, will be removed.", "activation_checkpointing"),
        ("Deprecated, the use of `--per_device_eval_batch_size` is preferred.", "per_device_eval_batch_size"),
        ("This argument is deprecated, use `--torch_compile_backend` instead.", "torch_compile_backend"),
        ("It is deprecated to do nothing.", None),
    ],
)
def test_replacement_in_a_help_text(text: str, expected: str | None) -> None:
    assert replacement_in(text) == expected


def test_help_that_mentions_another_deprecation_is_none() -> None:
    assert deprecation_in("When using torch.distributed.launch (Deprecated), it passes `local_rank`.") is None
    assert deprecation_in("Enable kernels. Deprecated in `SFTTrainer`.") is None


def test_trl_release_looks_through_shims_and_experimental_modules() -> None:
    release = trl.TrlRelease(
        {
            "trl/__init__.py": '_import_structure = {"trainer": ["XPOConfig", "GRPOConfig"]}',
            "trl/trainer/xpo_config.py": (
                "from ..experimental.xpo import XPOConfig as _XPOConfig\n"
                "class XPOConfig(_XPOConfig):\n    def __post_init__(self):\n        pass\n"
            ),
            "trl/experimental/xpo/xpo_config.py": "class XPOConfig(TrainingArguments):\n    alpha: float = 1e-5\n",
            "trl/trainer/grpo_config.py": CONFIG,
            "trl/base.py": BASE,
            "trl/scripts/vllm_serve.py": (
                "class ScriptArguments:\n    model: str\ndef make_parser():\n    return TrlParser(ScriptArguments)\n"
            ),
            "trl/scripts/grpo.py": (
                "def make_parser():\n    dataclass_types = (ScriptArguments, GRPOConfig)\n"
                "    return TrlParser(dataclass_types)\n"
            ),
        }
    )
    definition = release.definition("XPOConfig")
    assert definition is not None
    assert definition.module == "trl.experimental.xpo.xpo_config"
    assert release.exported("XPOConfig")
    assert release.bases_outside("GRPOConfig") == ["TrainingArguments"]
    assert release.arguments("XPOConfig") == {"alpha": Argument("1e-05")}
    assert release.commands() == {
        "vllm-serve": ["vllm_serve.ScriptArguments"],
        "grpo": ["ScriptArguments", "GRPOConfig"],
    }


def test_trainer_parameters_follow_kwargs_and_renamed_names() -> None:
    release = trl.TrlRelease(
        {
            "trl/trainer/a.py": (
                "class BaseTrainer(Trainer):\n"
                '    @deprecate_kwarg("tokenizer", new_name="processing_class", version="1")\n'
                "    def __init__(self, model, processing_class=None, *, seed=0): ...\n"
                "class ATrainer(BaseTrainer):\n    def __init__(self, extra=1, **kwargs): ...\n"
                "class BTrainer(BaseTrainer):\n    def __init__(self, only): ...\n"
            )
        }
    )
    assert set(release.arguments("ATrainer")) == {"model", "processing_class", "seed", "tokenizer", "extra"}
    assert replacement_in(release.arguments("ATrainer")["tokenizer"].warning or "") == "processing_class"
    assert set(release.arguments("BTrainer")) == {"only"}


def test_vllm_flags_come_from_calls_tables_and_the_front_end() -> None:
    sources = {
        "vllm/engine/arg_utils.py": (
            "class EngineArgs:\n    model: str = 'm'\n    max_model_len: int | None = None\n"
            "    @staticmethod\n    def add(parser):\n        parser.add_argument('--max-model-len', '-l')\n"
            "        for flag, kind in [('--guided-decoding-backend', str)]:\n            parser.add_argument(flag)\n"
            "class AsyncEngineArgs(EngineArgs):\n    quiet: bool = False\n"
        ),
        "vllm/entrypoints/openai/cli_args.py": "class FrontendArgs:\n    api_key: str | None = None\n",
    }
    assert set(vllm.engine_arguments(sources)) == {"model", "max_model_len", "quiet"}
    assert set(vllm.serve_flags(sources)) == {"max_model_len", "guided_decoding_backend", "api_key"}


# --- configuration keys --------------------------------------------------------------------------------------------


def test_hydra_defaults_are_composed() -> None:
    root = "verl/trainer/config/"
    folder = keys.HydraFolder(
        {
            root + "ppo_trainer.yaml": (
                "defaults:\n  - model_engine: dp\n  - actor@act.actor: ${model_engine}_actor\n  - _self_\n"
                "act:\n  timeout: 600\nextra: {}\n"
            ),
            root + "mega.yaml": "defaults:\n  - ppo_trainer\n  - override model_engine: mega\n  - _self_\n",
            root + "model_engine/dp.yaml": "# @package _global_\nmodel_engine: dp\n",
            root + "model_engine/mega.yaml": "# @package _global_\nmodel_engine: mega\n",
            root + "actor/dp_actor.yaml": (
                "defaults:\n  - ../optim@optim: sgd\n  - actor\n  - _self_\n_target_: a.B\nstrategy: fsdp\n"
            ),
            root + "actor/mega_actor.yaml": "defaults:\n  - actor\n  - _self_\nstrategy: mega\n",
            root + "actor/actor.yaml": "strategy: ???\nclip: 0.2\nref: ${oc.select:a.b,1}\n",
            root + "optim/sgd.yaml": "lr: 1e-6\nbetas: [0.9, 0.99]\nwarmup: null\n",
        }
    )
    found = dict(keys.leaves(folder.compose("ppo_trainer")))
    assert found == {
        "model_engine": ["str", "dp"],
        "act.actor.optim.lr": ["float", 1e-6],
        "act.actor.optim.betas": ["list", [0.9, 0.99]],
        "act.actor.optim.warmup": ["null", None],
        "act.actor.strategy": ["str", "fsdp"],
        "act.actor.clip": ["float", 0.2],
        "act.actor.ref": ["interpolation", "${oc.select:a.b,1}"],
        "act.timeout": ["int", 600],
        "extra": ["dict", {}, True],
    }
    mega = dict(keys.leaves(folder.compose("mega")))
    assert mega["act.actor.strategy"] == ["str", "mega"]
    assert mega["model_engine"] == ["str", "mega"]
    assert dict(keys.leaves(folder.compose("ppo_trainer", {"model_engine": "mega"}))) == mega
    assert folder.options("model_engine") == ["dp", "mega"]


def test_trinity_dataclasses() -> None:
    classes = keys.trinity_classes(
        "@dataclass\nclass Config:\n    mode: str = 'both'\n"
        "    model: ModelConfig = field(default_factory=ModelConfig)\n"
        "    extra: Optional[dict] = None\n    stages: List[Stage] = field(default_factory=list)\n"
        "    kind: Kind = Kind.A\n    def check(self): ...\n"
        "@dataclass\nclass ModelConfig:\n    path: str = ''\n"
        "@dataclass\nclass Stage:\n    model: Optional[ModelConfig] = None\n"
        "@dataclass\nclass Unreached:\n    x: int = 1\n"
    )
    assert classes == {
        "Config": {
            "mode": ["str", "both"],
            "model": ["ModelConfig", "", "ModelConfig"],
            "extra": ["Optional[dict]", None, True],
            "stages": ["List[Stage]", "list", "Stage"],
            "kind": ["Kind", "Kind.A"],
        },
        "ModelConfig": {"path": ["str", ""]},
        "Stage": {"model": ["Optional[ModelConfig]", "", "ModelConfig"]},
    }


# --- metadata ------------------------------------------------------------------------------------------------------

METADATA = """Metadata-Version: 2.1
Name: x
Requires-Python: >=3.10
Requires-Dist: torch (==2.4.0)
Requires-Dist: nvidia-cublas-cu12==12.1.3.1; platform_system == "Linux"
Requires-Dist: nvidia-cuda-runtime-cu12==12.1.105
Requires-Dist: left-pad>=1
Requires-Dist: Flash_Attn>=2; extra == "fast"
Requires-Dist: vllm<1,>=0.8; python_version < "3.13" and extra == "vllm"
Requires-Dist: trl; extra == "dev-torch"
Requires-Dist: what is this

A description: Requires-Dist: numpy
"""


def test_requirements_of_interest() -> None:
    found = metadata.requirements(METADATA)
    assert metadata.of_interest(found) == [
        'Flash_Attn>=2; extra == "fast"',
        'nvidia-cublas-cu12==12.1.3.1; platform_system == "Linux"',
        "nvidia-cuda-runtime-cu12==12.1.105",
        "torch==2.4.0",
        'vllm<1,>=0.8; python_version < "3.13" and extra == "vllm"',
    ]
    assert metadata.requires_python(METADATA) == ">=3.10"
    assert metadata.specifier(found, "vllm") is None
    assert metadata.specifier(found, "vllm", "vllm") == "<1,>=0.8"
    assert metadata.pin_of(found, "nvidia-cublas") == "==12.1.3.1"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["nvidia-cuda-runtime-cu12==12.6.77"], "12.6"),
        (['cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"'], "13.0"),
        (["numpy"], None),
    ],
)
def test_cuda_of_a_torch_wheel(lines: list[str], expected: str | None) -> None:
    assert metadata.torch_cuda(Requirement(line) for line in lines) == expected


def test_requires_txt_of_an_old_source_archive() -> None:
    lines = index._requires_lines('torch\nnumpy<2\n\n[fast]\nninja\n\n[:python_version < "3.11"]\ntomli\n')
    assert lines == [
        "Requires-Dist: torch",
        "Requires-Dist: numpy<2",
        'Requires-Dist: ninja; extra == "fast"',
        'Requires-Dist: tomli; (python_version < "3.11")',
    ]
    assert [Requirement(line.removeprefix("Requires-Dist: ")).name for line in lines][-1] == "tomli"


def test_index_pages_in_both_forms_say_the_same() -> None:
    html = (
        '<!DOCTYPE html><a href="../../p/vllm-0.33.0%2Bcpu-cp38-abi3-manylinux_2_28_x86_64.whl#sha256=ab" '
        'data-requires-python="&gt;=3.11" data-upload-time="2026-11-02T10:13:18Z" data-yanked="broken">x</a>'
    )
    (entry,) = index.entries_of_page(html.encode(), "text/html", "https://index.example/simple/vllm/")
    assert entry["url"] == "https://index.example/p/vllm-0.33.0%2Bcpu-cp38-abi3-manylinux_2_28_x86_64.whl"
    as_json = json.dumps({"files": [entry]}).encode()
    assert index.entries_of_page(as_json, "application/vnd.pypi.simple.v1+json", "") == [entry]
    file = index._file(entry)
    assert file is not None
    assert (str(file.version), file.requires_python) == ("0.33.0+cpu", ">=3.11")
    assert (file.uploaded, file.yanked, file.is_wheel) == ("2026-11-02", True, True)
    assert index._file({"filename": "readme.txt", "url": "x"}) is None


def test_offline_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(index.OfflineError, match=r"index/trl\.json is not in the cache"):
        index.Index(tmp_path, offline=True).versions("trl", "1.0")


# --- shaping -------------------------------------------------------------------------------------------------------


def test_columns_and_spans() -> None:
    assert history.column([("1", None), ("2", "a"), ("3", "a"), ("4", None)]) == [["2", "a"], ["4", None]]
    order = ["1", "2", "3", "4"]
    assert history.spans_of(["1", "3", "4"], order) == [["1", "1"], ["3", None]]
    assert facts.within([["1.0", 7]], ["0.9", "1.0", "1.5", "3.0"], "1.0", "2.0") == [["1.0", 7], ["3.0", None]]


def test_argument_history() -> None:
    old, new = Argument("1"), Argument("2", warning="Deprecated. Use `other` instead")
    per_version = {
        "1": {"a": old, "kept": old},
        "2": {"a": new, "kept": old, "other": old},
        "3": {"other": old, "kept": old},
        "4": None,
    }
    found = history.argument_histories(per_version, {"kept": {"note": "words"}}, frozenset({"kept"}))
    assert found["a"] == {
        "spans": [["1", "2"]],
        "defaults": [["1", "1"], ["2", "2"]],
        "removed_in": "3",
        "deprecated_in": "2",
        "replacement": "other",
    }
    assert found["other"] == {"spans": [["2", "3"]], "defaults": [["2", "1"]]}  # left with its class
    assert found["kept"] == {"spans": [["1", "3"]], "defaults": [["1", "1"]], "inherited": True, "note": "words"}


def test_a_replacement_that_is_no_argument_is_dropped() -> None:
    gone = Argument("1", warning="Deprecated. Use `CPOTrainer` instead")
    found = history.argument_histories({"1": {"a": gone}}, {})
    assert found["a"]["deprecated_in"] == "1"
    assert "replacement" not in found["a"]


@pytest.mark.parametrize("name", ["releases", "trl_args", "vllm", "verl_keys", "trinity_keys", "meta"])
def test_shipped_files_are_in_the_form_that_the_script_writes(name: str) -> None:
    text = (build_version_data.DATA / f"{name}.json").read_text(encoding="utf-8")
    assert build_version_data.text_of(json.loads(text)) == text


def test_overlay_is_the_hand_kept_file() -> None:
    shipped = json.loads((build_version_data.DATA / "overlay.json").read_text(encoding="utf-8"))
    assert shipped["rules"] == build_version_data.seed("overlay")["rules"]


def test_command_line_errors_are_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_version_data.main(["--cache", str(tmp_path), "--offline"]) == 2
    assert "is not in the cache" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        build_version_data.main(["--cache", str(tmp_path), "--offline", "--only", "nothing"])
    assert "no file 'nothing'" in capsys.readouterr().err
