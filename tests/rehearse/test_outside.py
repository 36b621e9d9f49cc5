"""Nothing of a rehearsal reaches the hub or a tracker: with stand-ins that tell, and with the real clients."""

from __future__ import annotations

import json
import subprocess
import time
import types
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import journal, outside
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings
from tests.rehearse.test_hooks import set_up

ROOT = Path(__file__).parents[2]


class HfApi:
    """A client that tells what it did."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def create_repo(self, repo_id: str, **_: Any) -> Any:
        self.done.append(repo_id)

    def set_space_sleep_time(self, repo_id: str) -> None:
        self.done.append(repo_id)

    def upload_folder(self, *, repo_id: str, **_: Any) -> None:
        self.done.append(repo_id)

    def run_as_future(self, function: Any, *args: Any) -> Any:
        return function(*args)

    def list_repo_files(self, repo_id: str) -> list[str]:
        return [repo_id]


def client() -> Any:
    """A module as the hub's client is one: its functions are methods of one object, bound at its end."""

    class Api(HfApi):
        pass

    api = Api()
    return types.SimpleNamespace(
        HfApi=Api, api=api, upload_folder=api.upload_folder, list_repo_files=api.list_repo_files
    )


def test_neither_a_method_nor_a_function_of_the_module_changes_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = set_up(tmp_path, monkeypatch)
    module = client()
    outside.hub(module)
    assert module.upload_folder(repo_id="me/mine", folder_path=".").commit_url == ""
    made = module.api.create_repo("me/mine", exist_ok=True)
    assert (made, made.repo_id) == ("me/mine", "me/mine")
    module.HfApi().set_space_sleep_time("me/space")
    assert module.upload_folder(repo_id="me/mine", run_as_future=True).result(1).oid == ""
    assert module.list_repo_files("other/one") == ["other/one"]
    assert module.api.run_as_future(max, 1, 2) == 2
    assert module.api.done == []
    assert {each["why"] for each in journal.entries(stage) if each["kind"] == "left_out"} == {"uploads"}


def test_what_pushes_itself_is_not_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)

    class Dataset:
        def push_to_hub(self, repo_id: str) -> None:
            raise AssertionError(repo_id)

    outside.pushes(types.SimpleNamespace(Dataset=Dataset))
    assert Dataset().push_to_hub("me/mine") == "me/mine"


@pytest.mark.parametrize(
    ("tracker", "arguments", "begun"),
    [
        ("wandb", {"project": "p", "mode": "online"}, {"project": "p", "mode": "disabled"}),
        ("swanlab", {"project": "p", "mode": "cloud"}, {"project": "p", "mode": "disabled"}),
        ("trackio", {"project": "p", "space_id": "me/space"}, {"project": "p"}),
    ],
)
def test_runs_of_a_tracker_go_nowhere_and_nobody_logs_in(
    tracker: str, arguments: dict[str, str], begun: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(tmp_path, monkeypatch)
    told: list[dict[str, Any]] = []
    module: Any = types.ModuleType(tracker)
    module.init, module.login = (lambda **given: told.append(given)), (lambda **_: 1 / 0)
    outside.trackers(module)
    module.init(**arguments)
    assert told == [begun]
    assert module.login(key="k") is True


def test_the_address_of_a_tracking_server_is_not_taken_from_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = set_up(tmp_path, monkeypatch)
    module: Any = types.ModuleType("mlflow")
    module.set_tracking_uri = lambda uri: 1 / 0
    outside.trackers(module)
    assert module.set_tracking_uri("http://mlflow.example.com") is None
    assert [each["name"] for each in journal.entries(stage)] == ["trackers"]


_REAL = """
import socket, sys
def connect(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"contacted: {event} {args[1:]}")
sys.path.append(sys.argv[1])
from doctor.monitors.rehearse import outside
import huggingface_hub.hf_api
outside.hub(huggingface_hub.hf_api)
import datasets.dataset_dict
outside.pushes(datasets.dataset_dict)
import huggingface_hub
sys.addaudithook(connect)
huggingface_hub.create_repo("me/mine", private=True, exist_ok=True, token="t")
huggingface_hub.upload_folder(repo_id="me/mine", folder_path=".", token="t")
huggingface_hub.delete_repo("me/mine", token="t")
huggingface_hub.HfApi(token="t").upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="me/mine")
rows = datasets.Dataset.from_list([{"a": 1}])
rows.push_to_hub("me/mine", token="t")
datasets.DatasetDict(train=rows).push_to_hub("me/mine", token="t")
print("held")
"""


@pytest.mark.process
@pytest.mark.parametrize("beside", ["", "trl-0.14"])
def test_the_real_clients_contact_nobody(beside: str, python: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    (tmp_path / "stage").mkdir()
    file.write_text(PassSettings(tmp_path / "stage", time.time_ns()).as_json())
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), VARIABLE: str(file)}
    if beside:
        variables["PYTHONPATH"] = str(python.parent.parent / beside)
    done = subprocess.run(
        [str(python), "-c", _REAL, str(ROOT)], env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "held", done.stderr[-2000:]
    told = [
        json.loads(line) for file in (tmp_path / "stage").rglob("*.jsonl") for line in file.read_text().splitlines()
    ]
    assert sum(each["kind"] == "left_out" for each in told) >= 1


_SAVES = """
import sys
sys.path.append(sys.argv[1])
from doctor.monitors.rehearse import attach
attach.begin()
import torch.serialization
attach.attach("torch.serialization", torch.serialization)
import safetensors
attach.attach("safetensors", safetensors)
import torch, safetensors.torch
weights = {"w": torch.zeros(2)}
for name in ("mine", "new"):
    for save in (
        lambda: torch.serialization.save(weights, f"{name}.pt"),
        lambda: torch.serialization.save(obj=weights, f=f"{name}.pt"),
        lambda: safetensors.torch.save_file(weights, f"{name}.safetensors"),
        lambda: safetensors.torch.save_file(weights, filename=f"{name}.safetensors"),
    ):
        try:
            save()
            print("done")
        except PermissionError as error:
            print(type(error).__name__)
"""


@pytest.mark.process
@pytest.mark.parametrize("held", [False, True])
def test_weights_that_were_there_are_not_saved_over(python: Path, tmp_path: Path, *, held: bool) -> None:
    (tmp_path / "stage").mkdir()
    for name in ("mine.pt", "mine.safetensors"):
        (tmp_path / name).write_text("weeks of training")
    time.sleep(0.05)
    file = tmp_path / "settings.json"
    file.write_text(PassSettings(tmp_path / "stage", time.time_ns(), held=held).as_json())
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), VARIABLE: str(file)}
    done = subprocess.run(
        [str(python), "-c", _SAVES, str(ROOT)], env=variables, cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    # an overlay holds what is written: there the files are nobody's business, and here there is none
    assert done.stdout.split() == (["done"] * 8 if held else ["RefusedError"] * 4 + ["done"] * 4), done.stderr[-2000:]
    assert ((tmp_path / "mine.pt").read_bytes() == b"weeks of training") is not held
    assert (tmp_path / "new.safetensors").exists()
