"""The post-mortem by typed values: made capsules for what nobody listed, and a real one through the command line."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Message, Where, Words
from doctor.catalogue.problem import ERROR, Problem
from doctor.logs.capsules import read as capsules
from doctor.logs.capsules.held import judge
from doctor.logs.capsules.told import Matched, odd_ranks, told
from doctor.monitors.usage.about import about
from tests.commands import run_doctor

from .conftest import Run

pytestmark = pytest.mark.process


def doctor(*words: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it."""
    return run_doctor(*words, cwd=Path.cwd())


def tensor(*shape: int, dtype: str = "torch.float32", device: str = "cpu", **more: Any) -> dict[str, Any]:
    return {"type": "torch.Tensor", "tensor": True, "shape": list(shape), "dtype": dtype, "device": device, **more}


def number(value: int) -> dict[str, Any]:
    return {"type": "int", "value": value}


def frame(lines: str, values: dict[str, Any], conditions: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {
        "file": "/home/***/train.py", "line": 12, "function": "loss", "qualname": "loss", "module": "__main__",
        "own": True,
        "statement": 12, "lines": [lines], "values": [list(each) for each in values.items()],
        "conditions": list(conditions),
    }  # fmt: skip


def made(path: Path, error: str, *frames: dict[str, Any], **more: Any) -> capsules.Capsule:
    kind, _, message = error.partition(": ")
    data = {
        "schema": "doctor-capsule/1", "captured_ns": 1, "seconds": 0.1, "trouble": [], "stands": more.get("stands"),
        "process": {"rank": more.get("rank"), "pid": 7, "role": "trainer", "cards": more.get("cards", [])},
        "configs": more.get("configs", []), "modules": more.get("modules", []),
        "failures": [] if not error else [
            {"source": "excepthook", "ends": True, "thread": None, "code": None, "t_ns": 1, "chain": [
                {"type": kind, "message": message, "relation": "raised", "frames": list(frames)}]}],
    }  # fmt: skip
    path.write_text(json.dumps(data), encoding="utf-8")
    return capsules.load(path)


ARGS = {"name": "args", "type": "Args", "config": True, "fields": {"max_length": number(48), "rank": number(16)}}
CASES = {
    "four-against-three": (
        "RuntimeError: The size of tensor a (12) must match the size of tensor b (48) at non-singleton dimension 3",
        frame("return scores + mask", {"scores": tensor(2, 4, 12, 12), "mask": tensor(2, 12, 48)}), {"configs": [ARGS]},
        ("shapes", "scores", "[2, 4, 12, 12]", "[2, 12, 48]", "dimension -1", "args.max_length"),
    ),
    "two-devices": (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
        frame("return a * b", {"a": tensor(2, device="cuda:0"), "b": tensor(2)}), {},
        ("device", "`a` is cuda:0", "`b` is cpu"),
    ),
    "none-by-item": (
        "AttributeError: 'NoneType' object has no attribute 'strip'",
        frame('x = row["answer"].strip()', {'row["answer"]': {"type": "NoneType", "value": None}}), {},
        ("none", 'row["answer"]', "is None"),
    ),
    "negative-index": (
        "IndexError: list index out of range",
        frame("return parts[-3]", {"parts": {"type": "list", "length": 2}, "-3": number(-3)}), {},
        ("index", "`parts` has 2 elements", "-3"),
    ),
    "a-connection": (
        "ConnectionRefusedError: [Errno 111] Connection refused",
        frame("self.sock = connect()", {
            "self": {"type": "http.client.HTTPConnection", "fields": {
                "host": {"type": "str", "value": "10.0.0.9"}, "port": number(8123)}}}), {},
        ("address", "10.0.0.9:8123"),
    ),
    "an-exception-raised-again": (
        "OSError: no route",
        frame("raise errors[0]", {"errors": {"type": "list", "length": 1}},
              ({"text": "not every", "taken": True, "values": [["every", {"type": "bool", "value": False}]]},)), {},
        ("values", "errors"),
    ),
    "a-list-that-keeps": (
        "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 160000000 bytes.",
        frame("cache.append(make())", {"cache": {"type": "list", "length": 39}}), {},
        ("growing", "`cache`, which already keeps 39 elements"),
    ),
    "missing-column": (
        "KeyError: 'solution'",
        frame('x = row["solution"]', {"row": {"type": "dict", "length": 1, "entries": [["answer", number(1)]]},
                                      '"solution"': {"type": "str", "value": "solution"}}), {},
        ("key", "`row` has no `solution`", "answer"),
    ),
    "memory-of-others": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
        frame("y = layer(x)", {"x": tensor(2, 2)}),
        {"cards": [{"index": 1, "total": 80 << 30, "used": 79 << 30, "processes": [
            {"pid": 7, "used": 9 << 30, "name": "python"}, {"pid": 99, "used": 60 << 30, "name": "vllm"}]}]},
        ("memory", "GPU 1", "60.0 of 80.0 GiB", "vllm 99"),
    ),
    "keys-for-rewards": (
        "ValueError: The reward function 'graded' returned 1 rewards, but 2 were expected",
        frame("raise ValueError(message)", {"output_reward_func": {
            "type": "list", "length": 1, "of": ["str"],
            "first": [{"type": "str", "length": 5, "value": "score"}]}}), {},
        ("texts", '"score"', "a `dict`", "its keys"),
    ),
    "letters-for-rewards": (
        "ValueError: The reward function 'graded' returned 2 rewards, but 4 were expected",
        frame("raise ValueError(message)", {"output_reward_func": {
            "type": "list", "length": 2, "of": ["str"], "first": [{"type": "str", "length": 1, "value": "o"},
                                                                 {"type": "str", "length": 1, "value": "k"}]}}), {},
        ("texts", '"o", "k"', "a text", "its letters"),
    ),
    "lies-on-meta": (
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
        frame("model.to(device)", {"model": {"type": "M", "module": True}}),
        {"modules": [{"name": "model", "type": "M", "module": True, "parameters": 90, "devices": {"cpu": 4, "meta": 3},
                      "apart": {"meta": ["head.weight", "head.bias"]}}]},
        ("device", "3 of the tensors of `model`", "`head.weight`, `head.bias` …"),
    ),
    "unused-by-ddp": (
        "RuntimeError: Expected to have finished reduction. Parameter indices which did not receive grad: 2 3",
        frame("loss.backward()", {"loss": tensor()}),
        {"modules": [{"name": "model", "type": "torch.nn.parallel.distributed.DistributedDataParallel", "module": True,
                      "wraps": ["__main__.Net"], "without_gradient": ["idle.weight", "idle.bias"]}]},
        ("gradient", "`idle.weight`, `idle.bias` of `Net`"),
    ),
    "detached": (
        "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        frame("loss.backward()", {"loss": tensor(requires_grad=False)}),
        {"modules": [{"name": "model", "type": "M", "module": True, "parameters": 90, "requires_grad": 30}]},
        ("gradient", "`loss` has no gradient", "30 parameters"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_families(name: str, tmp_path: Path) -> None:
    error, innermost, more, expected = CASES[name]
    capsule = made(tmp_path / "c.json", error, innermost, **more)
    held = judge(capsule, capsule.failures[0].chain[0])
    assert held is not None
    assert held.kind == expected[0]
    assert not [each for each in expected[1:] if each not in held.en], held.en
    assert held.zh
    assert held.zh != held.en


@pytest.mark.parametrize(
    ("error", "innermost"),
    [
        ("RuntimeError: The size of tensor a (4) must match", frame("a + b", {"a": tensor(2, 4), "b": tensor(2, 4)})),
        ("RuntimeError: shape mismatch", frame("a + b", {"a": tensor(2, 1), "b": tensor(4)})),
        ("ValueError: dtype", frame("f(a, b)", {"a": tensor(2), "b": tensor(2, dtype="torch.int64")})),
        ("IndexError: x", frame("p[i]", {"p": {"type": "list", "length": 2}, "i": number(1)})),
        ("TypeError: something else", frame("f(x)", {"x": {"type": "NoneType", "value": None}})),
    ],
)
def test_families_are_silent_where_the_values_agree(error: str, innermost: Any, tmp_path: Path) -> None:
    capsule = made(tmp_path / "c.json", error, innermost)
    held = judge(capsule, capsule.failures[0].chain[0])
    assert held is None or held.kind == "values"


def test_the_odd_rank_out(tmp_path: Path) -> None:
    def at(size: int) -> dict[str, Any]:
        return frame("gather(batch)", {"batch": tensor(size, 8), "start_time": number(size)})

    ranks = [
        made(tmp_path / f"{rank}.json", "", rank=rank, stands={"t_ns": 1, "frames": [at(4)]}) for rank in (0, 1, 3)
    ]
    failing = made(tmp_path / "2.json", "RuntimeError: gloo", at(3), rank=2)
    matched = Matched(failing, failing.failures[0], failing.failures[0].chain[0])
    odd = odd_ranks(matched, [*ranks, failing])
    assert odd is not None
    assert "`batch` is float32[3, 8] on rank 2, and float32[4, 8] on the other 3" in odd.en
    assert "start_time" not in odd.en


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "doctor/1"}', '{"schema": "doctor-capsule/1"}'])
def test_what_is_no_capsule_is_refused_in_words(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    read = capsules.read([], [str(path)])
    assert not read.capsules
    assert str(path) in read.skipped[0].reason
    done = doctor("postmortem", "--capsule", str(path))
    assert done.returncode == 2
    assert str(path) in done.stderr


def test_a_capsule_alone_and_in_a_bundle(hooked: Run, tmp_path: Path) -> None:
    program = "def check(batch, groups, token='hf_abcdefghijklmnopqrstuv'):\n    if batch % groups and token:\n"
    program += "        raise ValueError('odd')\ncheck(8, 3)\n"
    assert hooked(program).only
    path = next((tmp_path / "run" / "capsules").glob("*.json"))
    words = ["postmortem", "--capsule", str(path), "--format", "json", "--bundle", str(tmp_path / "b.tar.gz")]
    report = json.loads(doctor(*words).stdout)
    first = report["findings"][0]
    assert first["id"] == "UNK001"
    assert "`batch` = 8" in first["explanation"]
    assert "`groups` = 3" in first["explanation"]
    assert re.search(r"`ValueError` raised in `\S+:\d+`, `batch % groups and token` holds", first["headline"])
    with tarfile.open(tmp_path / "b.tar.gz") as archive:
        name = f"capsules/{path.name}"
        opened = archive.extractfile(name)
        assert opened is not None
        assert b"hf_abcdef" not in opened.read()


def test_tensors_of_a_line_that_the_message_does_not_speak_of_are_not_the_odd_ones(tmp_path: Path) -> None:
    capsule = made(
        tmp_path / "c.json", "ValueError: operands could not be broadcast together with shapes (8,5) (8,6)",
        frame("right = predictions.argmax(-1)[:, :-1] == labels",
              {"predictions": tensor(8, 6, 258), "labels": tensor(8, 6, dtype="torch.int64")}),
    )  # fmt: skip
    held = judge(capsule, capsule.failures[0].chain[0])
    assert held is not None
    assert held.kind == "values"
    assert "differ" not in held.en


def test_the_rank_that_left_is_told_and_not_the_one_that_lost_it(hooked: Run, tmp_path: Path) -> None:
    program = """
import os, subprocess, sys, time
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(r), "WORLD_SIZE": "2"})
             for r in range(2)]
    codes = [each.wait() for each in ranks]
    sys.exit(max(codes))
def begin(rows, needed):
    if rows < needed:
        sys.exit(3)
    time.sleep(2)
    raise RuntimeError("Connection closed by peer")
begin(17 if os.environ["RANK"] == "1" else 100, 64)
"""
    ended = hooked(program)
    by_rank = {each["process"]["rank"]: each for each in ended.capsules}
    failure = by_rank[1]["failures"][0]
    assert (failure["source"], failure["code"]) == ("exit", 3)
    assert by_rank[0]["failures"][0]["chain"][0]["type"] == "RuntimeError"
    found = capsules.read([str(tmp_path / "run")]).capsules
    finding = found_of_rank(1)
    told_ = told((finding,), capsules.Capsules(found), {finding.problem.id})[0]
    assert "`rows` = 17" in told_.words("en").explanation
    assert "`needed` = 64" in told_.words("en").explanation
    assert told((found_of_rank(0),), capsules.Capsules(found), {finding.problem.id})[0].where.rank == 0


def found_of_rank(rank: int) -> Finding:
    """What is said where nothing is known but the rank that ended."""
    problem = Problem(id="UNK002", name="only-consequences", severity=ERROR, since="0.1")
    words = Words("rank ended", "Nothing is known.", "Look.")
    return Finding(problem, Message(words, words), where=Where(rank=rank),
                   evidence=(Observed.quoted("log", "RuntimeError: Connection closed by peer"),))  # fmt: skip


def test_looks_at_a_run_that_stood_still_are_in_a_bundle(tmp_path: Path) -> None:
    look = tmp_path / "run" / "hangs" / "host-20260301T101500Z.json"
    look.parent.mkdir(parents=True)
    look.write_text(
        '{"schema": "doctor-hang/1", "title": "judge.py --token=hf_abcdefghijklmnopqrstuv"}', encoding="utf-8"
    )
    (look.parent / "broken.json").write_text("{", encoding="utf-8")
    logs = tmp_path / "run" / "logs"
    logs.mkdir()
    (logs / "console.log").write_text("RuntimeError: odd\n", encoding="utf-8")
    doctor("postmortem", str(tmp_path / "run"), "--bundle", str(tmp_path / "b.tar.gz"))
    with tarfile.open(tmp_path / "b.tar.gz") as archive:
        assert [each for each in archive.getnames() if each.startswith("hangs/")] == [f"hangs/{look.name}"]
        opened = archive.extractfile(f"hangs/{look.name}")
        assert opened is not None
        text = opened.read()
    assert b"doctor-hang/1" in text
    assert b"hf_abcdef" not in text


def test_what_returned_a_none_is_named(hooked: Run, tmp_path: Path) -> None:
    program = "def score(rows):\n    [each for each in rows]\ndef add(rows):\n    told = score(rows)\n"
    program += "    return sum(told)\nadd([1, 2])\n"
    assert hooked(program).only
    path = next((tmp_path / "run" / "capsules").glob("*.json"))
    first = json.loads(doctor("postmortem", "--capsule", str(path), "--format", "json").stdout)["findings"][0]
    assert re.search(r"`told` is None in \S+:5 \(add\)\. `score \(\S+:1\)` returned it", first["explanation"])


def test_a_sentence_that_is_understood_keeps_what_the_process_held(hooked: Run, tmp_path: Path) -> None:
    ended = hooked("import textwrap\ndef main(width):\n    return textwrap.wrap('x y', width)\nmain(0)\n")
    log = tmp_path / "run" / "logs" / "console.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(ended.error, encoding="utf-8")
    first = json.loads(doctor("postmortem", str(tmp_path / "run"), "--format", "json").stdout)["findings"][0]
    assert first["id"] == "LCH8772"
    assert "`self.width` = 0" in first["explanation"]
    assert any("self.width = 0" in str(each.get("text")) for each in first["evidence"])


def test_the_entry_of_a_caller_that_is_none_is_named(hooked: Run, tmp_path: Path) -> None:
    program = "def strip(text):\n    return text.strip()\ndef rows(row):\n"
    program += '    return strip(row["answer"]) + strip(row["question"])\n'
    program += 'rows({"question": "1 + 1", "answer": None})\n'
    assert hooked(program).only
    path = next((tmp_path / "run" / "capsules").glob("*.json"))
    first = json.loads(doctor("postmortem", "--capsule", str(path), "--format", "json").stdout)["findings"][0]
    assert re.search(
        r"`text` is None in \S+:2 \(strip\)\. `row\[\"answer\"\]` is None in \S+:4 \(rows\)", first["explanation"]
    )


_META = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2, device="meta"))
def place(model):
    return model.to("cpu")
place(model)
"""
_DDP = """
import torch
from torch import distributed, nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.idle = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, rows):
        return self.used(rows)
