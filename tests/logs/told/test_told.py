"""A log is an environment report: what it tells becomes facts, checks judge them, and their findings join the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.base.evidence import UNKNOWN
from doctor.base.opened import NotSeen, seen_in
from doctor.catalogue.finding import Role
from doctor.catalogue.index import load
from doctor.cli.dev_lint import _faults_of_leads
from doctor.logs.postmortem import Postmortem, Prepared, examine, prepare
from doctor.logs.told.judged import world_in
from doctor.logs.told.lines import of_line
from doctor.logs.told.said import members, value_of

HEALTHY = sorted((Path(__file__).parents[2] / "healthy").glob("*.log"))


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def said(text: str) -> dict[str, Any]:
    return {f"{each.owner}:{each.name}": each.value for each in of_line(text, 1)}


# --- forms ---


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'max_model_len': 4096, 'enable_lora': True}",
            {"vllm:model_tag": "Qwen/Qwen3-8B", "vllm:max_model_len": 4096, "vllm:enable_lora": True},
        ),
        (
            ("Initializing a V1 LLM engine (v0.8.5) with config: model='m', dtype=torch.bfloat16, max_seq_len=2048, "
            "tensor_parallel_size=2, quantization=None, decoding_config=DecodingConfig(backend='auto', x=[1, 2])"),
            {"vllm:model": "m", "vllm:dtype": "bfloat16", "vllm:max_model_len": 2048, "vllm:tensor_parallel_size": 2,
             "vllm:quantization": None},
        ),
        (
            "args: Namespace(subparser='serve', host=None, port=8000, gpu_memory_utilization=0.9)",
            {"vllm:port": 8000, "vllm:gpu_memory_utilization": 0.9, "vllm:host": None},
        ),
        (
            "server_args=ServerArgs(model_path='m', tp_size=2, mem_fraction_static=0.88)",
            {"sglang:model_path": "m", "sglang:tp_size": 2},
        ),
        ("NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0", {"variable:NCCL_SOCKET_IFNAME": "eth0"}),
        ("export VLLM_USE_V1=0", {"variable:VLLM_USE_V1": "0"}),
        ("+ CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 2 train.py",
         {"variable:CUDA_VISIBLE_DEVICES": "0,1"}),
        ("  'NCCL_IB_DISABLE': '1', 'HOME_PAGE': 'x'", {"variable:NCCL_IB_DISABLE": "1"}),
        ("  NCCL_P2P_DISABLE: '1'", {"variable:NCCL_P2P_DISABLE": "1"}),
        ("$ docker run --gpus all -e NCCL_DEBUG=INFO --env='GLOO_SOCKET_IFNAME=eth0' -v a:b img torchrun train.py",
         {"variable:NCCL_DEBUG": "INFO", "variable:GLOO_SOCKET_IFNAME": "eth0"}),
        ("mpirun -np 8 -x NCCL_IB_HCA=mlx5_0 -x PATH python train.py", {"variable:NCCL_IB_HCA": "mlx5_0"}),
        (r"O^O/ \_/ \    Batch size per device = 6 | Gradient accumulation steps = 4",
         {"training:per_device_train_batch_size": 6, "training:gradient_accumulation_steps": 4}),
        ("  Instantaneous batch size per device = 8", {"training:per_device_train_batch_size": 8}),
        ("We will change the batch size of 1 to the `num_generations` of 8",
         {"training:per_device_train_batch_size": 8, "raised:per_device_train_batch_size": (1, 8, "num_generations")}),
        ("CUDA out of memory. GPU 1 has a total capacity of 79.25 GiB of which 1.00 MiB is free.",
         {"gpu:1.memory_total_bytes": int(79.25 * (1 << 30))}),
        (r"   \\   /|    Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. Platform: Linux.", {"gpu:0.name": "Tesla T4"}),
    ],
)  # fmt: skip
def test_lines_that_report(text: str, told: dict[str, Any]) -> None:
    found = said(text)
    assert {name: found.get(name, "not told") for name in told} == told


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --bf16 True --lr=1e-6",
        "+ python3 -u train.py --bf16 True --lr=1e-6",
        "(base) bob@gpu-1:~/x$ python train.py --bf16 True --lr=1e-6",
        "bob@gpu1:/data/run$ CUDA_VISIBLE_DEVICES=0 python3.11 src/train.py --bf16 True --lr=1e-6",
    ],
)
def test_a_script_that_plain_python_starts_is_a_command(text: str) -> None:
    (found,) = [value for name, value in said(text).items() if name.startswith("command:")]
    assert found[-3:] == ("--bf16", "True", "--lr=1e-6")


@pytest.mark.parametrize(
    "text",
    [
        "You can set NCCL_P2P_DISABLE=1 to see whether peer access is to blame",
        "start it by docker run with -e NCCL_P2P_DISABLE=1 to see",
        "Try `export NCCL_DEBUG=INFO` and run again",
        "ValueError: use VLLM_USE_V1=0 instead",
        "hint: VLLM_WORKER_MULTIPROC_METHOD=spawn is needed",
        "use torchrun --nproc_per_node 8 to start it on eight GPUs of this node, see the documentation for more",
        "accelerate launch was not found on this machine",
        "NCCL_IB_DISABLE=1 would help here",
        "python train.py failed with exit code 1",
        "run python train.py --help to see all options of this script",
        "  File train.py --bf16",
        "the batch size of 8",
    ],
)
def test_advice_and_prose_are_no_report(text: str) -> None:
    assert not said(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("torch.bfloat16", "bfloat16"), ("True", True), ("null", None), ("1e-06", 1e-06), ("'a, b'", "a, b"),
        ("<SaveStrategy.STEPS: 'steps'>", "steps"), ("PosixPath('/m')", "/m"), ("auto", "auto"),
        ("<function f at 0x7f>", UNKNOWN), ("LoRAConfig(r=8)", UNKNOWN), ("{'a': [1, 2]}", {"a": [1, 2]}),
    ],
)  # fmt: skip
def test_values_as_programs_print_them(text: str, value: Any) -> None:
    assert value_of(text) == value


def test_brackets_and_quotes_inside_values_do_not_divide_them() -> None:
    text = "Namespace(a='x, y=1', b=Config(c=[1, 2], d={'e': 3}), f=<object at 0x1, g>, h=\"it's\", i=2) and more=1"
    assert dict(members(text)) == {
        "a": "'x, y=1'", "b": "Config(c=[1, 2], d={'e': 3})", "f": "<object at 0x1, g>", "h": '"it\'s"', "i": "2",
    }  # fmt: skip
    assert members("{'a': 1, 'b': [1, 2") == [("a", "1")], "what is cut off is left out"


def test_secrets_in_dumps_are_hidden() -> None:
    found = said("args: Namespace(api_key='sk-0123456789abcdef0123456789', port=1)")
    assert "0123456789abcdef" not in repr(found)
    assert found["vllm:port"] == 1


# --- whole logs ---


def diagnosed(tmp_path: Path, prepared: Prepared, log: str, context: str = "") -> Postmortem:
    (tmp_path / "run.log").write_text(log)
    beside = []
    if context:
        beside.append(tmp_path / "context.txt")
        beside[0].write_text(context)
    return examine([str(tmp_path / "run.log")], context=beside, prepared=prepared)


def ids(found: Postmortem) -> list[tuple[str, str]]:
    assert not found.diagnosis.outcome.crashed, found.diagnosis.outcome.crashed[0].traceback
    return [(each.problem.id, each.role.value) for each in found.diagnosis.outcome.findings]


def traceback_of(message: str, *frames: str) -> str:
    shown = "".join(f'  File "{each}", line 7, in step\n    run()\n' for each in frames or ("/env/train.py",))
    return f"Traceback (most recent call last):\n{shown}{message}\n"


PRINTED = """
[rank0] TrainingArguments(
adam_beta1=0.9,
bf16=True,
max_steps=-1,
output_dir=out,
per_device_train_batch_size=4,
report_to=['none'],
)
"""
VERL = """
(TaskRunner pid=77) {'actor_rollout_ref': {'actor': {'ppo_mini_batch_size': 64,
(TaskRunner pid=77)                                  'strategy': 'fsdp'},
(TaskRunner pid=77)                        'rollout': {'n': 5, 'name': 'vllm'}},
(TaskRunner pid=77)  'data': {'train_batch_size': 128}}
"""
YAML = """
actor_rollout_ref:
  actor:
    ppo_mini_batch_size: 64
  rollout:
    n: 5
