"""Scripts that open their own configuration file and hand its keys on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from doctor.base.fact import Context
from doctor.facts.training import Training
from doctor.readers.command import training as training_fact
from doctor.readers.command.launchers import understand
from doctor.readers.script import script as script_fact
from doctor.readers.script.script import read_script

YAML = """\
model: base  # a folder
training:
  output_dir: out
  learning_rate: 2.0e-5
  max_steps: 90
  report_to: []
  model_init_kwargs:
    dtype: bfloat16
api_key: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH
"""
DOCUMENT = {
    "model": "base",
    "training": {
        "output_dir": "out", "learning_rate": 2e-5, "max_steps": 90, "report_to": [],
        "model_init_kwargs": {"dtype": "bfloat16"},
    },
}  # fmt: skip
HEAD = """\
import argparse, io, json, os, sys, yaml
from pathlib import Path
from omegaconf import OmegaConf
from trl import SFTConfig, SFTTrainer
HERE = Path(__file__).parent
"""
TAIL = """
args = SFTConfig(**config["training"])
trainer = SFTTrainer(model=config["model"], args=args)
trainer.train()
"""


def trained(folder: Path, text: str, *words: str) -> Training:
    (folder / "train.py").write_text(HEAD + text)
    if not (folder / "config.yaml").exists():
        (folder / "config.yaml").write_text(YAML)
    (folder / "config.json").write_text(json.dumps(DOCUMENT, indent=2))
    argv = ("python", "train.py", *words)
    context, launch = Context(argv, cwd=folder), understand(argv, str(folder))
    return training_fact.collect(context, launch, script_fact.collect(context, launch))


def values(found: Training) -> dict[str, object]:
    return {name: each.value if each.known else "?" for name, each in found.arguments.items()}


WHOLE = {
    "output_dir": "out", "learning_rate": 2e-5, "max_steps": 90, "report_to": [],
    "model_init_kwargs": {"dtype": "bfloat16"},
}  # fmt: skip


ONE = "parser = argparse.ArgumentParser()\n"
PARSED = "options = parser.parse_args()\n"
NAMED = "config = yaml.safe_load(open(options.config))"
IN_FUNCTION = """\
def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    return parser.parse_args()


options = parse()
"""
THROUGH_FUNCTION = """\
def settings_of(path):
    with open(path) as file:
        config = yaml.safe_load(file)
    return SFTConfig(**config["training"]), config["model"]


args, model = settings_of(options.config)
SFTTrainer(model=model, args=args)
"""
OPENED = [
    'config = yaml.safe_load(open("config.yaml"))',
    'with open("config.yaml") as file:\n    config = yaml.safe_load(file)',
    'with Path("config.yaml").open() as file:\n    config = yaml.load(file, Loader=yaml.SafeLoader)',
    'config = yaml.safe_load((HERE / "config.yaml").read_text())',
    'config = yaml.safe_load(open(os.path.join(os.path.dirname(__file__), "config.yaml")).read())',
    'file = io.open("config.yaml")\nconfig = yaml.full_load(file)',
    'config = OmegaConf.load("config.yaml")',
    'config = json.load(open("config.json"))',
    'text = Path("config.json").read_text()\nconfig = json.loads(text)',
]
NAMES = [
    (f'{ONE}parser.add_argument("--config", default="config.yaml")\n{PARSED}{NAMED}', ""),
    (f'{ONE}parser.add_argument("--config", required=True)\n{PARSED}{NAMED}', "--config config.yaml"),
    (
        f'{ONE}parser.add_argument("-q", action="store_true")\nparser.add_argument("config")\n{PARSED}{NAMED}',
        "-q config.yaml",
    ),
    (IN_FUNCTION + NAMED, "--config=config.yaml"),
    ("config = yaml.safe_load(open(sys.argv[1]))", "config.yaml"),
]


@pytest.mark.parametrize(("text", "words"), [*((each, "") for each in OPENED), *NAMES])
def test_a_file_is_read_however_it_is_opened_and_named(tmp_path: Path, text: str, words: str) -> None:
    found = trained(tmp_path, text + TAIL, *words.split())
    assert values(found) == WHOLE
    assert found.complete
    assert found.model is not None
    assert found.model.value == "base"


def test_a_path_is_followed_through_functions(tmp_path: Path) -> None:
    found = trained(tmp_path, IN_FUNCTION + THROUGH_FUNCTION, "--config", "config.yaml")
    assert values(found) == WHOLE


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('settings = dict(config["training"])', "settings"),
        ('settings = {**config["training"]}', "settings"),
        ('settings = config.get("training", {})', "settings"),
        ('settings = config["training"]\nsettings["learning_rate"] = float(settings["learning_rate"])', "settings"),
        ('settings = dict(config["training"])\nif len(sys.argv) > 9:\n    pass', "settings"),
    ],
)
def test_parts_are_followed(tmp_path: Path, text: str, name: str) -> None:
    body = f'config = yaml.safe_load(open("config.yaml"))\n{text}\nargs = SFTConfig(**{name})\n'
    assert values(trained(tmp_path, f"{body}SFTTrainer(args=args).train()\n")) == WHOLE


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ('limit = settings.pop("max_steps")', True),
        ('settings.pop("max_steps", None)', True),
        ('del settings["max_steps"]', True),
        ('if len(sys.argv) > 1:\n    settings.pop("max_steps")', False),
        ('if len(sys.argv) > 1:\n    del settings["max_steps"]', False),
    ],
)
def test_a_key_that_is_taken_out_is_no_setting(tmp_path: Path, text: str, complete: bool) -> None:
    body = f'config = yaml.safe_load(open("config.yaml"))\nsettings = config["training"]\n{text}\n'
    found = trained(tmp_path, f"{body}args = SFTConfig(**settings)\nSFTTrainer(args=args).train()\n", *["x"])
    assert values(found) == {name: value for name, value in WHOLE.items() if name != "max_steps"}
    assert found.complete is complete


def test_a_setting_stands_where_the_file_has_it(tmp_path: Path) -> None:
    found = trained(tmp_path, f'config = yaml.safe_load(open("config.yaml")){TAIL}')
    rate = found.arguments["learning_rate"]
    assert rate.place is not None
    assert (Path(rate.place.file).name, rate.place.line, rate.place.column) == ("config.yaml", 4, 3)
    assert rate.text == "2.0e-5"
    assert found.model is not None
    assert found.model.text == 'config["model"]'


OVERRIDE = """\
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=None)
options = parser.parse_args()
config = yaml.safe_load(open("config.yaml"))
settings = dict(config["training"])
if options.steps is not None:
    settings["max_steps"] = options.steps
