"""The shipped version knowledge: its shape, its facts against what was read in the packages, unknown versions."""

from __future__ import annotations

import json
import re
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor import data
from doctor.data import VersionStanding

FOLDER = Path(data.__file__).parent
FILES = (
    *("meta", "releases", "trl", "vllm", "torch", "deepspeed", "overlay"),
    *("trl_args", "training_arguments", "lora_config", "vllm_args", "verl_keys", "trinity_keys"),
)


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def columns_of(content: dict[str, Any]) -> list[tuple[list[str], Any]]:
    """Every column of a file whose entries name versions, with the versions that it may name."""
    found = []
    for package in content.get("packages", {}).values():
        found += [(package["versions"], package[field]) for field in ("requires_python", "requires")]
    found += [(content["versions"], column) for column in content.get("columns", {}).values()]
    for cls in content.get("classes", {}).values():
        for history in cls.get("arguments", {}).values():
            found += [(content["versions"], history.get("defaults", []))]
    return found


# --- shape -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_header(name: str) -> None:
    content = read(name)
    assert content["schema"] == "doctor-data/1"
    assert date.fromisoformat(content["built"]) == data.built()
    assert content["made_by"] == "tools/build_version_data.py"
    assert content["newest"]["trl"] == data.newest("trl")
    assert content["sources"]
    assert all(re.match(r"https://github\.com/[\w.-]+/[\w.-]+", source) for source in content["sources"])


def test_files_are_small() -> None:
    sizes = {name: (FOLDER / f"{name}.json").stat().st_size for name in FILES}
    assert sum(sizes.values()) < 1_200_000
    assert max(sizes.values()) < 400_000


