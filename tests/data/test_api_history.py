"""The shipped histories of names against changes that are well known, each read in the libraries' own sources."""

from __future__ import annotations

import pytest

from doctor.data import api

#: module, name: last release without it before it came (""), a release with it, a release without it after it went ("")
NAMES = [
    ("transformers", "AdamW", "", "4.49.0", "4.51.3"),
    ("transformers", "is_torch_tpu_available", "", "4.40.2", "4.51.3"),
    ("transformers", "EncoderDecoderCache", "4.42.4", "4.44.2", ""),
    ("transformers", "AutoModelForVision2Seq", "", "4.57.6", "5.0.0"),
    ("transformers", "Qwen2_5_VLForConditionalGeneration", "4.48.3", "4.52.4", ""),
    ("transformers", "TFAutoModel", "", "4.57.6", "5.0.0"),
    ("transformers", "top_k_top_p_filtering", "", "4.38.2", "4.40.2"),
    ("transformers.deepspeed", "HfDeepSpeedConfig", "", "4.45.2", "4.46.3"),
    ("transformers.models.llama.modeling_llama", "LlamaFlashAttention2", "4.33.3", "4.47.1", "4.48.3"),
    ("trl", "DataCollatorForCompletionOnlyLM", "", "0.19.1", "0.20.0"),
    ("trl", "GRPOConfig", "0.13.0", "0.14.0", ""),
    ("trl", "PPOConfig", "", "0.28.0", "0.29.0"),
    ("trl", "AutoModelForCausalLMWithValueHead", "", "0.28.0", "0.29.0"),
    ("trl.trainer.utils", "ConstantLengthDataset", "", "0.18.0", "0.20.0"),
    ("trl.core", "LengthSampler", "", "0.24.0", "0.25.0"),
    ("vllm.sampling_params", "GuidedDecodingParams", "0.6.2", "0.11.2", "0.12.0"),
    ("vllm.sampling_params", "StructuredOutputsParams", "0.10.2", "0.11.0", ""),
    ("vllm.worker", "worker", "", "0.8.5", "0.11.1"),
    ("huggingface_hub", "HfFolder", "", "0.36.2", "1.0.1"),
    ("huggingface_hub", "cached_download", "", "0.25.2", "0.26.5"),
    ("huggingface_hub", "split_torch_state_dict_into_shards", "0.20.3", "0.23.5", ""),
    ("huggingface_hub.errors", "LocalEntryNotFoundError", "0.24.7", "0.26.5", ""),
    ("datasets", "load_metric", "", "2.21.0", "3.0.2"),
    ("peft", "prepare_model_for_int8_training", "", "0.9.0", "0.10.0"),
    ("numpy", "float", "", "1.23.5", "1.24.4"),
    ("numpy", "bool", "1.26.4", "2.0.2", ""),
    ("numpy", "product", "", "1.26.4", "2.0.2"),
    ("pydantic", "field_validator", "1.10.2", "2.0.3", ""),
]


@pytest.mark.parametrize(("module", "name", "before", "during", "after"), NAMES)
def test_names(module: str, name: str, before: str, during: str, after: str) -> None:
    known = api.name(module, name)
    assert known is not None
    assert _there(known, during)
    assert not before or not _there(known, before)
    assert not after or not _there(known, after)


def _there(known: api.Known, version: str) -> bool:
    position = known.position(version)
    assert position is not None
    return position >= 0 and known.there(position)


@pytest.mark.parametrize(
    ("module", "name"), [("transformers", "Trainer"), ("trl", "NoSuchThing"), ("vllm", "LLM"), ("json", "dumps")]
)
def test_what_never_changed_is_not_known(module: str, name: str) -> None:
    assert api.name(module, name) is None


@pytest.mark.parametrize(
    ("module", "during", "after"),
    [
        ("vllm.worker.worker", "0.10.2", "0.11.0"),
        ("trl.core", "0.24.0", "0.25.0"),
        ("vllm.lora.models", "0.12.0", "0.13.0"),
    ],
)
def test_modules(module: str, during: str, after: str) -> None:
    known = api.module_history(module)
    assert known is not None
    assert _there(known, during)
    assert not _there(known, after)


@pytest.mark.parametrize("package", api.packages())
def test_nothing_is_told_of_a_module_that_no_release_has(package: str) -> None:
    """Below every module that came or went: an invented one has no history of its own, and its package's at most."""
    content = api._load(package)
    for module in [each for listed in content["modules"].values() for each in listed.split(" ")]:
        told = api.module_history(f"{module}.invented_by_a_test")
        assert told is None or (told.owner == module and not content.get("whole"))
        assert api.own_name(module, "InventedByATest") is None


