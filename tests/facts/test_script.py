"""Scripts as people write them, read and never run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.base.fact import Context
from doctor.facts.launch import Launch
from doctor.facts.script import Call, RewardFunction, Script
from doctor.readers.script import script as script_fact
from doctor.readers.script.ignores import read_ignores
from doctor.readers.script.script import read_script

SCRIPTS = Path(__file__).parents[1] / "samples" / "scripts"


def read(name: str) -> Script:
    path = SCRIPTS / name
    return read_script(str(path), path.read_bytes())


def from_text(text: str) -> Script:
    return read_script("/nowhere/train.py", text.encode())


def only(script: Script, name: str) -> Call:
    (call,) = script.calls_of(name)
    return call


def values(call: Call) -> dict[str, object]:
    return {name: each.value if each.known else "?" for name, each in call.arguments.items()}


def written(body: str, call: str = "GRPOConfig") -> Call:
    return only(from_text(f"from trl import GRPOConfig\n{body}"), call)


# --- calls and their arguments ---


def test_settings_carry_value_text_and_place() -> None:
    call = only(read("grpo_plain.py"), "GRPOConfig")
    setting = call.arguments["learning_rate"]
    assert (setting.value, setting.text) == (5e-7, "5e-7")
    assert setting.place is not None
    assert (setting.place.line, setting.place.column) == (37, 5)
    assert setting.place.file.endswith("grpo_plain.py")
    assert (call.place.line, call.place.column) == (35, 17)


def test_constants_are_folded() -> None:
    found = values(only(read("grpo_plain.py"), "GRPOConfig"))
    assert found["num_generations"] == 8
    assert found["max_steps"] == 200
    assert found["per_device_train_batch_size"] == 4
    assert found["warmup_ratio"] == 0.1
    assert found["output_dir"] == "runs/Qwen/Qwen2.5-0.5B-Instruct"
    assert found["save_steps"] == "?"  # from the environment of the run


def test_attributes_set_later_win_and_those_in_a_branch_are_unknown() -> None:
    call = only(read("grpo_plain.py"), "GRPOConfig")
    assert call.arguments["bf16"].value is True
    assert not call.arguments["gradient_accumulation_steps"].known
    assert call.set_later == {"bf16", "gradient_accumulation_steps"}


def test_secrets_are_not_kept() -> None:
    script = read("grpo_plain.py")
    assert "hf_abcdef" not in repr(script)
    assert "0123456789abcdef" not in repr(script)
    assert only(script, "GRPOConfig").arguments["hub_token"].known


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("import trl\nx = trl.GRPOConfig()", "trl.GRPOConfig"),
        ("import trl as t\nx = t.GRPOConfig()", "trl.GRPOConfig"),
        ("import trl.trainer.grpo_config as g\nx = g.GRPOConfig()", "trl.trainer.grpo_config.GRPOConfig"),
        ("from trl import GRPOConfig as C\nx = C()", "trl.GRPOConfig"),
        (
            "try:\n    from trl import GRPOConfig\nexcept ImportError:\n    GRPOConfig = None\nGRPOConfig()",
            "trl.GRPOConfig",
        ),
        ("def f():\n    from trl import GRPOConfig\n    return GRPOConfig()", "trl.GRPOConfig"),
    ],
)
def test_imports_and_aliases(source: str, origin: str) -> None:
    assert only(from_text(source), "GRPOConfig").origin == origin


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("5e-7", 5e-7),
        ("-1", -1),
        ("2 ** 10", 1024),
        ("1 << 4", 16),
        ("8 * 4 // 2", 16),
        ("not True", False),
        ("None", None),
        ("['a', 'b']", ["a", "b"]),
        ("('a', 1)", ("a", 1)),
        ("{'a': {'b': 1}}", {"a": {"b": 1}}),
        ("dict(a=1)", {"a": 1}),
        ("'a' 'b'", "ab"),
        ("'a' + 'b'", "ab"),
        ("f'x{1 + 1}'", "x2"),
        ("torch.bfloat16", "bfloat16"),
        ("torch.half", "float16"),
        ("IntervalStrategy.STEPS", "steps"),
        ("TaskType.CAUSAL_LM", "CAUSAL_LM"),
        ("float('inf')", float("inf")),
        ("os.path.join('a', 'b')", "a/b"),
        ("str(Path('a') / 'b')", "a/b"),
        ("os.path.join(os.path.dirname(__file__), 'ds.json')", "/nowhere/ds.json"),
        ("str(Path(__file__).parent / 'ds.json')", "/nowhere/ds.json"),
        ("4 if True else 8", 4),
        ("None or 8", 8),
        ("CONFIG['lr']", 1e-6),
        ("CONFIG['inner']['x']", 3),
        ("SIZES[1]", 20),
        ("min(3, 4)", 3),
    ],
)
def test_expressions_whose_value_is_told(expression: str, value: object) -> None:
    body = (
        "import os, torch\nfrom pathlib import Path\nfrom peft import TaskType\n"
        "from transformers.trainer_utils import IntervalStrategy\n"
        "CONFIG = {'lr': 1e-6, 'inner': {'x': 3}}\nSIZES = [10, 20]\n"
        f"c = GRPOConfig(value={expression})"
    )
    setting = written(body).arguments["value"]
    assert setting.known
    assert setting.value == value


@pytest.mark.parametrize(
    "expression",
    [
        "os.environ.get('LR', 1e-6)",
        "os.environ['LR']",
        "int(os.getenv('N', '8'))",
        "twice",
        "changing",
        "grown",
        "unknown_name",
        "call()",
        "CONFIG['lr']",
        "10 ** 10 ** 10",
        "'x' * 10 ** 9",
        "1 / 0",
        "f'{1:03d}'",
        "[x for x in (1, 2)]",
        "loop",
        "circle",
        "True if os.path.exists('x') else False",
    ],
)
def test_expressions_whose_value_only_running_tells(expression: str) -> None:
    body = (
        "import os, sys\nif sys.argv[1:]:\n    twice = 1\nelse:\n    twice = 2\n"
        "changing = 1\nchanging += 1\ngrown = [1]\ngrown.append(2)\ncircle = circle_b\ncircle_b = circle\n"
        "CONFIG = {'lr': 1}\nCONFIG['lr'] = float(sys.argv[1])\nfor loop in (1, 2):\n    pass\n"
        f"c = GRPOConfig(value={expression})"
    )
    setting = written(body).arguments["value"]
    assert not setting.known
    assert not setting.known
    assert setting.text == expression


def test_rebinding_in_a_straight_line_takes_the_last_before_the_call() -> None:
    call = written("lr = 1\nlr = 2\nc = GRPOConfig(learning_rate=lr)\nlr = 3")
    assert call.arguments["learning_rate"].value == 2


def test_dictionaries_are_unpacked_with_what_changes_them() -> None:
    script = read("grpo_dict.py")
    known, args = script.calls_of("GRPOConfig")
    assert values(known) == {
        "output_dir": "out", "learning_rate": 1e-6, "bf16": True, "num_generations": 8, "seed": 42, "beta": 0.0,
        "logging_steps": 5, "max_steps": 10,
    }  # fmt: skip
    assert not known.has_star_kwargs
    found = values(args)
    assert found["learning_rate"] == 2e-6
    assert found["use_vllm"] is True
    assert found["vllm_mode"] == "?"  # a branch may change it
    assert "vllm_server_port" not in found  # a branch may add it
    assert args.has_star_kwargs


@pytest.mark.parametrize("stars", ["**load()", "**vars(args)", "**{k: 1 for k in x}", "*more"])
def test_hidden_arguments_are_said_to_be_hidden(stars: str) -> None:
    assert written(f"c = GRPOConfig({stars}, seed=1)" if stars != "*more" else "c = GRPOConfig(*more)").has_star_kwargs


def test_nested_dictionaries_are_kept_key_by_key() -> None:
    call = only(read("grpo_plain.py"), "GRPOConfig")
    assert call.nested["model_init_kwargs.dtype"].value == "bfloat16"
    deep = written("c = GRPOConfig(deepspeed={'zero_optimization': {'stage': 3, 'x': unknown()}})")
    assert deep.nested["deepspeed.zero_optimization.stage"].value == 3
    assert not deep.arguments["deepspeed"].known


def test_positional_arguments_get_their_names() -> None:
    call = only(read("grpo_aliased.py"), "GRPOTrainer")
    assert list(call.arguments) == ["model", "reward_funcs", "args", "train_dataset"]
    assert call.arguments["model"].value == "Qwen/Qwen2.5-1.5B"
    config = only(read("grpo_aliased.py"), "GRPOConfig")
    assert values(config) == {"output_dir": "out", "learning_rate": 1e-6, "num_generations": 16}


def test_columns_count_characters_not_bytes() -> None:
    line = 'c = GRPOConfig(run_name="训练", seed=1)'
    place = written(line).arguments["seed"].place
    assert place is not None
    assert place.column == line.index("seed") + 1


def test_which_calls_are_kept() -> None:
    names = {call.origin for call in read("grpo_plain.py").calls}
    assert names == {
        "datasets.load_dataset", "transformers.AutoTokenizer.from_pretrained",
        "transformers.AutoModelForCausalLM.from_pretrained", "peft.LoraConfig", "trl.GRPOConfig", "trl.GRPOTrainer",
    }  # fmt: skip
    others = from_text(
        "import wandb, deepspeed, torch, vllm, transformers\nfrom torch.distributed.fsdp import fully_shard\n"
        "wandb.init()\ndeepspeed.initialize()\ntorch.amp.GradScaler('cuda')\nvllm.LLM('m')\nfully_shard(m)\n"
        "transformers.BitsAndBytesConfig(load_in_4bit=True)\ntransformers.Qwen2Config()\nfoo.init()\n"
    )
    assert [call.name for call in others.calls] == [
        "init", "initialize", "GradScaler", "LLM", "fully_shard", "BitsAndBytesConfig",
    ]  # fmt: skip
    assert only(others, "LLM").arguments["model"].value == "m"


def test_links_lead_to_the_calls_behind_the_arguments() -> None:
    script = read("grpo_plain.py")
    trainer = only(script, "GRPOTrainer")
    behind = {name: script.call_at(link.place) for name, link in trainer.links.items()}
    assert {name: call.name for name, call in behind.items() if call} == {
        "model": "from_pretrained", "args": "GRPOConfig", "train_dataset": "load_dataset",
        "processing_class": "from_pretrained", "peft_config": "LoraConfig",
    }  # fmt: skip
    assert trainer.links["train_dataset"].direct  # shuffling keeps the columns
    assert trainer.trains


def test_a_dataset_that_is_changed_on_the_way_is_not_direct() -> None:
    trainer = only(read("grpo_aliased.py"), "GRPOTrainer")
    assert not trainer.links["train_dataset"].direct


def test_modules_beside_the_script_are_read() -> None:
    script = read("neighbours/train.py")
    config = only(script, "GRPOConfig")  # the one under `if __name__` of rewards.py does not run
    assert config.place.file.endswith("settings.py")
    assert config.arguments["learning_rate"].value == 1e-6
    assert only(script, "GRPOTrainer").arguments["model"].value == "Qwen/Qwen2.5-7B"
    assert [(each.name, Path(each.place.file).name, each.returns) for each in script.reward_functions] == [
        ("format_reward", "rewards.py", ("list",)),
        ("lengths", "rewards.py", ("scalar",)),
    ]


def test_neighbours_have_limits(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"part{number}.py").write_text("import peft\nx = peft.LoraConfig()\n")
    (tmp_path / "train.py").write_text("".join(f"from part{number} import x\n" for number in range(40)))
    path = tmp_path / "train.py"
    assert len(read_script(str(path), path.read_bytes()).calls) == 20


# --- parsers, flags, environment, names ---


def test_arguments_parsers() -> None:
    script = read("grpo_parser.py")
    assert script.parser == "TrlParser"
    assert script.reads_config
    assert script.parses_arguments_into == ("GRPOScriptArguments", "GRPOConfig", "ModelConfig")
    local = script.classes["GRPOScriptArguments"]
    assert (local.base, list(local.fields)) == ("ScriptArguments", ["reward_weight", "note"])
    link = only(script, "GRPOTrainer").links["args"]
    assert link.parsed_class == "GRPOConfig"
    assert link.changes["remove_unused_columns"].value is False


def test_argparse_flags() -> None:
    script = read("grpo_argparse.py")
    assert script.flags_variable == "args"
    assert script.flags["lr"].default == 1e-6
    assert script.flags["generations"].names == ("-g", "--generations")
    assert script.flags["checkpointing"].default is True
    assert not script.flags["model"].has_default
    assert script.flags["steps"].converts_to == ""


def test_environment_variables_that_the_script_sets() -> None:
    found = read("grpo_plain.py").environment_set
    assert found["NCCL_DEBUG"].value == "INFO"
    assert found["TOKENIZERS_PARALLELISM"].value == "false"
    assert not found["NCCL_IB_DISABLE"].known  # only in a branch
    assert found["WANDB_API_KEY"].value == "***"


def test_names_bound_to_literals() -> None:
    found = read("grpo_plain.py").names
    assert (found["G"].value, found["MODEL"].value) == (8, "Qwen/Qwen2.5-0.5B-Instruct")


# --- comments ---


def test_ignore_comments() -> None:
    found = {(each.id, each.line, each.reason) for each in read("grpo_plain.py").ignores}
    assert found == {
        ("TRL013", None, "the smoke run is this small on purpose"),
        ("TRL2205/unknown", 44, "pinned to the old release"),
        ("TRL2205/removed", 44, "pinned to the old release"),
    }


def test_an_ignore_comment_on_its_own_line_stands_for_the_next_line_of_code() -> None:
    text = (
        "import trl\n\n# doctor: ignore[TRL2205/deprecated] why\n\n# more\n"
        "x = trl.GRPOConfig(\n    # doctor: ignore[TRL005]\n    seed=1,\n)\n"
    )
    assert [(each.id, each.line, each.reason) for each in read_ignores(text)] == [
        ("TRL2205/deprecated", 6, "why"),
        ("TRL005", 8, ""),
    ]


def test_strings_are_no_comments() -> None:
    assert read_ignores('x = "# doctor: ignore[TRL2205/unknown]"\n') == ()


# --- reward functions ---


@pytest.fixture(scope="module")
def zoo() -> dict[str, RewardFunction]:
    return {each.name: each for each in read("rewards_zoo.py").reward_functions}


@pytest.mark.parametrize(
    ("name", "returns"),
    [
        ("good_list", ("list",)),
        ("grown", ("list",)),
        ("scaled", ("list",)),
        ("scalar", ("scalar",)),
        ("forgets_to_return", ("none",)),
        ("bare_return", ("none", "list")),
        ("early", ("list", "none")),
        ("exhaustive", ("list",)),  # the branches may cover every case
        ("text", ("str",)),
        ("array", ("unknown",)),
        ("summed_tensor", ("unknown",)),
        ("asynchronous", ("list",)),
        ("raises", ()),
        ("either", ("none", "list")),
        ("by_helper", ("unknown",)),
        ("without_gradients", ("list",)),
        ("length_reward", ("list",)),
        ("Judge", ("list",)),
        ("score", ("list",)),
        ("<lambda>", ("scalar",)),
    ],
)
def test_kinds_of_returns(zoo: dict[str, RewardFunction], name: str, returns: tuple[str, ...]) -> None:
    assert zoo[name].returns == returns


def test_parameters_as_the_trainer_sees_them(zoo: dict[str, RewardFunction]) -> None:
    assert zoo["scaled"].parameters == ("completions",)  # partial has filled `weight`
    assert zoo["Judge"].parameters == ("prompts", "completions")  # without self
    assert (zoo["scalar"].has_var_keyword, zoo["good_list"].has_var_keyword) == (False, True)
    assert zoo["asynchronous"].is_async
    assert zoo["bare_return"].return_places[0].line == 36


def test_what_a_decorator_may_change_is_left_out(zoo: dict[str, RewardFunction]) -> None:
    assert "decorated" not in zoo


# --- what cannot be read ---


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"x = (1,\ny = 2\n", 1, "was never closed"),
        (b"a = 1\nprint 'x'\n", 2, "print"),
        (b"x = 1\n\0", 2, "null bytes"),
        (b"# coding: nonsense-8\nx = 1\n", 1, "encoding"),
        (b"x = 1\ny = '\xff'\n", 2, "not utf-8 text"),
        (b"if True:\nx = 1\n", 2, "indent"),
    ],
)
def test_broken_scripts_say_where(content: bytes, line: int, message: str) -> None:
    broken = read_script("t.py", content).broken
    assert broken is not None
    assert broken.place.line == line
    assert message in broken.message


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows the syntax")
@pytest.mark.parametrize("text", ["type X = int\n", "def f[T](x: T) -> T: ...\n", 'x = f"{d["a"]}"\n'])
def test_a_script_for_a_newer_python_says_which(text: str) -> None:
    broken = from_text(text).broken
    assert broken is not None
    assert "need Python 3.12" in broken.message


def test_other_encodings_are_read() -> None:
    content = "# -*- coding: gbk -*-\nfrom trl import GRPOConfig\nGRPOConfig(run_name='训练')\n".encode("gbk")
    assert only(read_script("t.py", content), "GRPOConfig").arguments["run_name"].value == "训练"


@pytest.mark.parametrize(
    "text", ["x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1", "x = " + "1+" * 60_000 + "1"]
)
def test_deep_nesting_is_no_crash(text: str) -> None:
    found = from_text(text)
    assert found.broken is None or "nested" in found.broken.message


def test_long_chains_are_read() -> None:
    text = "from trl import GRPOConfig\nif a == 0:\n    pass\n" + "".join(
        f"elif a == {each}:\n    c = GRPOConfig(seed={each})\n" for each in range(1, 80)
    )
    assert len(from_text(text).calls_of("GRPOConfig")) == 79


def test_doubling_names_do_not_take_for_ever() -> None:
    lines = ["x0 = [1, 2]", *(f"x{each} = x{each - 1} + x{each - 1}" for each in range(1, 24))]
    assert not written("\n".join([*lines, "c = GRPOConfig(value=x23)"])).arguments["value"].known


@given(st.binary(max_size=400))
def test_random_bytes(content: bytes) -> None:
    assert isinstance(read_script("t.py", content), Script)


def _pieces() -> Iterator[bytes]:
    for path in sorted(SCRIPTS.rglob("*.py")):
        yield path.read_bytes()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=150)
@given(st.sampled_from(list(_pieces())), st.data())
def test_truncated_and_spliced_scripts(content: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(content)))
    resume = data.draw(st.integers(cut, len(content)))
    insert = data.draw(st.sampled_from([b"", b"(", b"**x", b"\t", b"\xff", b"lambda", b":=", b"\n    "]))
    assert isinstance(read_script("t.py", content[:cut] + insert + content[resume:]), Script)


# --- finding the script ---


def collected(tmp_path: Path, **launch: object) -> Script:
    context = Context(("python", "train.py"), cwd=tmp_path)
    return script_fact.collect(context, Launch(("python", "train.py"), "python", **launch))  # type: ignore[arg-type]


def test_modules_and_folders_are_scripts_too(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "train.py").write_text("x = 1\n")
    (tmp_path / "pkg" / "__main__.py").write_text("y = 1\n")
    assert collected(tmp_path, module="pkg.train").path == str(tmp_path / "pkg" / "train.py")
    assert collected(tmp_path, script=str(tmp_path / "pkg")).path.endswith("__main__.py")


def test_a_notebook_is_read_as_one_script(tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "!pip list\\nimport trl"}]}')
    found = collected(tmp_path, script=str(tmp_path / "nb.ipynb"))
    assert (found.broken, "trl" in found.imports) == (None, True)
    (tmp_path / "no.ipynb").write_text("{}")
    broken = collected(tmp_path, script=str(tmp_path / "no.ipynb")).broken
    assert broken is not None
    assert "not a readable notebook" in broken.message


@pytest.mark.parametrize("name", ["absent.py", "folder", "huge.py", "fifo.py", "loop.py"])
def test_what_is_no_readable_script_is_broken(tmp_path: Path, name: str) -> None:
    import os

    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(5 << 20)
    os.mkfifo(tmp_path / "fifo.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    broken = collected(tmp_path, script=str(tmp_path / name)).broken
    assert broken is not None
    assert name in broken.place.file
    assert broken.message.startswith("it ")


def test_a_name_longer_than_a_file_system_takes_is_a_broken_file(tmp_path: Path) -> None:
    launch = Launch(("python", "a" * 5000), "python", script=str(tmp_path / ("a" * 5000)))
    found = script_fact.collect(Context(launch.argv, cwd=tmp_path), launch)
    assert found.broken is not None
    assert "too long" in found.broken.message