@pytest.mark.parametrize("name", FILES)
def test_no_host_of_a_package_index(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert not re.search(r"pypi\.\w|pythonhosted", text)


@pytest.mark.parametrize("name", [name for name in FILES if "versions" in read(name)])
def test_versions_are_ordered_and_columns_name_listed_ones(name: str) -> None:
    content = read(name)
    assert content["versions"] == sorted(content["versions"], key=Version)
    for versions, column in columns_of(content):
        places = [versions.index(since) for since, _ in column]
        assert places == sorted(set(places))
        assert all(one[1] != other[1] for one, other in pairwise(column))


def test_spans_are_ordered_and_end_where_the_next_release_lacks_the_argument() -> None:
    for name in ("trl_args", "training_arguments", "lora_config", "vllm_args"):
        content = read(name)
        order = content["versions"]
        for cls in content["classes"].values():
            for argument, history in cls["arguments"].items():
                flat = [order.index(v) for span in history["spans"] for v in span if v is not None]
                assert flat == sorted(flat), argument
                gone = history.get("removed_in")
                if gone:
                    assert order.index(gone) == order.index(history["spans"][-1][1]) + 1, argument


def test_every_requirement_and_python_bound_is_valid() -> None:
    for package in data.packages():
        for release in data.releases(package).values():
            for each in release.requires or ():
                Requirement(each)  # raises on anything invalid
            SpecifierSet(release.requires_python or "")


def test_newest_is_the_last_listed_release() -> None:
    for package in data.packages():
        assert data.newest(package) == list(data.releases(package))[-1]


def test_releases_carry_dates_and_requirements() -> None:
    undated = [r.version for p in data.packages() for r in data.releases(p).values() if r.date is None]
    unread = [(r.package, r.version) for p in data.packages() for r in data.releases(p).values() if r.requires is None]
    assert undated == []
    assert unread == []


def test_overlay_rules_have_sources_and_readable_conditions() -> None:
    rules = data.known_bad()
    assert len(rules) >= 40
    assert len({rule.id for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.confidence in ("confirmed", "likely")
        assert rule.links
        assert all(link.startswith("https://github.com/") for link in rule.links)
        assert rule.when or rule.conditions
        assert len(rule.conditions_zh) == len(rule.conditions)
        for text in (rule.cause_zh, *rule.conditions_zh):
            assert re.search("[\u4e00-\u9fff]", text), f"{rule.id}: {text} is not Chinese"
        for specifier in rule.when.values():
            SpecifierSet(specifier)  # raises on anything invalid
        if rule.symptom:
            re.compile(rule.symptom)


# --- versions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "version", "expected"),
    [
        ("trl", "1.16.0", VersionStanding.KNOWN),
        ("trl", "1.16", VersionStanding.KNOWN),
        ("trl", "v1.16.0", VersionStanding.KNOWN),
        ("vllm", "0.33.0+cu129", VersionStanding.KNOWN),
        ("vllm", "0.8.5.post1", VersionStanding.KNOWN),
        ("vllm", "0.33.0.post7", VersionStanding.KNOWN),
        ("torch", "2.13.0+cpu", VersionStanding.KNOWN),
        ("flash_attn", "2.8.3", VersionStanding.KNOWN),
        ("trl", "99.0", VersionStanding.NEWER),
        ("trl", "99.0.dev0", VersionStanding.NEWER),
        ("trl", "0.1.0", VersionStanding.OLDER),
        ("trl", "1.16.0.dev0", VersionStanding.BETWEEN),
        ("vllm", "0.11.0rc1", VersionStanding.BETWEEN),
        ("torch", "2.9.1a0+git123", VersionStanding.BETWEEN),
        ("trl", "main", VersionStanding.UNREADABLE),
        ("trl", "", VersionStanding.UNREADABLE),
        ("left-pad", "1.0", VersionStanding.NO_PACKAGE),
    ],
)
def test_standing(package: str, version: str, expected: VersionStanding) -> None:
    assert data.standing(package, version) is expected


@pytest.mark.parametrize("version", ["99.0", "0.33.1.dev3", "nonsense", ""])
def test_unknown_versions_are_none_everywhere(version: str) -> None:
    assert data.release("vllm", version) is None
    assert data.vllm_release(version) is None
    assert data.trl_release(version) is None
    assert data.torch_release(version) is None
    assert data.deepspeed_release(version) is None
    assert data.trl_arguments("GRPOConfig", version) is None
    assert data.config_arguments("GRPOConfig", version, "5.0.0") is None
    assert data.config_arguments("GRPOConfig", "1.16.0", version) is None
    assert data.training_arguments(version) is None
    assert data.lora_arguments(version) is None
    assert data.vllm_flags(version) is None
    assert data.verl_keys(version) is None
    assert data.trinity_keys(version) is None
    assert data.trl_commands(version) is None
    history = data.trl_argument("GRPOConfig", "beta")
    assert history is not None
    assert history.exists_in(version) is None
    assert history.default_in(version) is None


def test_nothing_of_a_hand_collected_column_reaches_beyond_what_was_read() -> None:
    for name in ("trl", "vllm", "torch", "deepspeed"):
        content = read(name)
        assert Version(content["checked_through"]) <= Version(content["versions"][-1])
    assert data.torch_release("2.2.0") is not None
    assert data.torch_release("2.2.0").arch_list is None  # type: ignore[union-attr]


def test_age() -> None:
    assert data.age_days(data.built()) == 0
    assert data.age_days(date(2000, 1, 1)) == 0
    assert data.age_days(date.fromordinal(data.built().toordinal() + 40)) == 40


def test_unknown_names_are_none() -> None:
    assert data.trl_argument("GRPOConfig", "no_such_argument") is None
    assert data.trl_argument("NoSuchConfig", "beta") is None
    assert data.trl_class("NoSuchConfig") is None
    assert data.newest("left-pad") is None
    assert dict(data.releases("left-pad")) == {}
    assert data.verl_keys("0.9.1", "no_such_config") is None
    assert data.verl_keys("0.9.1", model_engine="no_such_engine") is None


# --- facts: TRL --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "name", "first", "removed_in", "deprecated_in", "replacement"),
    [
        ("GRPOConfig", "max_prompt_length", "0.14.0", "0.28.0", "0.26.0", None),
        ("GRPOConfig", "vllm_device", "0.14.0", "0.18.0", "0.16.0", None),
        ("GRPOConfig", "vllm_dtype", "0.15.0", "0.18.0", "0.16.0", None),
        ("GRPOConfig", "vllm_max_model_len", "0.15.0", "0.18.0", "0.16.0", None),
        ("GRPOConfig", "vllm_max_model_length", "0.26.0", None, None, None),
        ("GRPOConfig", "vllm_enable_prefix_caching", "0.16.0", "0.18.0", "0.16.0", None),
        ("GRPOConfig", "vllm_mode", "0.18.0", None, None, None),
        ("GRPOConfig", "vllm_group_port", "0.27.0", None, None, None),
        ("GRPOConfig", "vllm_guided_decoding_regex", "0.16.0", "0.28.0", "0.27.0", "vllm_structured_outputs_regex"),
        ("GRPOConfig", "use_liger_loss", "0.17.0", "0.28.0", "0.25.0", "use_liger_kernel"),
        ("GRPOConfig", "wandb_log_unique_prompts", "0.17.0", "0.27.0", "0.26.0", "log_unique_prompts"),
        ("GRPOConfig", "num_generations_eval", "0.26.0", None, None, None),
        ("GRPOConfig", "steps_per_generation", "0.18.0", None, None, None),
        ("GRPOConfig", "vllm_enable_sleep_mode", "0.23.0", None, None, None),
        (
            *("GRPOConfig", "use_transformers_paged", "0.20.0", None, "1.2.0"),
            "use_transformers_continuous_batching",
        ),
        (
            *("GRPOConfig", "vllm_importance_sampling_cap", "0.23.0", None, "1.6.0"),
            "vllm_importance_sampling_clip_max",
        ),
        ("SFTConfig", "max_seq_length", "0.9.2", "0.20.0", "0.16.0", "max_length"),
        ("RLOOConfig", "rloo_k", "0.9.2", "0.25.0", "0.22.0", "num_generations"),
        ("DPOConfig", "max_prompt_length", "0.9.2", "0.29.0", "0.28.0", None),
    ],
)
def test_trl_argument(
    cls: str, name: str, first: str, removed_in: str | None, deprecated_in: str | None, replacement: str | None
) -> None:
    history = data.trl_argument(cls, name)
    assert history is not None
    assert (history.first, history.removed_in) == (first, removed_in)
    assert (history.deprecated_in, history.replacement) == (deprecated_in, replacement)
    assert history.exists_in(first) is True
    if removed_in:
        assert history.exists_in(removed_in) is False
        assert history.default_in(removed_in) is None


@pytest.mark.parametrize(
    ("name", "version", "default"),
    [
        ("max_prompt_length", "0.25.1", "512"),
        ("max_prompt_length", "0.26.0", "None"),
        ("temperature", "0.17.0", "0.9"),
        ("temperature", "0.18.0", "1.0"),
        ("beta", "0.18.2", "0.04"),
        ("beta", "0.19.0", "0.0"),
        ("loss_type", "0.17.0", "'bnpo'"),
        ("loss_type", "0.22.0", "'dapo'"),
        ("vllm_mode", "0.29.1", "'server'"),
        ("vllm_mode", "1.0.0", "'colocate'"),
        ("vllm_gpu_memory_utilization", "0.15.2", "0.9"),
        ("vllm_gpu_memory_utilization", "0.18.0", "0.3"),
        ("scale_rewards", "0.21.0", "True"),
        ("scale_rewards", "0.22.0", "'group'"),
        ("max_completion_length", "1.9.2", "256"),
        ("max_completion_length", "1.10.0", "512"),
        ("vllm_server_timeout", "0.16.1", "120.0"),
        ("vllm_server_timeout", "0.17.0", "240.0"),
        ("vllm_importance_sampling_cap", "0.26.0", "3.0"),
    ],
)
def test_grpo_defaults(name: str, version: str, default: str) -> None:
    history = data.trl_argument("GRPOConfig", name)
    assert history is not None
    assert history.default_in(version) == default


def test_inherited_arguments_are_never_called_removed() -> None:
    history = data.trl_argument("GRPOConfig", "gradient_accumulation_steps")
    assert history is not None
    assert history.inherited
    assert history.removed_in is None
    assert history.exists_in("0.15.0") is False  # TRL stopped overriding it; TrainingArguments still has it
    accepted = data.config_arguments("GRPOConfig", "0.15.0", "4.48.0")
    assert accepted is not None
    assert "gradient_accumulation_steps" in accepted


def test_arguments_of_a_release() -> None:
    own = data.trl_arguments("GRPOConfig", "0.28.0")
    assert own is not None
    assert "max_prompt_length" not in own
    assert {"num_generations", "vllm_mode", "loss_type"} <= own
    accepted = data.config_arguments("GRPOConfig", "1.16.0", "5.23.0")
    assert accepted is not None
    assert {"num_generations", "output_dir", "learning_rate", "report_to"} <= accepted
    assert not {"evaluation_strategy", "vllm_device", "logging_dir", "warmup_ratio"} & accepted
    assert data.trl_arguments("GRPOConfig", "0.13.0") == frozenset()


def test_classes_that_moved() -> None:
    moved = data.trl_class("XPOConfig")
    assert moved is not None
    assert moved.module_in("0.25.1") == "trl.trainer.xpo_config"
    assert moved.module_in("0.26.0") == "trl.experimental.xpo.xpo_config"
    assert moved.exported_in("0.25.1") is True
    assert moved.exported_in("1.0.0") is False
    assert moved.exists_in("1.16.0") is False
    came = data.trl_class("GRPOConfig")
    assert came is not None
    assert came.spans == (("0.14.0", None),)
    assert came.inherits_training_arguments("1.16.0") is True
    own = data.trl_class("ModelConfig")
    assert own is not None
    assert own.inherits_training_arguments("1.16.0") is False


def test_commands_and_their_flags() -> None:
    commands = data.trl_commands("1.16.0")
    assert commands is not None
    assert commands["grpo"] == ("GRPOScriptArguments", "GRPOConfig", "ModelConfig", "DatasetMixtureConfig")
    assert commands["vllm-serve"] == ("vllm_serve.ScriptArguments",)
    assert "grpo" not in (data.trl_commands("0.13.0") or {})
    assert "GRPOTrainer" in data.trl_trainers()
    assert "GRPOTrainer" not in data.trl_classes()
    assert "reward_funcs" in (data.trl_arguments("GRPOTrainer", "1.16.0") or ())


@pytest.mark.parametrize(
    ("version", "window", "strips", "mode", "rule", "serve"),
    [
        ("0.13.0", None, False, None, None, "absent"),
        ("0.14.0", None, False, "in-process", "A", "absent"),
        ("0.16.1", None, False, "server", "B", "own-v0"),
        ("0.17.0", None, False, "server", "C", "own"),
        ("0.19.0", None, False, "server", "D", "own"),
        ("0.19.1", None, False, "server", "E", "own"),
        ("0.21.0", None, False, "server", "F", "own"),
        ("0.26.0", ("0.10.2", "0.11.2"), False, "server", "G", "own"),
        ("0.26.1", ("0.10.2", "0.11.2"), False, "server", "H", "own"),
        ("1.0.0", ("0.10.2", "0.17.1"), False, "colocate", "H", "own"),
        ("1.9.0", ("0.17.0", "0.25.1"), True, "colocate", "I", "own"),
        ("1.11.0", ("0.19.0", "0.27.1"), True, "colocate", "I", "wrapper"),
        ("1.16.0", ("0.22.0", "0.31.0"), True, "colocate", "I", "wrapper"),
    ],
)
def test_trl_release(
    version: str, window: tuple[str, str] | None, strips: bool, mode: str | None, rule: str | None, serve: str
) -> None:
    release = data.trl_release(version)
    assert release is not None
    assert (release.vllm_window, release.vllm_window_strips_local) == (window, strips)
    assert (release.vllm_mode_default, release.batch_rule, release.serve) == (mode, rule, serve)
    assert release.has_grpo is (Version(version) >= Version("0.14.0"))


@pytest.mark.parametrize(
    "expected",  # version, python, transformers, accelerate, vllm extra, deepspeed extra
    [
        ("0.15.2", ">=3.9", ">=4.46.0", ">=0.34.0", "==0.7.2", ">=0.14.4"),
        ("0.19.0", ">=3.9", ">=4.51.0", ">=1.4.0", ">=0.8.3", ">=0.14.4"),
        ("0.24.0", ">=3.9", ">=4.56.1", ">=1.4.0", "==0.10.2", ">=0.14.4"),
        ("1.13.0", ">=3.10", ">=4.56.2", ">=1.4.0", "<=0.28.0,>=0.19.1", ">=0.18.6"),
        ("1.16.0", ">=3.11", ">=4.56.2", ">=1.10.1", "<=0.31.0,>=0.22.0", ">=0.18.6"),
    ],
)
def test_trl_bounds(expected: tuple[str, ...]) -> None:
    release = data.trl_release(expected[0])
    assert release is not None
    stated = (release.requires_python, release.transformers, release.accelerate)
    assert (*stated, release.vllm_extra, release.deepspeed_extra) == expected[1:]


# --- facts: Transformers, PEFT -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "removed_in", "deprecated_in", "replacement"),
    [
        ("evaluation_strategy", "4.51.0", "4.41.0", "eval_strategy"),
        ("no_cuda", "5.0.0", "4.37.0", "use_cpu"),
        ("push_to_hub_token", "5.0.0", "4.37.0", "hub_token"),
        ("include_inputs_for_metrics", "5.0.0", "4.46.0", "include_for_metrics"),
        ("per_gpu_train_batch_size", "5.0.0", "4.37.0", "per_device_train_batch_size"),
        ("warmup_ratio", "5.15.0", "5.0.0", "warmup_steps"),
        ("logging_dir", "5.15.0", "5.0.0", None),
        ("overwrite_output_dir", "5.0.0", None, None),
        ("group_by_length", "5.2.0", None, "train_sampling_strategy"),
        ("eval_strategy", None, None, None),
        ("gradient_checkpointing", None, "5.23.0", "activation_checkpointing"),
    ],
)
def test_training_argument(
    name: str, removed_in: str | None, deprecated_in: str | None, replacement: str | None
) -> None:
    history = data.training_argument(name)
    assert history is not None
    assert (history.removed_in, history.deprecated_in) == (removed_in, deprecated_in)
    assert history.replacement == replacement