trainer:
  nnodes: 1
INFO done
"""
DEEPSPEED = """
[2026-11-20 10:00:00,000] [INFO] [config.py:1003:print_user_config]   json = {
    "train_batch_size": 16,
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu"}
    },
    "fp16": {"enabled": true}
}
"""


def test_printed_arguments_become_a_training(tmp_path: Path, prepared: Prepared) -> None:
    training = world_in(diagnosed(tmp_path, prepared, PRINTED).case).value("training")
    assert training.config_class == "TrainingArguments"
    assert training.value("per_device_train_batch_size") == 4
    place = training.get("bf16").place
    assert (Path(place.file).name, place.line) == ("run.log", 4)
    with pytest.raises(NotSeen):
        training.get("learning_rate")


@pytest.mark.parametrize("log", [VERL, YAML])
def test_printed_configurations_of_verl_become_its_configuration(tmp_path: Path, prepared: Prepared, log: str) -> None:
    config = world_in(diagnosed(tmp_path, prepared, log).case).value("verl_config")
    assert config.get("actor_rollout_ref.rollout.n").value == 5
    assert config.get("actor_rollout_ref.actor.ppo_mini_batch_size").value == 64
    with pytest.raises(NotSeen):
        config.get("algorithm.adv_estimator")


def test_deepspeeds_block_becomes_its_configuration(tmp_path: Path, prepared: Prepared) -> None:
    config = world_in(diagnosed(tmp_path, prepared, DEEPSPEED).case).value("deepspeed_config")
    assert config.zero_stage == 3
    assert config.offload("optimizer") == "cpu"
    assert config.precision == "fp16"


def test_a_command_becomes_a_launch_and_what_its_words_tell(tmp_path: Path, prepared: Prepared) -> None:
    world = world_in(diagnosed(tmp_path, prepared, "+ vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4\n").case)
    assert world.value("launch").kind == "vllm-serve"
    assert world.value("serving").tensor_parallel_size == 4


def test_versions_become_packages_of_which_no_others_are_known(tmp_path: Path, prepared: Prepared) -> None:
    log = "INFO Initializing a V1 LLM engine (v0.8.5) with config: model='m'\nNCCL version 2.21.5+cuda12.4\n"
    packages = world_in(diagnosed(tmp_path, prepared, log).case).value("packages")
    assert (packages.version("vllm"), packages.version("nccl")) == ("0.8.5", "2.21.5+cuda12.4")
    with pytest.raises(NotSeen):
        packages.version("torch")


SMI = """
[node1] +-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   30C    P0             70W /  700W |       4MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
PIP = """
Package                           Version
--------------------------------- ------------
accelerate                        1.6.0
torch                             2.6.0+cu124
trl                               0.17.0
training starts
"""


