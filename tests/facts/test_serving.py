"""What a server is told, by vLLM's and TRL's commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.facts.serving import human_int
from tests.facts.command_facts import fact_of, state_of

ROWS: list[tuple[str, dict[str, Any]]] = [
    ("vllm serve Qwen/Q", {
        "kind": "vllm-serve", "model": "Qwen/Q", "tensor_parallel_size": 1, "host": None, "port": None}),
    ("vllm serve m -tp 2 -dp 2 -pp 3 --dtype half --max-model-len 32k --quantization awq", {
        "tensor_parallel_size": 2, "data_parallel_size": 2, "pipeline_parallel_size": 3, "dtype": "half",
        "max_model_len": 32000, "quantization": "awq"}),
    ("vllm serve m --max_model_len 4096 --gpu_memory_utilization 0.8 --host 0.0.0.0 --port 8001", {
        "max_model_len": 4096, "gpu_memory_utilization": 0.8, "host": "0.0.0.0", "port": 8001, "has_api_key": False}),
    ("vllm serve m --max-model-len auto --tensor-parallel-size x", {"max_model_len": None, "tensor_parallel_size": 1}),
    ("vllm serve m --api-key secretsecret", {"has_api_key": True}),
    ("VLLM_API_KEY=abcdefgh vllm serve m", {"has_api_key": True}),
    ("VLLM_API_KEY= vllm serve m", {"has_api_key": False}),
    ("trl vllm-serve --model m --tensor_parallel_size 4", {
        "kind": "trl-vllm-serve", "model": "m", "tensor_parallel_size": 4}),
    ("trl vllm-serve --config serve.yaml --port 9000", {"model": "from/file", "tensor_parallel_size": 2, "port": 9000}),
    ("vllm serve --config serve.yaml", {"model": "from/file", "tensor_parallel_size": 2, "port": 8002, "broken": None}),
    ("vllm serve mine --config serve.yaml", {"model": "mine"}),
    ("python -m vllm.entrypoints.api_server --model m --dtype bfloat16", {
        "kind": "vllm-api-server", "dtype": "bfloat16"}),
    (("swift rollout --model ./m --vllm_tensor_parallel_size 2 --vllm_data_parallel_size 3 --vllm_max_model_len 4096"
      " --vllm_gpu_memory_utilization 0.8 --torch_dtype bfloat16 --port 8001"), {
        "kind": "swift-rollout", "model": "./m", "tensor_parallel_size": 2, "data_parallel_size": 3,
        "dtype": "bfloat16", "max_model_len": 4096, "gpu_memory_utilization": 0.8, "port": 8001, "host": None}),
    ("swift rollout --model Qwen/Qwen3-8B", {"model": None, "tensor_parallel_size": 1}),  # ModelScope's
    ("swift rollout --model Qwen/Qwen3-8B --use_hf true", {"model": "Qwen/Qwen3-8B"}),
    ("python -m vllm.entrypoints.openai.api_server --model m", {"kind": "vllm-openai-server", "model": "m"}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ROWS, ids=[line for line, _ in ROWS])
def test_servers(tmp_path: Path, line: str, expected: dict[str, Any]) -> None:
    (tmp_path / "serve.yaml").write_text("model: from/file\ntensor-parallel-size: 2\nport: 8002\n")
    found = fact_of("serving", line, tmp_path)
    assert {name: getattr(found, name) for name in expected} == expected
    assert "secretsecret" not in repr(found)


def test_places_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("model: m\ntensor-parallel-size: 2\n")
    setting = fact_of("serving", "vllm serve --config serve.yaml", tmp_path).arguments["tensor_parallel_size"]
    assert (setting.name, setting.place.line) == ("tensor_parallel_size", 2)


def test_broken_file(tmp_path: Path) -> None:
    found = fact_of("serving", "vllm serve m --config none.yaml", tmp_path)
    assert "does not exist" in found.broken.message
    assert found.model == "m"


def test_no_server(tmp_path: Path) -> None:
    assert state_of("serving", "python t.py", tmp_path).reason == "the command starts no inference server"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1k", 1000), ("1K", 1024), ("25.6k", 25600), ("2M", 2 << 20), ("7", 7), ("-1", None), ("auto", None), ("", None)],
)
def test_human_numbers(text: str, value: int | None) -> None:
    assert human_int(text) == value


def test_keys_of_json_arguments_by_their_short_names(tmp_path: Path) -> None:
    words = "-cc.pass_config.fuse_rope_kvcache=True -cc.mode 3 -tp 2 --compilation_config.level=3 -sc.method ngram"
    found = fact_of("serving", f"vllm serve m {words}", tmp_path)
    assert {name: each.value for name, each in found.arguments.items() if name != "model"} == {
        "compilation_config.pass_config.fuse_rope_kvcache": True, "compilation_config.mode": 3,
        "compilation_config.level": 3, "speculative_config.method": "ngram", "tensor_parallel_size": 2,
    }  # fmt: skip
    launch = fact_of("launch", f"vllm serve m {words}", tmp_path)
    assert (launch.not_understood, launch.unknown_options) == (None, ())