def test_trainer_parameters() -> None:
    tokenizer = data.trainer_parameter("tokenizer")
    assert tokenizer is not None
    assert (tokenizer.deprecated_in, tokenizer.removed_in) == ("4.46.0", "5.0.0")
    assert tokenizer.replacement == "processing_class"
    assert tokenizer.deprecated_at("4.45.2") is False
    assert tokenizer.deprecated_at("4.48.0") is True
    new = data.trainer_parameter("processing_class")
    assert new is not None
    assert new.first == "4.46.0"
    assert data.release("transformers", "4.46.0").yanked  # type: ignore[union-attr]


def test_lora_arguments() -> None:
    fields = data.lora_arguments("0.13.0")
    assert fields is not None
    assert {"r", "lora_alpha", "target_modules", "modules_to_save", "use_dora", "task_type"} <= set(fields)
    assert fields["r"] == "8"
    assert data.lora_argument("lora_rank") is None


# --- facts: vLLM, torch, DeepSpeed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "torch", "cuda", "lowest", "engine", "server"),
    [
        ("0.6.1", "==2.4.0", "12.1", (7, 0), "V0", "works"),
        ("0.7.3", "==2.5.1", "12.1", (7, 0), "V0", "latent"),
        ("0.8.4", "==2.6.0", "12.4", (7, 0), "V1-with-V0-fallback", "latent"),
        ("0.8.5", "==2.6.0", "12.4", (7, 0), "V1-with-V0-fallback", "dead"),
        ("0.8.5.post1", "==2.6.0", "12.4", (7, 0), "V1-with-V0-fallback", "dead"),
        ("0.9.0", "==2.7.0", "12.8", (7, 0), "V1-with-V0-fallback", "works"),
        ("0.10.2", "==2.8.0", "12.8", (7, 0), "V1-or-V0", "works"),
        ("0.11.0", "==2.8.0", "12.8", (7, 0), "V1", "works"),
        ("0.12.0", "==2.9.0", "12.9", (7, 0), "V1", "works"),
        ("0.19.1", "==2.10.0", "12.9", (7, 0), "V1", "works"),
        ("0.20.0", "==2.11.0", "13.0", (7, 5), "V1", "works"),
        ("0.24.0", "==2.11.0", "13.0", (7, 5), "V1", "works"),
        ("0.25.0", "==2.11.0", "13.0", (7, 5), "V1", "gone"),
        ("0.32.0", "==2.13.0", "13.0", (7, 5), "V1", "gone"),
        ("0.33.0", "==2.14.0", "13.0", (7, 5), "V1", "gone"),
    ],
)
def test_vllm_release(version: str, torch: str, cuda: str, lowest: tuple[int, int], engine: str, server: str) -> None:
    release = data.vllm_release(version)
    assert release is not None
    assert (release.torch, release.cuda, release.min_compute_capability) == (torch, cuda, lowest)
    assert (release.engine, release.api_server) == (engine, server)