@pytest.mark.parametrize(
    ("owner", "name", "during", "after"),
    [
        ("DynamicCache", "seen_tokens", "4.53.3", "4.54.1"),
        ("Qwen2Model", "_update_causal_mask", "4.52.4", "4.53.3"),
        ("LlamaAttention", "num_heads", "4.47.1", "4.48.3"),
    ],
)
def test_attributes(owner: str, name: str, during: str, after: str) -> None:
    own = [each for each in api.attribute(owner, name, "transformers") if each.owner.endswith(f":{owner}")]
    assert len(own) == 1
    assert _there(own[0], during)
    assert not _there(own[0], after)


@pytest.mark.parametrize(
    ("function", "name", "during", "after"),
    [
        ("PPOConfig.__init__", "ppo_epochs", "0.11.4", "0.12.0"),
        ("SFTTrainer.__init__", "max_seq_length", "0.12.2", "0.13.0"),
    ],
)
def test_parameters(function: str, name: str, during: str, after: str) -> None:
    known = [each for each in api.parameter(function, name) if each.package == "trl"]
    assert len(known) == 1
    assert _there(known[0], during)
    assert not _there(known[0], after)


def test_a_parameter_that_became_required() -> None:
    known = api.parameter("LlamaAttention.forward", "position_embeddings", required=True)
    assert [_there(known[0], each) for each in ("4.47.1", "4.49.0")] == [False, True]


def test_who_asks() -> None:
    known = api.asks("datasets", "huggingface_hub", "HfFolder")
    assert known is not None
    assert [_there(known, each) for each in ("2.14.7", "2.16.1")] == [True, False]


def test_where_a_name_went() -> None:
    known = api.name("trl", "PPOConfig")
    assert known is not None
    assert api.moved_in(known, "0.29.0") == "trl.experimental.ppo"
    assert api.moved_in(known, None) is None  # the newest release has it nowhere
    guided = api.name("vllm.sampling_params", "GuidedDecodingParams")
    assert guided is not None
    assert guided.renamed_to == "StructuredOutputsParams"


@pytest.mark.parametrize(
    ("version", "position"),
    [("1.0", 0), ("1.0.5", 0), ("1.1.0", 1), ("1.1.9", 1), ("0.9", -1), ("3.0", 2), ("2.0.0.dev0", 2), ("main", None)],
)
def test_releases_between_those_that_were_read(version: str, position: int | None) -> None:
    known = api.Known("pkg", "pkg", ("1.0.7", "1.1.4", "2.0.1"), ((0, 1),), exact=False)
    assert known.position(version) == position


#: what Unsloth's notebooks import, of which much is another package's
UNSLOTH = (
    ("unsloth", "FastLanguageModel"), ("unsloth", "is_bfloat16_supported"), ("unsloth", "train_on_responses_only"),
    ("unsloth", "standardize_sharegpt"), ("unsloth", "UnslothTrainer"), ("unsloth.chat_templates", "get_chat_template"),
    ("unsloth.chat_templates", "train_on_responses_only"), ("unsloth.chat_templates", "standardize_sharegpt"),
    ("unsloth.trainer", "UnslothVisionDataCollator"), ("unsloth", "UnslothVisionDataCollator"),
)  # fmt: skip


@pytest.mark.parametrize(("module", "name"), UNSLOTH)
@pytest.mark.parametrize("version", ["2024.12.12", "2025.3.19", "2025.6.12", "2025.11.6", "2026.10.9"])
def test_what_is_taken_from_another_package_is_there(module: str, name: str, version: str) -> None:
    known = api.name(module, name)
    assert known is None or _there(known, version)


def test_a_module_that_never_was_has_no_history() -> None:
    assert api.module_history("trinity.common.schema.sql_schema") is None
    assert api.name("trinity.common.schema.sql_schema", "ExperienceModel") is None


def test_size_and_schema() -> None:
    assert len(api.packages()) >= 20
    folder = api._HERE
    assert sum(each.stat().st_size for each in folder.glob("*/*.json.gz")) < 600_000


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("numpy", "product", None),  # `numpy.ma.product` is another function, which was there all the time
        ("numpy", "in1d", None),
        ("numpy", "VisibleDeprecationWarning", "numpy.exceptions"),  # not who imports it
        ("numpy", "ComplexWarning", "numpy.exceptions"),
        ("numpy", "byte_bounds", "numpy.lib.array_utils"),
        ("numpy.lib.function_base", "disp", None),  # what is private is no advice
        ("numpy.core", "binary_repr", "numpy"),
    ],
)
def test_where_a_name_went_is_where_it_is_offered(module: str, name: str, place: str | None) -> None:
    """Each read in numpy 1.26.4 and 2.0.2."""
    known = api.name(module, name)
    assert known is not None
    assert known.moved_to == place