distributed.init_process_group("gloo", init_method="file://" + __file__ + ".store", rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(Net())
for _ in range(2):
    model(torch.ones(2, 3)).sum().backward()
"""


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (_META, r"2 of the tensors of `model` are on the meta device: `1\.weight`, `1\.bias`\."),
        (_DDP, r"No gradient came for `idle\.weight`, `idle\.bias` of `Net`\."),
    ],
)
def test_parameters_are_named_that_the_message_does_not_name(
    program: str, expected: str, hooked: Run, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    assert hooked(program).only
    path = next((tmp_path / "run" / "capsules").glob("*.json"))
    capsule = capsules.load(path)
    held = judge(capsule, capsule.failures[0].chain[0])
    assert held is not None
    assert re.match(expected, held.en), held.en


def test_values_are_shown_as_a_reader_would_write_them(tmp_path: Path) -> None:
    """An empty text can be seen, and a list says how long it is."""
    (tmp_path / "capsules").mkdir()
    held = {"c": {"type": "str", "value": "", "length": 0}, "rows": {"type": "list", "length": 8}, "n": number(3)}
    made(tmp_path / "capsules" / "trainer-a-1.json", "IndexError: list index out of range", frame("c.split()[0]", held))
    (capsule,) = about(tmp_path)["capsules"]
    assert capsule["frames"][0]["values"] == {"c": '""', "rows": "list of 8", "n": "3"}