def test_vllm_details() -> None:
    facts = {version: data.vllm_release(version) for version in ("0.8.4", "0.8.5", "0.9.0", "0.14.0", "0.33.0")}
    assert [each.auto_dtype_falls_back for each in facts.values() if each] == [False, False, True, True, True]
    assert [each.sleep_level2_keeps_buffers for each in facts.values() if each] == [False, True, True, True, True]
    lowest = [each.fp8_min_compute_capability for each in facts.values() if each]
    assert lowest == [(8, 0), (8, 0), (8, 0), (7, 5), (7, 5)]
    newest = facts["0.33.0"]
    assert newest is not None
    assert newest.transformers == "<5.21.0,>=5.16.1"
    assert newest.requires_python == "<3.15,>=3.11"
    assert newest.arch_list == ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
    assert data.vllm_release("0.33.0+cu129") == newest
    assert data.vllm_release("0.8.2").numpy == "<2.0.0"  # type: ignore[union-attr]
    assert data.vllm_release("0.8.3").numpy is None  # type: ignore[union-attr]


def test_wheel_architectures_agree_with_the_lowest_compute_capability() -> None:
    for version in data.releases("vllm"):
        release = data.vllm_release(version)
        assert release is not None
        assert release.arch_list
        assert release.min_compute_capability == tuple(int(part) for part in release.arch_list[0].split("."))


