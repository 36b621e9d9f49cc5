"""Which DeepSpeed configuration a command would use, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.deepspeed_config import DeepspeedConfig
from tests.facts.command_facts import fact_of, state_of

DS = (
    '{\n  "zero_optimization": {\n    "stage": 3,\n    "offload_optimizer": {"device": "cpu"}\n  },\n'
    '  "train_batch_size": "auto"\n}\n'
)
SCRIPT = (
    "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(output_dir='o', deepspeed={})\n"
    "t = GRPOTrainer(args=args)\n"
)
ACCELERATE = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ds.json").write_text(DS)
    (tmp_path / "other.json").write_text('{"zero_optimization": {"stage": 1}}')
    (tmp_path / "acc.yaml").write_text(ACCELERATE)
    (tmp_path / "train.py").write_text("print('nothing said here')\n")
    return tmp_path


def read(line: str, folder: Path) -> DeepspeedConfig:
    found = fact_of("deepspeed_config", line, folder)
    assert isinstance(found, DeepspeedConfig)
    return found


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "file", "stage"),
    [
        ("accelerate launch --config_file acc.yaml train.py", "ds.json", 3),
        ("accelerate launch --use_deepspeed --deepspeed_config_file other.json train.py", "other.json", 1),
        ("accelerate launch --config_file acc.yaml --deepspeed_config_file other.json train.py", "other.json", 1),
        ("accelerate launch --config_file acc.yaml train.py --deepspeed other.json", "other.json", 1),
        ("torchrun train.py --deepspeed ds.json", "ds.json", 3),
        ("deepspeed train.py --deepspeed --deepspeed_config ds.json", "ds.json", 3),
        ("trl grpo --config_file acc.yaml --deepspeed other.json", "other.json", 1),
        ("trl grpo --config_file acc.yaml", "ds.json", 3),
    ],
)
def test_who_names_it(folder: Path, line: str, file: str, stage: int) -> None:
    found = read(line, folder)
    assert (found.path, found.zero_stage, found.broken) == (str(folder / file), stage, None)


def test_places_and_offload(folder: Path) -> None:
    found = read("accelerate launch --config_file acc.yaml train.py", folder)
    assert found.named_by is not None
    assert (Path(found.named_by.file).name, found.named_by.line) == ("acc.yaml", 4)
    place = found.settings["zero_optimization.stage"].place
    assert place is not None
    assert (place.line, place.column) == (3, 5)
    assert (found.offload("optimizer"), found.offload("param")) == ("cpu", "none")
    assert found.settings["train_batch_size"].value == "auto"


def test_in_the_script(folder: Path) -> None:
    (folder / "train.py").write_text(SCRIPT.replace("{}", '"ds.json"'))
    found = read("torchrun train.py", folder)
    assert (found.path, found.zero_stage) == (str(folder / "ds.json"), 3)
    assert found.named_by is not None
    assert found.named_by.line == 2
    literal = '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": True}}'
    (folder / "train.py").write_text(SCRIPT.replace("{}", literal))
    found = read("torchrun train.py", folder)
    assert (found.path, found.zero_stage, found.precision) == (None, 2, "fp16")


def test_nothing_named(folder: Path) -> None:
    for line in ("torchrun train.py", "accelerate launch --use_deepspeed train.py", "python train.py --deepspeed"):
        assert state_of("deepspeed_config", line, folder).reason == "no DeepSpeed configuration file is named"
    assert state_of("deepspeed_config", "vllm serve m", folder).reason == "the command starts no training"


@pytest.mark.parametrize(
    "line", ["swift sft --deepspeed zero3", "torchrun swift/cli/sft.py --deepspeed zero3",
             "torchrun -m swift.cli.rlhf --deepspeed zero2_offload"],
)  # fmt: skip
def test_names_that_swift_gives_its_own_files(folder: Path, line: str) -> None:
    assert "inside ms-swift" in state_of("deepspeed_config", line, folder).reason


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ('{"a": 1,\n}', 1, "comma"), ('{\n // x\n "a": 1}', 2, "comment"), ("[]", 1, "list"), ("", 1, "empty"),
        ('{"a": True}', 1, "Python"), ("\0\1\2", 1, "binary"),
    ],
)  # fmt: skip
def test_broken(folder: Path, content: str, line: int, words: str) -> None:
    (folder / "ds.json").write_text(content)
    found = read("torchrun train.py --deepspeed ds.json", folder)
    assert found.broken is not None
    assert (found.broken.place.line, found.zero_stage) == (line, None)
    assert words in found.broken.message
    missing = read("torchrun train.py --deepspeed none.json", folder).broken
    assert missing is not None
    assert "does not exist" in missing.message


@pytest.mark.process
@pytest.mark.parametrize(
    ("content", "stage", "precision", "offload"),
    [
        ("{}", 0, None, "none"), ('{"bf16": {"enabled": true}}', 0, "bf16", "none"),
        ('{"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}}', 0, None, "none"),
        ('{"bf16": {"enabled": false}, "fp16": {"enabled": false}}', 0, "no", "none"),
        ('{"zero_optimization": {"stage": 2, "cpu_offload": true}}', 2, None, "cpu"),
        ('{"zero_optimization": {"stage": "3"}}', None, None, "none"),
        ('{"fp16": {"enabled": false}}', 0, None, "none"),
    ],
)  # fmt: skip
def test_what_it_says(folder: Path, content: str, stage: int | None, precision: str | None, offload: str) -> None:
    (folder / "ds.json").write_text(content)
    found = read("torchrun train.py --deepspeed ds.json", folder)
    assert (found.zero_stage, found.precision, found.offload("optimizer")) == (stage, precision, offload)


def test_json_on_the_command_line(folder: Path) -> None:
    found = read("""trl sft --deepspeed '{"zero_optimization": {"stage": 2}}'""", folder)
    assert (found.path, found.zero_stage) == (None, 2)
    broken = read("""torchrun train.py --deepspeed '{"zero": }'""", folder).broken
    assert broken is not None
