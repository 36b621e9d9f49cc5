"""Token, cache and switches of the Hugging Face Hub, in a home folder that the test lays out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts import hub
from doctor.facts.environment import Environment
from doctor.readers.machine import hub as hub_reader


def collect(home: Path, **variables: str) -> hub.Hub:
    return hub_reader.collect(Context(cwd=home), Environment({"HOME": str(home), **variables}))


def cached(folder: Path, *repositories: str) -> None:
    for repository in repositories:
        (folder / f"models--{repository.replace('/', '--')}" / "snapshots" / "abc").mkdir(parents=True)


def test_nothing_set(tmp_path):
    found = collect(tmp_path)
    assert (found.has_token, found.offline, found.endpoint, found.cached_models) == (False, False, None, ())
    assert found.cache_dir == "~/.cache/huggingface/hub"


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])
def test_token_in_a_variable_is_seen_and_not_kept(tmp_path, name):
    found = collect(tmp_path, **{name: "hf_abcdefghijklmnop"})
    assert found.has_token
    assert "hf_abc" not in repr(found)


def test_token_file_where_the_library_looks(tmp_path):
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "token").write_text("hf_abcdefghijklmnop\n")
    assert collect(tmp_path, HF_HOME=str(tmp_path / "hf")).has_token
    elsewhere = {"HF_TOKEN_PATH": "~/hf/token"}
    assert collect(tmp_path, **elsewhere).has_token
    assert not collect(tmp_path).has_token
    (tmp_path / "hf" / "token").write_text("\n")
    assert not collect(tmp_path, HF_HOME=str(tmp_path / "hf")).has_token


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, ".cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "{home}/xdg"}, "xdg/huggingface/hub"),
        ({"HF_HOME": "{home}/hf"}, "hf/hub"),
        ({"HF_HOME": "{home}/hf", "HF_HUB_CACHE": "{home}/models"}, "models"),
        ({"HUGGINGFACE_HUB_CACHE": "~/old"}, "old"),
    ],
)
def test_models_of_the_cache_that_the_variables_name(tmp_path, variables, folder):
    cached(tmp_path / folder, "Qwen/Qwen2.5-7B-Instruct", "gpt2")
    (tmp_path / folder / "models--broken--download").mkdir()
    (tmp_path / folder / "datasets--x--y" / "snapshots" / "a").mkdir(parents=True)
    named = {name: value.format(home=tmp_path) for name, value in variables.items()}
    assert collect(tmp_path, **named).cached_models == ("Qwen/Qwen2.5-7B-Instruct", "gpt2")


@pytest.mark.parametrize(
    ("variables", "offline"),
    [
        ({"HF_HUB_OFFLINE": "1"}, True),
        ({"HF_HUB_OFFLINE": "on"}, True),
        ({"TRANSFORMERS_OFFLINE": "True"}, True),
        ({"HF_HUB_OFFLINE": "0"}, False),
        ({"HF_HUB_OFFLINE": ""}, False),
    ],
)
def test_offline_switches_as_the_library_reads_them(tmp_path, variables, offline):
    assert collect(tmp_path, **variables).offline is offline


def test_mirror_without_its_password(tmp_path):
    found = collect(tmp_path, HF_ENDPOINT="https://alice:s3cretpass@hf-mirror.com", VLLM_USE_MODELSCOPE="True")
    assert "s3cret" not in found.endpoint
    assert "hf-mirror.com" in found.endpoint
    assert found.use_modelscope


def test_wandb_login(tmp_path):
    assert not collect(tmp_path).wandb_logged_in
    assert collect(tmp_path, WANDB_API_KEY="0123456789abcdef").wandb_logged_in
    (tmp_path / ".netrc").write_text("machine api.wandb.ai\n  login user\n  password 0123456789abcdef\n")
    found = collect(tmp_path)
    assert found.wandb_logged_in
    assert "0123456789" not in repr(found)
    assert not collect(tmp_path, WANDB_BASE_URL="https://wandb.example.com").wandb_logged_in


def test_a_pipe_in_place_of_netrc_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / ".netrc")
    assert not collect(tmp_path).wandb_logged_in