def test_vllm_flags() -> None:
    swap = data.vllm_flag("--swap-space")
    assert swap is not None
    assert swap.removed_in == "0.18.0"
    assert data.vllm_flag("--disable-log-requests").removed_in == "0.17.0"  # type: ignore[union-attr]
    flags = data.vllm_flags("0.33.0")
    assert flags is not None
    assert {"host", "port", "api_key", "tensor_parallel_size", "dtype", "max_model_len", "served_model_name"} <= flags
    seed = data.vllm_argument("seed")
    assert seed is not None
    assert (seed.default_in("0.7.3"), seed.default_in("0.8.0")) == ("0", "None")


@pytest.mark.parametrize(
    ("version", "cuda", "cublas", "nccl"),
    [
        ("2.2.2", "12.1", "==12.1.3.1", "==2.19.3"),
        ("2.4.1", "12.1", "==12.1.3.1", "==2.20.5"),
        ("2.5.0", "12.4", "==12.4.5.8", "==2.21.5"),
        ("2.6.0", "12.4", "==12.4.5.8", "==2.21.5"),
        ("2.7.0", "12.6", "==12.6.4.1", "==2.26.2"),
        ("2.10.0", "12.8", "==12.8.4.1", "==2.27.5"),
        ("2.11.0", "13.0", None, "==2.28.9"),
        ("2.14.0", "13.0", None, "==2.30.7"),
        ("2.15.0", "13.2", None, "==2.30.7"),
    ],
)
def test_torch_release(version: str, cuda: str, cublas: str | None, nccl: str) -> None:
    release = data.torch_release(version)
    assert release is not None
    assert (release.cuda, release.cublas, release.nccl) == (cuda, cublas, nccl)