elif options.steps == 7:
    settings["max_steps"] = 3
args = SFTConfig(**settings)
SFTTrainer(args=args).train()
"""


def test_what_an_option_lays_over_the_file_counts_where_it_is_typed(tmp_path: Path) -> None:
    assert values(trained(tmp_path, OVERRIDE))["max_steps"] == 90
    assert values(trained(tmp_path, OVERRIDE, "--steps", "5"))["max_steps"] != 90


@pytest.mark.parametrize(
    "text",
    [
        'config = yaml.safe_load(open("absent.yaml"))',
        'config = yaml.safe_load(open("broken.yaml"))',
        "config = yaml.safe_load(sys.stdin)",
        "config = yaml.safe_load(open(sys.argv[1]))",
        'sys.argv[1] = "config.yaml"\nconfig = yaml.safe_load(open(sys.argv[1]))',
        'config = yaml.safe_load(open("config.yaml"))\nfor key in names():\n    config[key] = 1',
        'config = json.load(open("config.yaml"))',
        'config = yaml.safe_load(open("config.yaml"))\nconfig = merge(config)',
        'config = yaml.safe_load(open("pipe"))',
        'config = yaml.safe_load(open("/dev/zero"))',
    ],
)
def test_what_cannot_be_told_stays_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "broken.yaml").write_text("training: [1, 2\n")
    os.mkfifo(tmp_path / "pipe")
    found = trained(tmp_path, text + TAIL)
    assert not found.complete or not any(each.known for each in found.arguments.values())
    assert "max_steps" not in {name for name, each in found.arguments.items() if each.known}


def test_what_is_handed_to_other_code_may_have_more_keys(tmp_path: Path) -> None:
    assert not trained(tmp_path, f'config = yaml.safe_load(open("config.yaml"))\nchange(config){TAIL}').complete


def test_a_key_that_the_file_lacks_is_absent_and_one_that_may_be_set_is_unknown(tmp_path: Path) -> None:
    body = 'config = yaml.safe_load(open("config.yaml"))\nsettings = dict(config["training"])\n'
    use = "args = SFTConfig(**settings)\nSFTTrainer(args=args).train()\n"
    assert "warmup_steps" not in values(trained(tmp_path, body + use))
    maybe = body + 'if decided():\n    settings["max_steps"] = 7\n'
    assert values(trained(tmp_path, maybe + use))["max_steps"] == "?"


def test_secrets_of_the_file_are_not_kept(tmp_path: Path) -> None:
    found = trained(
        tmp_path, 'config = yaml.safe_load(open("config.yaml"))\nargs = SFTConfig(**config)\nSFTTrainer(args=args)\n'
    )
    assert "abcdefghij" not in repr(found)


def test_a_script_that_nobody_started_opens_no_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(YAML)
    text = f'{HEAD}config = yaml.safe_load(open("{tmp_path}/config.yaml")){TAIL}'
    script = read_script(str(tmp_path / "train.py"), text.encode())
    (call,) = script.calls_of("SFTConfig")
    assert call.has_star_kwargs
    assert not call.arguments


def test_many_files_end_the_reading(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.yaml").write_text(f"a: {number}\n")
    lines = [f'c{number} = yaml.safe_load(open("{number}.yaml"))\nSFTConfig(**c{number})' for number in range(30)]
    (tmp_path / "train.py").write_text(HEAD + "\n".join(lines))
    argv = ("python", "train.py")
    context, launch = Context(argv, cwd=tmp_path), understand(argv, str(tmp_path))
    calls = script_fact.collect(context, launch).calls_of("SFTConfig")
    assert sum(not each.has_star_kwargs for each in calls) == 10
