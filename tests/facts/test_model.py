"""Model folders and caches, made small by the tests themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.base.evidence import Observed
from doctor.base.fact import Context, Unavailable
from doctor.facts.environment import Environment
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.readers.files import model as model_fact
from doctor.readers.files.model_files import read

QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}


def write(folder: Path, **files: Any) -> Path:
    """A folder with JSON files (`config` becomes `config.json`)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def write_weights(path: Path, shapes: dict[str, list[int]], *, data: bytes = b"\0" * 2000) -> None:
    """A safetensors file: length of the header, the header, data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    header |= {name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)


def collected(name: str, cwd: Path, arguments: dict[str, str] | None = None, **variables: str) -> Model:
    training = Training(
        model=Observed.written("model", name),
        model_arguments={key: Observed.written(key, value) for key, value in (arguments or {}).items()},
    )
    return model_fact.collect(
        Context(("python", "t.py"), cwd=cwd), None, training, None, None, None, None, Environment(variables)
    )


# --- shapes ---


def test_fields_of_the_configuration(tmp_path: Path) -> None:
    found = read("m", write(tmp_path, config=QWEN))
    assert (found.model_type, found.architectures) == ("qwen2", ("Qwen2ForCausalLM",))
    assert (found.hidden_size, found.layers, found.attention_heads, found.kv_heads) == (896, 24, 14, 2)
    assert (found.vocab_size, found.max_position_embeddings, found.intermediate_size) == (151936, 32768, 4864)
    assert (found.torch_dtype, found.tie_word_embeddings, found.quantization) == ("bfloat16", True, None)
    assert (found.head_dim, found.experts, found.weight_bytes, found.parameters) == (None, None, None, None)
    assert found.has_chat_template is None
    assert not found.has_tokenizer


def test_a_multimodal_model_speaks_of_its_language_model(tmp_path: Path) -> None:
    config = {
        "model_type": "qwen2_5_vl",
        "dtype": "torch.bfloat16",
        "vision_config": {"hidden_size": 1280, "num_attention_heads": 16},
        "text_config": {"hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 151936},
    }
    found = read("m", write(tmp_path, config=config))
    assert (found.model_type, found.torch_dtype) == ("qwen2_5_vl", "bfloat16")
    assert (found.hidden_size, found.attention_heads, found.kv_heads, found.vocab_size) == (2048, 16, 2, 151936)


def test_a_config_within_a_config(tmp_path: Path) -> None:
    config = {"thinker_config": {"text_config": {"hidden_size": 3584}}, "model_type": "qwen2_5_omni"}
    assert read("m", write(tmp_path, config=config)).hidden_size == 3584


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        ({"n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024}, "max_position_embeddings", 1024),
        ({"n_embd": 768}, "hidden_size", 768),
        ({"num_local_experts": 8}, "experts", 8),
        ({"n_routed_experts": 64}, "experts", 64),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization", "fp8"),
        ({"quantization_config": {"load_in_4bit": True}}, "quantization", "bitsandbytes"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_factor", 4.0),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, "rope_type", "dynamic"),
        ({"head_dim": 128}, "head_dim", 128),
        ({"hidden_size": "many", "torch_dtype": 3, "architectures": "x"}, "hidden_size", None),
        ({"hidden_size": True}, "hidden_size", None),
    ],
)
def test_other_spellings(tmp_path: Path, config: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read("m", write(tmp_path, config=config)), field) == value


# --- tokenizer ---


@pytest.mark.parametrize(
    ("files", "template", "pad"),
    [
        ({"tokenizer_config": {"chat_template": "{{ x }}", "pad_token": "<pad>"}}, True, "<pad>"),
        ({"tokenizer_config": {"pad_token": None, "eos_token": "</s>"}}, False, None),
        ({"tokenizer_config": {"pad_token": {"content": "<p>"}}, "chat_template": {}}, True, "<p>"),
        ({"tokenizer_config": {}, "special_tokens_map": {"pad_token": "<q>"}}, False, "<q>"),
    ],
)
def test_templates_and_tokens(tmp_path: Path, files: dict[str, Any], template: bool, pad: str | None) -> None:
    found = read("m", write(tmp_path, config=QWEN, **files))
    assert found.has_tokenizer
    assert (found.has_chat_template, found.pad_token) == (template, pad)
    assert found.has_pad_token is (pad is not None)


def test_a_template_in_its_own_file(tmp_path: Path) -> None:
    write(tmp_path, config=QWEN, tokenizer_config={"eos_token": "<e>"})
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    found = read("m", tmp_path)
    assert (found.has_chat_template, found.eos_token) == (True, "<e>")


# --- weights ---


def test_parameters_from_a_safetensors_header(tmp_path: Path) -> None:
    write_weights(write(tmp_path, config=QWEN) / "model.safetensors", {"a": [10, 20], "b": [5], "scalar": []})
    found = read("m", tmp_path)
    assert found.parameters == 206
    assert found.weight_bytes == (tmp_path / "model.safetensors").stat().st_size


def test_parameters_from_an_index(tmp_path: Path) -> None:
    index = {"metadata": {"total_size": 2_000}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    write(tmp_path, config=QWEN, **{"model.safetensors.index": index})
    write_weights(tmp_path / "model-1.safetensors", {"a": [3]})
    found = read("m", tmp_path)
    assert found.parameters == 1000  # two bytes each in bfloat16
    assert found.missing_weights == ("model-2.safetensors",)
    index["metadata"] = {"total_size": 2_000, "total_parameters": 999}
    write(tmp_path, **{"model.safetensors.index": index})
    assert read("m", tmp_path).parameters == 999


def test_quantized_weights_are_not_counted(tmp_path: Path) -> None:
    write(tmp_path, config={**QWEN, "quantization_config": {"quant_method": "awq"}})
    write_weights(tmp_path / "model.safetensors", {"a": [10]})
    assert read("m", tmp_path).parameters is None


def test_the_libraries_choice_among_formats(tmp_path: Path) -> None:
    write_weights(write(tmp_path, config=QWEN) / "model.safetensors", {"a": [10]})
    (tmp_path / "pytorch_model.bin").write_bytes(b"x" * 5000)
    (tmp_path / "training_args.bin").write_bytes(b"x" * 7000)
    assert read("m", tmp_path).weight_bytes == (tmp_path / "model.safetensors").stat().st_size


def test_lfs_pointers(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 988097824\n"
    write(tmp_path, config=QWEN, tokenizer=pointer, tokenizer_config=pointer)
    (tmp_path / "model.safetensors").write_text(pointer)
    found = read("m", tmp_path)
    assert set(found.lfs_pointers) == {"model.safetensors", "tokenizer_config.json"}
    assert (found.weight_bytes, found.parameters, found.broken) == (None, None, None)


def test_an_adapter(tmp_path: Path) -> None:
    write(tmp_path, adapter_config={"base_model_name_or_path": "Qwen/Qwen2.5-7B", "r": 8})
    write_weights(tmp_path / "adapter_model.safetensors", {"lora_A": [8, 16]})
    found = read("m", tmp_path)
    assert (found.is_adapter, found.base_model, found.parameters) == (True, "Qwen/Qwen2.5-7B", 128)


# --- broken ---


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('{\n  "hidden_size": 8\n  "layers": 1}', 3, "not JSON"),
        ("[1]", 1, "not a JSON object"),
        ("", 1, "not JSON"),
        ("[" * 100_000, None, "nested"),
    ],
)
def test_a_broken_config_says_where(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    broken = read("m", write(tmp_path, config=content)).broken
    assert broken is not None
    assert (Path(broken.place.file).name, broken.place.line) == ("config.json", line)
    assert message in broken.message


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x10" + b"\0" * 7 + b"{", b"\x02" + b"\0" * 7 + b"[]"])
def test_broken_weights(tmp_path: Path, content: bytes) -> None:
    (write(tmp_path, config=QWEN) / "model.safetensors").write_bytes(content)
    broken = read("m", tmp_path).broken
    assert broken is not None
    assert "safetensors" in broken.message


def test_junk_in_place_of_files_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    os.mkfifo(tmp_path / "model.safetensors")
    (tmp_path / "tokenizer_config.json").symlink_to(tmp_path / "tokenizer_config.json")
    found = read("m", tmp_path)
    assert found.broken is not None
    assert found.hidden_size is None


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60, deadline=None
)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_any_json_in_any_place(tmp_path: Path, value: Any) -> None:
    names = ("architectures", "hidden_size", "quantization_config", "rope_scaling", "text_config", "torch_dtype")
    odd = dict.fromkeys(names, value)
    index = {"metadata": value, "weight_map": value}
    tokens = {"chat_template": value, "pad_token": value, "eos_token": value}
    folder = write(tmp_path, config=odd, tokenizer_config=tokens, **{"model.safetensors.index": index})
    assert isinstance(read("m", folder), Model)


# --- where ---


def cached(cache: Path, name: str, commit: str = "abc123", ref: str = "main") -> Path:
    base = cache / f"models--{name.replace('/', '--')}"
    (base / "refs").mkdir(parents=True, exist_ok=True)
    (base / "refs" / ref).write_text(commit)
    return write(base / "snapshots" / commit, config=QWEN)


def test_model_among_the_settings_of_a_framework(tmp_path: Path) -> None:
    write(tmp_path / "m", config=QWEN)
    told = FrameworkConfig("oumi", {"model.model_name": Observed.written("model.model_name", "m")})
    context, here = Context(("oumi", "train"), cwd=tmp_path), Environment({})
    found = model_fact.collect(context, None, None, None, None, None, told, here)
    assert (found.model_type, found.written["model_type"].value) == ("qwen2", "qwen2")
    with pytest.raises(Unavailable):
        model_fact.collect(context, None, None, None, None, None, FrameworkConfig("oumi"), here)


def test_a_folder_beside_the_command_goes_first(tmp_path: Path) -> None:
    write(tmp_path / "org" / "model", config=QWEN)
    cached(tmp_path / "hub", "org/model")
    assert collected("org/model", tmp_path, HF_HUB_CACHE=str(tmp_path / "hub")).folder == str(
        tmp_path / "org" / "model"
    )


@pytest.mark.parametrize(
    ("variable", "below"),
    [
        ("HF_HUB_CACHE", "c"),
        ("HUGGINGFACE_HUB_CACHE", "c"),
        ("HF_HOME", "c/hub"),
        ("XDG_CACHE_HOME", "c/huggingface/hub"),
    ],
)
def test_the_hub_cache(tmp_path: Path, variable: str, below: str) -> None:
    snapshot = cached(tmp_path / below, "Qwen/Qwen2.5-0.5B")
    found = collected("Qwen/Qwen2.5-0.5B", tmp_path, **{variable: str(tmp_path / "c")})
    assert (found.folder, found.hidden_size) == (str(snapshot), 896)


def test_the_cache_below_home_and_revisions(tmp_path: Path) -> None:
    snapshot = cached(tmp_path / ".cache" / "huggingface" / "hub", "a/b", "fff", ref="v2")
    assert collected("a/b", tmp_path, {"revision": "v2"}, HOME=str(tmp_path)).folder == str(snapshot)
    assert collected("a/b", tmp_path, {"revision": "fff"}, HOME=str(tmp_path)).folder == str(snapshot)
    with pytest.raises(Unavailable, match="`a/b` is not on this machine"):
        collected("a/b", tmp_path, HOME=str(tmp_path))


def test_cache_dir_of_from_pretrained(tmp_path: Path) -> None:
    cached(tmp_path / "mine", "a/b")
    assert collected("a/b", tmp_path, {"cache_dir": str(tmp_path / "mine")}).hidden_size == 896


@pytest.mark.parametrize(
    "layout",
    [
        "hub/models/Qwen/Qwen2___5-0___5B",
        "models/Qwen/Qwen2.5-0.5B",
        "Qwen/Qwen2___5-0___5B",
        "models/Qwen--Qwen2.5-0.5B/snapshots/master",
    ],
)
def test_modelscope(tmp_path: Path, layout: str) -> None:
    write(tmp_path / layout, config=QWEN)
    variables = {"VLLM_USE_MODELSCOPE": "True", "MODELSCOPE_CACHE": str(tmp_path)}
    assert collected("Qwen/Qwen2.5-0.5B", Path("/"), **variables).hidden_size == 896


@pytest.mark.parametrize(
    "name", ["absent", "/no/such/folder", "../x/y/z", "a/b/c", "a\0b", "s3://bucket/m", "x" * 5000]
)
def test_models_that_are_not_here(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unavailable, match="not on this machine"):
        collected(name, tmp_path, HF_HOME=str(tmp_path / "hf"))


def test_well_known_model_that_is_not_here(tmp_path: Path) -> None:
    found = collected("Qwen/Qwen2.5-7B", tmp_path, HF_HOME=str(tmp_path / "hf"))
    assert (found.here, found.torch_dtype, found.has_tokenizer) == (False, "bfloat16", False)


def test_its_files_come_before_what_others_say_of_it(tmp_path: Path) -> None:
    write(tmp_path / "Qwen" / "Qwen2.5-7B", config=QWEN)
    found = collected("Qwen/Qwen2.5-7B", tmp_path, HF_HOME=str(tmp_path / "hf"))
    assert (found.here, found.hidden_size) == (True, 896)


def test_whose_model_it_is(tmp_path: Path) -> None:
    write(tmp_path / "served", config=QWEN)
    context, here = Context(("x",), cwd=tmp_path), Environment({"HOME": str(tmp_path)})
    serving = Serving("vllm-serve", model="served")
    assert model_fact.collect(context, None, None, serving, None, None, None, here).name == "served"
    verl = VerlConfig("m", overrides={"actor_rollout_ref.model.path": Observed.written("p", "~/served")})
    assert model_fact.collect(context, None, None, None, verl, None, None, here).folder == str(tmp_path / "served")
    trinity = TrinityConfig("c.yaml", settings={"model.model_path": Observed.written("m", "served")})
    assert model_fact.collect(context, None, None, None, None, trinity, None, here).name == "served"
    with pytest.raises(Unavailable, match="names no model"):
        model_fact.collect(context, None, None, None, None, None, None, here)
