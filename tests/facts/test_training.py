"""Script, YAML and command line laid over each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.evidence import Place
from doctor.base.fact import Context, Unavailable
from doctor.facts.launch import Launch
from doctor.facts.packages import Distribution, Packages
from doctor.facts.training import LLAMAFACTORY, SWIFT, Training, effective_value
from doctor.readers.command import training as training_fact
from doctor.readers.command.launchers import understand
from doctor.readers.command.training import effective
from doctor.readers.script import script as script_fact
from tests.facts.command_facts import fact_of

SCRIPTS = Path(__file__).parents[1] / "samples" / "scripts"


def trained(*argv: str, cwd: Path = SCRIPTS) -> Training:
    """The fact for a whole command, read as `doctor check -- argv` reads it."""
    context = Context(argv, cwd=cwd)
    launch = understand(argv, str(cwd))
    script = None if launch.kind in {"trl", "swift"} else script_fact.collect(context, launch)
    return training_fact.collect(context, launch, script)


def from_text(folder: Path, text: str, *words: str) -> Training:
    (folder / "train.py").write_text(text)
    return trained("python", "train.py", *words, cwd=folder)


def values(training: Training) -> dict[str, object]:
    return {name: each.value if each.known else "?" for name, each in training.arguments.items()}


# --- scripts alone ---


def test_a_plain_script() -> None:
    found = trained("accelerate", "launch", "grpo_plain.py")
    assert (found.trainer, found.config_class, found.config_origin) == ("GRPOTrainer", "GRPOConfig", "trl.GRPOConfig")
    assert found.complete
    assert found.value("num_generations") == 8
    assert found.model is not None
    assert found.model.value == "Qwen/Qwen2.5-0.5B-Instruct"
    assert found.model_arguments["torch_dtype"].value == "bfloat16"
    assert found.lora is not None
    assert found.lora["r"].value == 16
    assert found.dataset is not None
    assert (found.dataset.value, found.dataset_processed) == ("prompts.jsonl", False)
    assert [each.name for each in found.reward_functions] == ["format_reward"]
    assert found.set_later == {"bf16", "gradient_accumulation_steps"}


def test_the_trainer_that_trains_is_taken() -> None:
    found = trained("python", "two_stages.py")
    assert found.trainer == "GRPOTrainer"
    assert values(found) == {"output_dir": "grpo", "learning_rate": 1e-6}
    assert found.complete


def test_of_two_branches_only_what_both_say_is_told() -> None:
    found = trained("python", "branches.py")
    assert values(found) == {"output_dir": "out", "learning_rate": 1e-5}
    assert not found.complete
    assert found.lora is not None  # an adapter may come in
    assert not found.lora["r"].known


def test_a_configuration_in_a_class_with_replace() -> None:
    found = trained("python", "in_a_class.py")
    assert values(found) == {
        "output_dir": "o", "learning_rate": 3e-6, "per_device_train_batch_size": 4, "beta": 0.04,
    }  # fmt: skip
    assert found.set_later == frozenset()  # `replace` calls the constructor again
    assert found.reward_functions[0].parameters == ("completions",)


def test_unsloth() -> None:
    found = trained("python", "unsloth_grpo.py")
    assert found.lora is not None
    assert found.lora["lora_alpha"].value == 64
    assert found.model is not None
    assert found.model.value == "unsloth/Qwen3-4B-Base"
    assert found.value("max_completion_length") == 768


def test_nothing_to_train() -> None:
    found = trained("python", "nothing_to_train.py")
    assert (found.trainer, found.config_class, found.complete) == (None, None, False)


def test_a_trainer_without_configuration_has_all_defaults(tmp_path: Path) -> None:
    found = from_text(tmp_path, "from trl import GRPOTrainer\nGRPOTrainer(model='m', reward_funcs=f).train()\n")
    assert (found.config_class, values(found), found.complete) == ("GRPOConfig", {}, True)


def test_two_trainers_that_both_train_are_unclear(tmp_path: Path) -> None:
    text = (
        "from trl import SFTTrainer, SFTConfig\n"
        "for lr in (1, 2):\n    pass\n"
        "a = SFTTrainer('m', SFTConfig('a'))\na.train()\nb = SFTTrainer('m', SFTConfig('b'))\nb.train()\n"
    )
    found = from_text(tmp_path, text)
    assert found.value("output_dir") == "b"
    assert not found.complete


@pytest.mark.parametrize("stars", ["**load()", "**vars(args)"])
def test_hidden_arguments_make_it_incomplete(tmp_path: Path, stars: str) -> None:
    text = f"from trl import GRPOConfig, GRPOTrainer\nGRPOTrainer('m', f, GRPOConfig({stars})).train()\n"
    assert not from_text(tmp_path, text).complete


def test_a_configuration_class_of_a_fork_keeps_only_known_names(tmp_path: Path) -> None:
    text = (
        "from open_r1.configs import GRPOConfig\nfrom trl import GRPOTrainer\n"
        "GRPOTrainer('m', f, GRPOConfig(output_dir='o', benchmarks=['aime'], evaluation_strategy='no')).train()\n"
    )
    found = from_text(tmp_path, text)
    assert found.config_origin == "open_r1.configs.GRPOConfig"
    assert values(found) == {"output_dir": "o", "evaluation_strategy": "no"}


# --- parsers ---


CONFIG = """\
env:
  WANDB_API_KEY: 0123456789abcdef
  NCCL_DEBUG: INFO