def test_tables_of_cards_and_packages_are_read(tmp_path: Path, prepared: Prepared) -> None:
    world = world_in(diagnosed(tmp_path, prepared, SMI + PIP).case)
    gpus = world.value("gpus")
    assert gpus.driver_version == "550.54.15"
    assert [(each.name, each.compute_capability) for each in gpus.gpus] == [("NVIDIA H100 80GB HBM3", (9, 0))]
    assert world.value("packages").version("trl") == "0.17.0"


def test_two_values_of_one_setting_leave_it_unknown(tmp_path: Path, prepared: Prepared) -> None:
    log = "NCCL_IB_DISABLE set by environment to 1\nNCCL_IB_DISABLE set by environment to 0\nexport NCCL_DEBUG=WARN\n"
    environment = world_in(diagnosed(tmp_path, prepared, log).case).value("environment")
    assert seen_in(environment)["variables"] == {"NCCL_DEBUG": "WARN"}


# --- the verdict ---

DIVIDES = traceback_of(
    "ValueError: The global train batch size (1 x 1) must be evenly divisible by the number of generations per prompt "
    "(1). Given the current train batch size, the valid values for the number of generations are: [].",
    "/env/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py",
)
GLOO = traceback_of(
    "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: ^lo",
    "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
)
MASKED = "".join(
    f"{{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-05, 'mean_token_accuracy': 0.0, 'epoch': 0.{step}}}\n"
    for step in range(1, 9)
)