def test_torch_architectures() -> None:
    first_with_blackwell = data.torch_release("2.8.0")
    last_without = data.torch_release("2.7.1")
    volta_gone = data.torch_release("2.11.0")
    assert first_with_blackwell is not None
    assert last_without is not None
    assert volta_gone is not None
    assert "12.0" in (first_with_blackwell.arch_list or ())
    assert "12.0" not in (last_without.arch_list or ())
    assert "12.0" in last_without.variants["cu128"]
    assert "7.0" not in last_without.variants["cu128"]
    assert "7.0" not in (volta_gone.arch_list or ())
    assert "7.0" in volta_gone.variants["cu126"]


@pytest.mark.parametrize(
    ("version", "newest_minor", "grads_bug", "import_fails", "bf16_check"),
    [
        ("0.9.3", "12.1", False, True, None),
        ("0.14.3", "12.5", False, True, None),
        ("0.15.3", "12.6", False, True, None),
        ("0.16.4", "12.8", False, True, None),
        ("0.16.5", "12.8", True, True, None),
        ("0.17.1", "12.8", True, True, False),
        ("0.17.2", "12.9", True, True, False),
        ("0.19.2", "12.9", True, True, False),
        ("0.19.3", "12.9", False, True, True),
        ("0.19.5", "12.9", False, False, True),
        ("0.19.8", "12.9", False, False, True),
    ],
)
def test_deepspeed_release(
    version: str, newest_minor: str, grads_bug: bool, import_fails: bool, bf16_check: bool | None
) -> None:
    release = data.deepspeed_release(version)
    assert release is not None
    assert release.cuda_minor_mismatch_ok["12"][-1] == newest_minor
    assert "13" not in release.cuda_minor_mismatch_ok
    assert "12.7" not in release.cuda_minor_mismatch_ok["12"]
    assert release.ds_grads_remaining_bug is grads_bug
    assert release.import_fails_without_cuda_home is import_fails
    assert release.bf16_check_grad_overflow_default is bf16_check
    assert release.fp16_defaults["initial_scale_power"] == 16


