"""What is shipped about well-known models, and how several sources are made one."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from doctor.data.models import known_model
from doctor.facts.model import Model
from doctor.readers.files.model_files import well_known
from doctor.sizing.architecture import shape_of

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "doctor" / "data" / "models.jsonl"
DTYPES = {"bfloat16", "float16", "float32", "float8_e4m3fn"}


def lines() -> tuple[dict, list[dict]]:
    header, *entries = map(json.loads, TABLE.read_text(encoding="utf-8").splitlines())
    return header, entries


@pytest.fixture
def agree() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("modeldata.agree")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.mark.parametrize(
    ("name", "dtype", "parameters", "heads", "kv_heads"),
    [
        ("Qwen/Qwen2.5-7B", "bfloat16", 7_615_616_512, 28, 4),
        ("meta-llama/Llama-3.1-8B-Instruct", "bfloat16", 8_030_261_248, 32, 8),
        ("Qwen/Qwen3-8B", "bfloat16", 8_190_735_360, 32, 8),
        ("openai/gpt-oss-20b", "bfloat16", 20_914_757_184, 64, 8),
    ],
)
def test_models_that_people_train(name: str, dtype: str, parameters: int, heads: int, kv_heads: int) -> None:
    found = well_known(name)
    assert isinstance(found, Model)
    assert (found.torch_dtype, found.parameters, found.attention_heads, found.kv_heads) == (
        dtype, parameters, heads, kv_heads,
    )  # fmt: skip
    assert not found.here
    assert found.stated_in.startswith("https://github.com/")
    assert (found.has_chat_template, found.missing_weights, found.weight_bytes) == (None, (), None)


def test_every_entry_is_found_by_its_name_and_holds_what_is_judged() -> None:
    header, entries = lines()
    assert len(entries) > 200
    for entry in entries:
        known = known_model(entry["id"].upper())
        assert known is not None
        assert known.name == entry["id"]
        assert known.sources, entry["id"]
        model = well_known(entry["id"])
        assert model is not None
        assert model.layers, entry["id"]
        assert model.hidden_size, entry["id"]
        assert model.attention_heads, entry["id"]
        assert model.torch_dtype in {None, *DTYPES}, entry["id"]
        if known.parameters is not None:
            assert shape_of(known.config).parameters == known.parameters
    assert all(address.startswith("https://github.com/") for address in header["sources"])


def test_several_families_are_there_with_their_dtype() -> None:
    _, entries = lines()
    stated = {each["id"] for each in entries if "torch_dtype" in json.dumps(each["config"])}
    for family in ("Qwen/Qwen2", "Qwen/Qwen2.5", "Qwen/Qwen3", "Qwen/Qwen3.5", "Qwen/Qwen2.5-VL", "Qwen/Qwen3-VL",
                   "meta-llama/", "mistralai/", "google/gemma-", "deepseek-ai/", "microsoft/Phi", "zai-org/GLM",
                   "internlm/", "HuggingFaceTB/SmolLM2", "openai/gpt-oss"):  # fmt: skip
        assert any(name.startswith(family) for name in stated), family


@pytest.mark.parametrize(
    "name", ["", '"', "Qwen/Qwen2.5-7", "Qwen", "./Qwen/Qwen2.5-7B", "a\nb", "sources", "x" * 5000]
)
def test_no_name_but_a_whole_one_is_found(name: str) -> None:
    assert known_model(name) is None


def test_sources_that_differ_leave_nothing(agree: ModuleType) -> None:
    one = agree.flat({"hidden_size": 8, "torch_dtype": "bfloat16", "vocab_size": 9})
    two = agree.flat({"hidden_size": 8, "dtype": "torch.float32", "vocab_size": None})
    found, disputed = agree.agreed([("config", one), ("config", two)])
    assert (found, disputed) == ({"hidden_size": 8, "vocab_size": 9}, ["torch_dtype"])


def test_a_published_file_counts_more_than_a_table_of_another_program(agree: ModuleType) -> None:
    found, disputed = agree.agreed([("litgpt", {"vocab_size": 32}), ("config", {"vocab_size": 33})])
    assert (found, disputed) == ({"vocab_size": 33}, ["vocab_size"])


def test_a_dtype_is_never_made_up(agree: ModuleType) -> None:
    assert "torch_dtype" not in agree.flat({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})
    text = agree.flat({"text_config": {"dtype": "bfloat16", "hidden_size": 1}, "use_sliding_window": False})
    assert agree.nested(text) == {"text_config": {"torch_dtype": "bfloat16", "hidden_size": 1}}