@pytest.mark.parametrize(
    ("log", "context", "first"),
    [
        (DIVIDES, "num_generations=1\n", "TRL008"),
        (DIVIDES, "GRPOConfig(num_generations=1, per_device_train_batch_size=1)\n", "TRL008"),
        ("GLOO_SOCKET_IFNAME=^lo,docker0\n" + GLOO, "", "NCC003"),
        ("  'GLOO_SOCKET_IFNAME': '^lo,docker0',\n" + GLOO, "", "NCC003"),
        ("docker run --gpus all -e GLOO_SOCKET_IFNAME=^lo,docker0 img torchrun train.py\n" + GLOO, "", "NCC003"),
        ("  env:\n  - name: GLOO_SOCKET_IFNAME\n    value: ^lo,docker0\n" + GLOO, "", "NCC003"),
        (MASKED, "max_length=16, completion_only_loss=True\n", "TRL3133"),
        (MASKED, "SFTConfig(max_length=16, completion_only_loss=True)\n", "TRL3133"),
    ],
)
def test_what_a_check_predicts_is_the_cause(
    tmp_path: Path, prepared: Prepared, log: str, context: str, first: str
) -> None:
    found = ids(diagnosed(tmp_path, prepared, log, context))
    assert found[0] == (first, "cause")
    assert "cause" not in {role for _, role in found[1:]}
    assert not [each for each, _ in found if each.startswith("UNK")]


@pytest.mark.parametrize(
    ("log", "context", "not_first"),
    [
        (DIVIDES.replace("(1)", "(8)"), "num_generations=8\n", "TRL008"),
        (traceback_of("KeyError: 'prompt'"), "num_generations=1\n", "TRL008"),
        ("GLOO_SOCKET_IFNAME=eth0\n" + GLOO, "", "NCC003"),
        ("GLOO_SOCKET_IFNAME=^lo,docker0\n" + traceback_of("KeyError: 'prompt'"), "", "NCC003"),
        (MASKED, "max_length=512, completion_only_loss=True\n", "TRL3133"),
        (MASKED.replace("'loss': 0.0", "'loss': 1.25").replace("accuracy': 0.0", "accuracy': 0.5"),
         "max_length=16, completion_only_loss=True\n", "TRL3133"),
    ],
)  # fmt: skip
def test_what_does_not_follow_is_not_the_cause(
    tmp_path: Path, prepared: Prepared, log: str, context: str, not_first: str
) -> None:
    found = ids(diagnosed(tmp_path, prepared, log, context))
    assert (not_first, "cause") not in found


def test_the_cause_quotes_its_lines_and_those_of_the_failure(tmp_path: Path, prepared: Prepared) -> None:
    first = diagnosed(tmp_path, prepared, "GLOO_SOCKET_IFNAME=^lo\n" + GLOO).diagnosis.outcome.findings[0]
    assert [each.line for each in first.evidence] == [1, 5]
    assert (first.where.line, first.role) == (1, Role.CAUSE)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_no_healthy_log_is_accused_by_what_it_tells(prepared: Prepared, path: Path) -> None:
    found = examine([str(path)], prepared=prepared)
    assert not [each for each in found.diagnosis.outcome.findings if each.severity.value == "error"]
    assert not found.diagnosis.outcome.crashed