model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: rows.jsonl
learning_rate: 1e-5
bf16: yes
use_peft: true
lora_r: 8
lora_target_modules: [q_proj, v_proj]
torch_dtype: bfloat16
reward_weight: 2.0
model_init_kwargs:
  attn_implementation: flash_attention_2
max_promt_length: 512
"""


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "train.py").write_text((SCRIPTS / "grpo_parser.py").read_text())
    return tmp_path


def test_yaml_then_command_line(parsed: Path) -> None:
    found = trained(
        "python", "train.py", "--config", "config.yaml", "--learning-rate", "2e-6", "--report_to", "none", cwd=parsed
    )
    assert found.complete
    assert found.value("learning_rate") == 2e-6
    assert found.arguments["learning_rate"].place is None
    bf16 = found.arguments["bf16"]
    assert bf16.value is True
    assert bf16.place is not None
    assert (Path(bf16.place.file).name, bf16.place.line, bf16.place.column) == ("config.yaml", 7, 1)
    assert found.value("report_to") == "none"
    assert found.value("remove_unused_columns") is False  # set in `main`
    assert found.value("max_promt_length") == 512  # nobody's: a mistake to be reported
    assert "reward_weight" not in found.arguments  # the script's own
    assert "lora_r" not in found.arguments


def test_what_else_the_yaml_says(parsed: Path) -> None:
    found = trained("python", "train.py", "--config", "config.yaml", cwd=parsed)
    assert found.value("learning_rate") == 1e-5  # text in YAML, a number for argparse
    assert found.model is not None
    assert found.model.value == "Qwen/Qwen2.5-0.5B"
    assert found.dataset is not None
    assert found.dataset.value == "rows.jsonl"
    assert found.lora is not None
    assert {name: each.value for name, each in found.lora.items()} == {"r": 8, "target_modules": ["q_proj", "v_proj"]}
    assert found.model_arguments["torch_dtype"].value == "bfloat16"
    assert found.model_arguments["attn_implementation"].value == "flash_attention_2"
    assert found.environment_set["NCCL_DEBUG"].value == "INFO"
    assert "0123456789abcdef" not in repr(found)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--bf16"], "bf16", True),
        (["--bf16", "False"], "bf16", False),
        (["--bf16=no"], "bf16", False),
        (["--no_gradient_checkpointing"], "gradient_checkpointing", False),
        (["--per-device-train-batch-size", "4"], "per_device_train_batch_size", 4),
        (["--learning_rate=1e-5"], "learning_rate", 1e-5),
        (["--eval_strategy", "no"], "eval_strategy", "no"),
        (["--evaluation_strategy", "steps"], "evaluation_strategy", "steps"),
        (["--model_init_kwargs", '{"dtype": "auto"}'], "model_init_kwargs", {"dtype": "auto"}),
        (["--vllm_gpu_memory_utilization", ".5"], "vllm_gpu_memory_utilization", 0.5),
        (["--max_steps", "-1"], "max_steps", -1),
    ],
)
def test_the_command_line_is_read_as_the_parser_reads_it(
    parsed: Path, words: list[str], name: str, value: object
) -> None:
    found = trained("python", "train.py", *words, cwd=parsed)
    assert found.value(name) == value


def test_fields_of_the_scripts_own_classes_are_no_abbreviations(parsed: Path) -> None:
    text = (parsed / "train.py").read_text().replace('note: str = "none"', "learning: int = 3")
    (parsed / "train.py").write_text(text)
    assert "learning_rate" not in trained("python", "train.py", "--learning", "4", cwd=parsed).arguments
    assert trained("python", "train.py", "--learning_r", "4", cwd=parsed).value("learning_rate") == 4.0


def test_a_broken_yaml_is_told(parsed: Path) -> None:
    (parsed / "config.yaml").write_text("learning_rate: 1\n  bad: [\n")
    found = trained("python", "train.py", "--config", "config.yaml", cwd=parsed)
    assert found.broken is not None
    assert found.broken.place.line == 2
    assert not found.complete
    absent = trained("python", "train.py", "--config", "absent.yaml", cwd=parsed)
    assert absent.broken is not None
    assert "does not exist" in absent.broken.message


def test_a_script_that_tolerates_unknown_arguments(parsed: Path) -> None:
    text = (parsed / "train.py").read_text().replace("_and_config()", "_and_config(fail_with_unknown_args=False)")
    (parsed / "train.py").write_text(text)
    found = trained("python", "train.py", "--config", "config.yaml", cwd=parsed)
    assert "max_promt_length" not in found.arguments


def test_a_subclass_of_training_arguments() -> None:
    found = trained("python", "subclassed.py", "--learning_rate", "1e-5", "--model_max_length", "4096")
    assert (found.trainer, found.config_class) == ("Trainer", "TrainingArguments")
    assert values(found) == {"optim": "adamw_torch", "learning_rate": 1e-5}
    assert found.model is not None
    assert found.model.value == "facebook/opt-125m"


def test_an_args_file_beside_the_script(parsed: Path) -> None:
    (parsed / "train.args").write_text("--learning_rate 3e-6\n--bf16\n")
    found = trained("python", "train.py", "--learning_rate", "4e-6", cwd=parsed)
    assert (found.value("learning_rate"), found.value("bf16")) == (4e-6, True)


BY_DEFAULT = {
    "learning_rate": 1e-6, "num_generations": 8, "use_vllm": False, "gradient_checkpointing": True, "max_steps": 5,
}  # fmt: skip
TYPED = {
    "learning_rate": 2.0, "num_generations": 4, "use_vllm": True, "gradient_checkpointing": False, "max_steps": "?",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", BY_DEFAULT),
        ("--lr 2 -g 4 --vllm --no-ckpt --steps 9", TYPED),
        ("--lr=2 -g=4 --vllm --no-ckpt --steps 9", TYPED),
    ],
)
def test_plain_argparse(words: str, expected: dict[str, object]) -> None:
    found = trained("python", "grpo_argparse.py", "--model", "m", *words.split())
    assert values(found) == {"output_dir": "out", "beta": "?", **expected}
    assert found.model is not None
    assert found.model.value == "m"


# --- trl grpo ---


def test_trl_without_a_script(parsed: Path) -> None:
    found = trained("trl", "grpo", "--config", "config.yaml", "--num_processes", "2", "--lora_alpha", "16", cwd=parsed)
    assert (found.trainer, found.config_class) == ("GRPOTrainer", "GRPOConfig")
    assert found.complete
    assert found.value("learning_rate") == 1e-5
    assert "num_processes" not in found.arguments  # accelerate's
    assert found.lora is not None
    assert found.lora["lora_alpha"].value == 16
    assert found.model_arguments["attn_implementation"].value == "flash_attention_2"
    assert not found.dataset_processed


def test_a_mixture_of_datasets_goes_first(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("dataset_name: a\ndatasets:\n  - path: json\n    data_files: b.jsonl\n")
    found = trained("trl", "sft", "--config", "c.yaml", cwd=tmp_path)
    assert found.dataset is not None
    assert found.dataset.value == "b.jsonl"


# --- commands that train nothing of ours ---


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("vllm", "serve", "m"), "starts no training"),
        (("python", "-m", "verl.trainer.main_ppo"), "veRL"),
        (("trinity", "run", "--config", "x.yaml"), "Trinity"),
    ],
)
def test_other_commands_are_unavailable(argv: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=reason):
        training_fact.collect(Context(argv, cwd=tmp_path), understand(argv, str(tmp_path)), None)


def test_a_broken_script_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="line 1"):
        from_text(tmp_path, "x = (\n")


# --- effective values ---


def packages(**versions: str) -> Packages:
    return Packages({name: Distribution(name, version) for name, version in versions.items()})


STACK = packages(trl="0.22.1", transformers="4.56.1")


def test_an_explicit_setting_is_effective() -> None:
    found = trained("python", "grpo_plain.py")
    explicit = effective_value(found, STACK, "num_generations")
    assert explicit is found.arguments["num_generations"]
    assert effective_value(found, STACK, "save_steps") is None  # written, but not known
    assert effective(found, "beta", 0.5) is not None


def test_defaults_of_the_installed_release() -> None:
    found = trained("python", "grpo_plain.py")
    beta = effective_value(found, STACK, "beta")
    assert beta is not None
    assert (beta.value, beta.place, beta.text) == (0.0, None, "default of TRL 0.22.1")
    older = effective_value(found, packages(trl="0.18.0", transformers="4.56.1"), "beta")
    assert older is not None
    assert older.value == 0.04
    inherited = effective_value(found, STACK, "max_grad_norm")
    assert inherited is not None
    assert (inherited.value, inherited.text) == (1.0, "default of Transformers 4.56.1")


def test_bf16_follows_fp16_where_trl_makes_it_so(tmp_path: Path) -> None:
    text = "from trl import GRPOConfig, GRPOTrainer\nGRPOTrainer('m', f, GRPOConfig({})).train()\n"
    for arguments, expected in (("", True), ("fp16=True", False)):
        found = effective_value(from_text(tmp_path, text.format(arguments)), STACK, "bf16")
        assert found is not None
        assert found.value is expected


@pytest.mark.parametrize(
    "installed",
    [packages(), packages(trl="99.0", transformers="4.56.1"), packages(trl="0.12.0", transformers="4.56.1")],
)
def test_unknown_releases_have_no_defaults(installed: Packages) -> None:
    assert effective_value(trained("python", "two_stages.py"), installed, "beta") is None


def test_incomplete_settings_have_no_defaults() -> None:
    found = trained("python", "branches.py")
    assert effective_value(found, STACK, "beta") is None
    assert effective(found, "beta", 0.0) is None


def test_launch_kind_matters() -> None:
    with pytest.raises(Unavailable):
        training_fact.collect(Context(), Launch((), "unknown"), None)


# --- ms-swift ---


def test_swift_hands_on_what_means_the_same(tmp_path: Path) -> None:
    command = (
        "swift rlhf --rlhf_type grpo --model ./m --torch_dtype bfloat16 --attn_impl flash_attn --lora_rank 16"
        " --target_modules q_proj v_proj --quant_method bnb --quant_bits 4 --num_generations 6 --use_vllm true"
        " --vllm_mode colocate --vllm_gpu_memory_utilization 0.5 --report_to wandb --loss_type dapo"
        " --eval_strategy steps"
    )
    found = trained(*command.split(), cwd=tmp_path)
    assert (found.trainer, found.config_class, found.config_origin, found.complete) == (None, None, SWIFT, False)
    assert values(found) == {
        "rlhf_type": "grpo", "num_generations": 6, "use_vllm": True, "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": 0.5, "report_to": "wandb", "quant_method": "bnb", "quant_bits": 4,
    }  # fmt: skip
    assert found.lora is not None
    assert {name: each.value for name, each in found.lora.items()} == {
        "r": 16, "target_modules": ["q_proj", "v_proj"]
    }  # fmt: skip
    assert {name: each.value for name, each in found.model_arguments.items()} == {
        "torch_dtype": "bfloat16", "attn_implementation": "flash_attention_2", "load_in_4bit": True
    }  # fmt: skip
    assert found.model is not None
    assert found.model.value == "./m"


def test_swift_trains_with_lora_unless_told(tmp_path: Path) -> None:
    assert trained("swift", "sft", "--model", "m", cwd=tmp_path).lora == {}
    assert trained("swift", "sft", "--model", "m", "--target_modules", "all-linear", cwd=tmp_path).lora == {}
    for word in ("--tuner_type", "--train_type", "--sft_type"):
        assert trained("swift", "sft", "--model", "m", word, "full", cwd=tmp_path).lora is None


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("swift", "sft", "--model", "Qwen/Qwen3-8B"), False),  # ModelScope's
        (("swift", "sft", "--model", "Qwen/Qwen3-8B", "--use_hf", "true"), True),
        (("USE_HF=1", "swift", "sft", "--model", "Qwen/Qwen3-8B"), True),
        (("USE_HF=0", "swift", "sft", "--model", "Qwen/Qwen3-8B"), False),
        (("swift", "sft", "--model", "/data/m"), True),
    ],
)
def test_a_model_of_modelscope_has_other_rules(words: tuple[str, ...], tmp_path: Path, *, known: bool) -> None:
    assert (trained(*words, cwd=tmp_path).model is not None) is known


def test_swanlab_is_set_up_by_swift_itself(tmp_path: Path) -> None:
    found = trained("swift", "sft", "--model", "m", "--report_to", "swanlab", "tensorboard", cwd=tmp_path)
    assert "report_to" not in found.arguments


def test_swift_reads_its_file_below_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("rlhf_type: grpo\nnum_generations: 4\nmodel: ./m\n")
    found = trained("swift", "rlhf", "run.yaml", "--num_generations", "6", cwd=tmp_path)
    assert values(found) == {"rlhf_type": "grpo", "num_generations": 6}
    (tmp_path / "run.yaml").write_text("rlhf_type: [grpo\n")
    with pytest.raises(Unavailable, match=r"run\.yaml"):
        trained("swift", "rlhf", "run.yaml", cwd=tmp_path)


@pytest.mark.parametrize(("word", "value"), [("False", True), ("0", True), ("True", True), ("", False)])
def test_bool_of_a_word_is_true(tmp_path: Path, word: str, value: bool) -> None:
    """As `argparse` calls it with `type=bool`."""
    text = """