# --- facts: veRL, Trinity-RFT --------------------------------------------------------------------------------------


def test_verl_keys() -> None:
    newest = data.verl_keys("0.9.1")
    assert newest is not None
    assert newest["data.train_batch_size"].type == "int"
    assert newest["actor_rollout_ref.actor.ppo_mini_batch_size"].default == 256
    assert newest["algorithm.adv_estimator"].default == "gae"
    assert newest["trainer.n_gpus_per_node"].default == 8
    assert "actor_rollout_ref.actor.fsdp_config.param_offload" in newest
    assert "actor_rollout_ref.actor.optim.lr" in newest  # composed from another file of the group
    assert "data.train_batch_sise" not in newest
    assert len(newest) > 700
    megatron = data.verl_keys("0.9.1", "ppo_megatron_trainer")
    assert megatron is not None
    assert "actor_rollout_ref.actor.megatron.tensor_model_parallel_size" in megatron
    assert data.verl_keys("0.9.1", model_engine="megatron") == megatron
    assert data.verl_engines("0.9.1") == ("dp", "megatron", "torchtitan", "veomni")
    assert data.verl_engines("0.4.0") == ()
    old = data.verl_keys("0.3.0.post1")
    assert old is not None
    assert "reward_model.reward_manager" in old
    assert set(data.verl_versions()) >= {"0.4.1", "0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.1"}


def test_trinity_keys() -> None:
    newest = data.trinity_keys("0.6.0")
    assert newest is not None
    assert newest["mode"].default == "both"
    assert newest["algorithm.repeat_times"].type == "int"
    assert newest["explorer.rollout_model.tensor_parallel_size"].default == 1
    assert newest["trainer.trainer_config"].free
    assert {"trainer.trainer_config_path", "cluster.gpu_per_node", "buffer.batch_size"} <= set(newest)
    assert "explorer.auxiliary_models.*.engine_num" in newest
    assert "stages.*.trainer.save_interval" in newest
    old = data.trinity_keys("0.1.0")
    assert old is not None
    assert "trainer.actor_clip_ratio" in old
    assert "trainer.actor_clip_ratio" not in newest


def test_releases_are_listed_from_the_oldest_to_the_newest() -> None:
    for package in data.packages():
        listed = list(data.releases(package))
        assert listed == sorted(listed, key=Version), package


def test_flags_of_the_server_of_sglang() -> None:
    old, new = data.sglang_flags("0.4.3"), data.sglang_flags("0.5.23")
    assert old is not None
    assert new is not None
    assert {"model_path", "tp_size", "mem_fraction_static"} <= old & new
    assert "enable_reasoning" not in old | new
    assert data.sglang_flag("--disable-piecewise-cuda-graph").removed_in == "0.5.20"  # type: ignore[union-attr]
    assert data.sglang_flags("99.0") is None