@pytest.mark.parametrize(
    ("leads_to", "fault"),
    [
        ("ZZZ999", "not a problem"),
        ("(unclosed", "not a pattern"),
        ("a*", "matches anything"),
        ("TRL008", None),
        ("x{2}", None),
    ],
)
def test_lint_of_what_a_problem_leads_to(leads_to: str, fault: str | None) -> None:
    (entry,) = [each for each in load() if each.id == "TRL008"]
    faults = list(_faults_of_leads(entry, (leads_to,), {"TRL008"}))
    assert (not faults) if fault is None else fault in faults[0]


# --- remedies ---

OOM = traceback_of(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.74 GiB.",
    "/env/lib/python3.11/site-packages/trl/trainer/grpo_trainer.py",
    "/env/lib/python3.11/site-packages/torch/autograd/__init__.py",
)


def remedy_of(found: Postmortem) -> str:
    return found.diagnosis.outcome.findings[0].words().remedy


def test_a_batch_of_one_is_not_to_be_lowered(tmp_path: Path, prepared: Prepared) -> None:
    found = diagnosed(tmp_path, prepared, "  Instantaneous batch size per device = 1\n" + OOM)
    assert "`per_device_train_batch_size` is 1 already" in remedy_of(found)
    more = diagnosed(tmp_path, prepared, "  Instantaneous batch size per device = 4\n" + OOM)
    assert "already" not in remedy_of(more)


def test_what_a_library_raised_is_named_with_what_it_follows(tmp_path: Path, prepared: Prepared) -> None:
    raised = "We will change the batch size of 1 to the `num_generations` of 32\n"
    assert "raised it to 32, the `num_generations`: lower that one" in remedy_of(
        diagnosed(tmp_path, prepared, raised + OOM)
    )


def test_the_value_that_fails_is_not_advised(tmp_path: Path, prepared: Prepared) -> None:
    failed = "NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4242> with status=12 opcode=0 len=0\n"
    found = diagnosed(tmp_path, prepared, "NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n" + failed)
    assert "`NCCL_IB_GID_INDEX=3` is already set" in remedy_of(found)
    assert "already" not in remedy_of(diagnosed(tmp_path, prepared, failed))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("#SBATCH --nodes=4", "NNODES", "4"),
        ("#SBATCH -N 2  # two of them", "NNODES", "2"),
        (
            'dist.init_process_group("nccl", init_method=f"tcp://localhost:{port}", rank=rank)',
            "MASTER_ADDR",
            "localhost",
        ),
        ("rank 4: init_process_group tcp://10.0.0.7:51029 world_size 8", "MASTER_ADDR", "10.0.0.7"),
    ],
)
def test_where_nodes_meet_is_told_by_batch_scripts_and_code(text: str, name: str, value: str) -> None:
    told = {each.name: each.value for each in of_line(text, 1)}
    assert told[name] == value


@pytest.mark.parametrize("text", ["#SBATCH --nodes=2-4", "connected to tcp://localhost:8265", "#SBATCH --nodelist=4"])
def test_what_does_not_tell_where_nodes_meet(text: str) -> None:
    assert not {"NNODES", "MASTER_ADDR"} & {each.name for each in of_line(text, 1)}


def test_code_is_judged_although_its_run_came_to_an_end(prepared: Prepared, tmp_path: Path) -> None:
    log, context = tmp_path / "train.log", tmp_path / "context.txt"
    log.write_text("{'loss': 1.5, 'epoch': 0.3}\n{'loss': 1.3, 'epoch': 0.9}\n{'train_runtime': 31.0, 'epoch': 1.0}\n")
    context.write_text(
        "tokenizer.pad_token = tokenizer.eos_token\n"
        "model, tokenizer = setup_chat_format(model=model, tokenizer=tokenizer)\n"
        "trainer = SFTTrainer(model=model, args=sft_config, train_dataset=rows, tokenizer=tokenizer)\ntrainer.train()\n"
    )
    outcome = examine([str(log)], context=[context], prepared=prepared).diagnosis.outcome
    assert [each.problem.id for each in outcome.findings] == ["DAT3073/pad_is_end"]