import argparse
from trl import SFTConfig, SFTTrainer
parser = argparse.ArgumentParser()
parser.add_argument("--packing", type=bool, default=False)
args = parser.parse_args()
SFTTrainer(model="m", args=SFTConfig(output_dir="o", packing=args.packing)).train()
"""
    assert values(from_text(tmp_path, text, "--packing", word))["packing"] is value


# --- LLaMA-Factory ---

LLAMA = """model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: dpo
lora_rank: 16
flash_attn: fa2
quantization_bit: 4
learning_rate: 1.0e-5
bf16: true
deepspeed: ds.json
cutoff_len: 2048
"""


def of_llamafactory(folder: Path, *words: str, text: str = LLAMA) -> Training:
    (folder / "run.yaml").write_text(text)
    found: Training = fact_of("training", " ".join((*words, "llamafactory-cli train run.yaml")), folder)
    return found


def test_llamafactory_hands_its_arguments_to_transformers(tmp_path: Path) -> None:
    found = of_llamafactory(tmp_path)
    assert (found.config_origin, found.complete, found.trainer) == (LLAMAFACTORY, False, None)
    assert values(found) == {"stage": "dpo", "learning_rate": 1e-5, "bf16": True, "deepspeed": "ds.json"}
    assert found.arguments["bf16"].place == Place(str(tmp_path / "run.yaml"), 7, 1)
    assert {name: each.value for name, each in (found.lora or {}).items()} == {"r": 16}
    assert {name: each.value for name, each in found.model_arguments.items()} == {
        "attn_implementation": "flash_attention_2", "load_in_4bit": True
    }  # fmt: skip


def test_llamafactory_trains_every_weight_where_it_is_told_to(tmp_path: Path) -> None:
    assert of_llamafactory(tmp_path, text=f"{LLAMA}finetuning_type: full\n").lora is None


@pytest.mark.parametrize(("variable", "known"), [("A=1", True), ("USE_MODELSCOPE_HUB=1", False)])
def test_a_name_of_another_hub_is_no_model_of_hugging_face(tmp_path: Path, variable: str, *, known: bool) -> None:
    assert (of_llamafactory(tmp_path, variable).model is not None) is known


def test_a_folder_is_a_model_whatever_the_hub(tmp_path: Path) -> None:
    text = LLAMA.replace("Qwen/Qwen2.5-7B-Instruct", "./m")
    assert of_llamafactory(tmp_path, "USE_MODELSCOPE_HUB=1", text=text).model is not None
