"""How many processes a command makes and which GPUs they see, by each launcher's own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts.gpus import Gpus
from doctor.facts.visible import visible
from doctor.facts.world import World
from tests.facts.command_facts import cards, fact_of, state_of

FILES = {
    "ds.yaml": "distributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\ndeepspeed_config:\n"
    "  zero_stage: 3\n  offload_optimizer_device: cpu\n",
    "dsfile.yaml": "distributed_type: DEEPSPEED\nnum_processes: 4\n"
    "deepspeed_config:\n  deepspeed_config_file: ds.json\n",
    "mg.yaml": "distributed_type: MULTI_GPU\nnum_processes: 8\ngpu_ids: all\nmixed_precision: no\n",
    "ids.yaml": "distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: 1,3\n",
    "no.yaml": "distributed_type: 'NO'\nnum_processes: 8\n",
    "none.yaml": "distributed_type: MULTI_GPU\n",
    "two.yaml": "distributed_type: MULTI_GPU\nnum_processes: 15\nnum_machines: 2\nmachine_rank: 1\n"
    "main_process_ip: 10.0.0.1\nmain_process_port: 29501\n",
    "fsdp.yaml": "distributed_type: FSDP\nnum_processes: 2\nfp16: true\nfsdp_config:\n  fsdp_offload_params: true\n",
    "cpu.yaml": "distributed_type: MULTI_CPU\nuse_cpu: true\nnum_processes: 4\n",
    "bad.yaml": "distributed_type: [\n",
    "ds.json": '{"zero_optimization": {"stage": 2, "offload_param": {"device": "nvme"}}, "fp16": {"enabled": true}}',
    "grpo.yaml": "num_processes: 2\naccelerate_config: zero3\nlearning_rate: 1.0e-6\n",
    "swift.yaml": "rlhf_type: grpo\ndeepspeed: zero2_offload\nENV:\n  NPROC_PER_NODE: 2\n  NNODES: 3\n",
    "lf.yaml": "stage: sft\nmodel_name_or_path: ./m\ndeepspeed: ds.json\n",
    "hosts": "# two\nworker-0 slots=8\nworker-1 slots=8\n",
    "train.py": "pass\n",
}
ROWS: list[tuple[str, dict[str, Any]]] = [
    # what only the run will tell has no default
    ("torchrun --nnodes=2 --node_rank='$SLURM_NODEID' --nproc_per_node='$N' --master_addr='$(hostname -i)' train.py", {
        "machines": 2, "machine_rank": None, "local_processes": None, "processes": None, "master_addr": None}),
    ("torchrun --nnodes=2 --nproc_per_node=1 --master_port='$PORT' train.py", {"processes": 2, "master_port": None}),
    ("torchrun --nnodes=2 --nproc_per_node=2 --rdzv_endpoint='${HEAD}:29500' train.py", {
        "machines": 2, "processes": 4, "master_addr": None}),
    ("accelerate launch --num_machines '$N' --machine_rank '$R' --num_processes 8 --main_process_ip '$IP' train.py", {
        "machines": None, "machine_rank": None, "processes": None, "master_addr": None}),
    ("deepspeed --num_gpus '$N' --master_addr '$IP' --master_port '$PORT' train.py", {
        "processes": None, "master_addr": None, "master_port": None}),
    # accelerate
    ("accelerate launch train.py", {
        "processes": 4, "backend": "multi_gpu", "mixed_precision": "no", "master_port": 29500}),
    ("CUDA_VISIBLE_DEVICES=2 accelerate launch train.py", {"processes": 1, "backend": "none", "visible_gpus": (2,)}),
    ("CUDA_VISIBLE_DEVICES= accelerate launch train.py", {"processes": 1, "backend": "none", "visible_gpus": ()}),
    ("accelerate launch --num_processes 2 train.py", {"processes": 2, "local_processes": 2, "backend": "multi_gpu"}),
    ("CUDA_VISIBLE_DEVICES=0 accelerate launch --num_processes 2 train.py", {"processes": 1, "backend": "none"}),
    ("accelerate launch --config_file ds.yaml train.py", {
        "processes": 4, "backend": "deepspeed", "zero_stage": 3, "offload_optimizer": "cpu", "offload_param": "none",
        "mixed_precision": "bf16", "visible_gpus": (0, 1, 2, 3), "hidden_by": None, "machines": 1}),
    ("accelerate launch --config_file dsfile.yaml train.py", {
        "zero_stage": 2, "offload_param": "nvme", "mixed_precision": "fp16", "backend": "deepspeed"}),
    ("accelerate launch --config_file ds.yaml --num_processes 2 --zero_stage 1 train.py", {
        "processes": 2, "zero_stage": 1}),
    ("accelerate launch --config_file mg.yaml train.py", {
        "processes": 8, "backend": "multi_gpu", "mixed_precision": "no"}),
    ("accelerate launch --config_file mg.yaml train.py --deepspeed ds.json", {"backend": "deepspeed", "zero_stage": 2}),
    ("CUDA_VISIBLE_DEVICES=0 accelerate launch --config_file ids.yaml train.py", {
        "visible_gpus": (1, 3), "hidden_by": "gpu_ids", "processes": 2}),
    ("accelerate launch --gpu_ids 2,7 --config_file mg.yaml train.py", {
        "visible_gpus": (2,), "unknown_devices": ("7",)}),
    ("accelerate launch --config_file no.yaml train.py", {"processes": 1, "backend": "none", "processes_from": None}),
    ("accelerate launch --config_file none.yaml train.py", {"processes": None, "backend": "multi_gpu"}),
    ("accelerate launch --config_file two.yaml train.py", {
        "processes": 14, "local_processes": 7, "machines": 2, "machine_rank": 1, "master_addr": "10.0.0.1",
        "master_port": 29501}),
    ("accelerate launch --config_file two.yaml --machine_rank '$RANK' train.py", {"machine_rank": None, "machines": 2}),
    ("accelerate launch --config_file fsdp.yaml train.py", {
        "backend": "fsdp", "mixed_precision": "fp16", "offload_param": "cpu", "processes": 2}),
    ("accelerate launch --cpu --num_processes 2 train.py", {"processes": 1, "backend": "cpu"}),
    ("accelerate launch --config_file cpu.yaml train.py", {"processes": 1, "backend": "cpu"}),
    ("accelerate launch --multi_gpu --num_processes 2 --mixed_precision no train.py --use_cpu True", {"processes": 2}),
    ("accelerate launch --config_file bad.yaml train.py", {"processes": None, "machines": None, "backend": None}),
    ("accelerate launch --use_deepspeed --num_processes 2 --main_process_port 0 train.py", {
        "zero_stage": 2, "master_port": None, "backend": "deepspeed"}),
    ("accelerate launch --num_processes -1 --multi_gpu train.py", {"processes": None}),
    ("trl grpo --config grpo.yaml", {
        "processes": 2, "zero_stage": 3, "backend": "deepspeed", "mixed_precision": "bf16"}),
    ("trl grpo --config grpo.yaml --num_processes 3", {"processes": 3}),
    ("trl grpo --accelerate_config single_gpu", {"processes": 1, "backend": "none"}),
    ("trl grpo --model_name_or_path m", {"processes": 4, "backend": "multi_gpu"}),
    # torchrun
    ("torchrun train.py", {"processes": 1, "backend": "none", "master_port": None}),
    ("torchrun --nproc-per-node 2 train.py", {"processes": 2, "local_processes": 2, "backend": "multi_gpu"}),
    ("torchrun --nproc-per-node gpu train.py", {"processes": 4}),
    ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node auto train.py", {"processes": 2, "visible_gpus": (0, 1)}),
    ("torchrun --nproc-per-node cpu train.py", {"processes": None}),
    ("PET_NPROC_PER_NODE=3 torchrun train.py", {"processes": 3}),
    ("torchrun --nnodes 2 --nproc-per-node 4 --master_addr h --master_port 1234 --node_rank 1 train.py", {
        "processes": 8, "local_processes": 4, "machines": 2, "machine_rank": 1,
        "master_addr": "h", "master_port": 1234}),
    # ms-swift
    ("swift rlhf --rlhf_type grpo --deepspeed zero3", {
        "processes": 1, "local_processes": 1, "backend": "deepspeed", "zero_stage": 3, "offload_param": "none"}),
    ("NPROC_PER_NODE=2 MASTER_PORT=29511 swift sft --model m", {
        "processes": 2, "local_processes": 2, "backend": "multi_gpu", "master_port": 29511}),
    ("NNODES=4 swift rlhf swift.yaml", {
        "processes": 8, "local_processes": 2, "machines": 4, "zero_stage": 2, "offload_optimizer": "cpu"}),
    ("NPROC_PER_NODE=2 swift rlhf swift.yaml --deepspeed ds.json", {"zero_stage": 2, "offload_param": "nvme"}),
    # LLaMA-Factory
    ("llamafactory-cli train lf.yaml", {
        "processes": 4, "local_processes": 4, "machines": 1, "backend": "deepspeed", "zero_stage": 2}),
    ("CUDA_VISIBLE_DEVICES=1 llamafactory-cli train lf.yaml", {"processes": 1, "visible_gpus": (1,)}),
    ("CUDA_VISIBLE_DEVICES=1 FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=1 MASTER_ADDR=h llamafactory-cli train lf.yaml", {
        "processes": 2, "local_processes": 1, "machines": 2, "machine_rank": 1, "master_addr": "h"}),
    ("NPROC_PER_NODE=2 llamafactory-cli train lf.yaml", {"processes": 2}),
    ("USE_RAY=1 llamafactory-cli train lf.yaml", {"processes": None, "local_processes": None}),
    ("torchrun --nnodes 1:4 --nproc-per-node 4 train.py", {"processes": None, "local_processes": 4, "machines": None}),
    ("torchrun --rdzv-endpoint=host:29400 --nnodes=2:2 train.py", {
        "machines": 2, "master_addr": "host", "master_port": 29400}),
    ("torchrun --nproc-per-node 2 train.py --deepspeed ds.json", {
        "backend": "deepspeed", "zero_stage": 2, "offload_param": "nvme", "mixed_precision": "fp16"}),
    # deepspeed
    ("deepspeed train.py", {"processes": 4, "visible_gpus": (0, 1, 2, 3), "hidden_by": None, "master_port": 29500}),
    ("CUDA_VISIBLE_DEVICES=1,2 deepspeed train.py", {
        "processes": 2, "visible_gpus": (1, 2), "hidden_by": "CUDA_VISIBLE_DEVICES"}),
    ("CUDA_VISIBLE_DEVICES=1,2 deepspeed --num_gpus 4 train.py", {
        "processes": 4, "visible_gpus": (0, 1, 2, 3), "hidden_by": "--num_gpus"}),
    ("deepspeed --num_gpus 6 train.py", {"processes": 6, "visible_gpus": (0, 1, 2, 3), "unknown_devices": ("4", "5")}),
    ("deepspeed --include localhost:3,1 train.py", {"processes": 2, "visible_gpus": (1, 3), "hidden_by": "--include"}),
    ("deepspeed --exclude localhost:0 train.py", {"processes": 3, "visible_gpus": (1, 2, 3), "hidden_by": "--exclude"}),
    ("deepspeed --hostfile hosts train.py", {
        "processes": 16, "machines": 2, "local_processes": 8, "machine_rank": None}),
    ("deepspeed --hostfile hosts --num_nodes 1 --num_gpus 2 train.py", {"processes": 2, "machines": 1}),
    ("deepspeed --hostfile hosts --include worker-0@worker-1:0,2 train.py", {"processes": 10, "local_processes": None}),
    ("deepspeed --hostfile absent --num_gpus 1 --master_port 29600 train.py --deepspeed ds.json", {
        "processes": 1, "master_port": 29600, "backend": "deepspeed"}),
    # python and what stands in front of it
    ("python train.py", {"processes": 1, "local_processes": 1, "backend": "none", "machines": 1, "machine_rank": 0}),
    ("WORLD_SIZE=8 RANK=0 LOCAL_WORLD_SIZE=4 python train.py", {"processes": 8, "machines": 2, "local_processes": 4}),
    ("srun -n 8 -N 2 python train.py", {"processes": 8, "machines": 2, "local_processes": 4}),
    ("srun python train.py", {"processes": None, "machines": None}),
    ("mpirun -np 4 python train.py", {"processes": 4, "machines": None, "local_processes": None}),
    ("env -u CUDA_VISIBLE_DEVICES python train.py", {"visible_gpus": (0, 1, 2, 3), "hidden_by": None}),
    # Ray places the processes of these
    ("python -m verl.trainer.main_ppo trainer.n_gpus_per_node=8", {
        "processes": None, "machines": None, "backend": None}),
    ("CUDA_VISIBLE_DEVICES=0 trinity run --config x.yaml", {"processes": None, "visible_gpus": (0,)}),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world")
    for name, content in FILES.items():
        (path / name).write_text(content)
    return path


@pytest.mark.parametrize(("line", "expected"), ROWS, ids=[line[:80] for line, _ in ROWS])
def test_rules(folder: Path, line: str, expected: dict[str, Any]) -> None:
    found = fact_of("world", line, folder, gpus=cards(4))
    assert isinstance(found, World)
    assert {name: getattr(found, name) for name in expected} == expected


def test_source_of_the_number(folder: Path) -> None:
    yaml = fact_of("world", "accelerate launch --config_file ds.yaml train.py", folder, gpus=cards(4)).processes_from
    assert (Path(yaml.place.file).name, yaml.place.line) == ("ds.yaml", 2)
    option = fact_of("world", "accelerate launch --num_processes 2 train.py", folder, gpus=cards(4)).processes_from
    assert (option.place, option.value) == (None, 2)


@pytest.mark.parametrize("name", ["bad.yaml", "absent.yaml"])
def test_a_file_of_arguments_that_cannot_be_read_leaves_the_processes_unknown(folder: Path, name: str) -> None:
    state = state_of("world", f"NPROC_PER_NODE=2 swift rlhf {name}", folder)
    assert state.status == "unavailable"
    assert f"`{name}` cannot be read: " in state.reason


def test_without_a_driver(folder: Path) -> None:
    found = fact_of("world", "accelerate launch train.py", folder)
    assert (found.processes, found.visible_gpus, found.backend) == (None, None, None)
    assert fact_of("world", "torchrun --nproc_per_node gpu train.py", folder).processes is None
    assert fact_of("world", "accelerate launch --config_file mg.yaml train.py", folder).processes == 8
    assert fact_of("world", "deepspeed --num_gpus 2 train.py", folder).processes == 2
    assert fact_of("world", "deepspeed train.py", folder).processes is None


def test_no_training(folder: Path) -> None:
    assert state_of("world", "vllm serve m", folder).reason == "the command starts no training"
    assert "not a launcher" in state_of("world", "foo", folder).reason


def test_mixed_models_are_told(folder: Path) -> None:
    mixed = cards(2, "NVIDIA A100", "NVIDIA T4")
    line = "python train.py"
    assert not fact_of("world", line, folder, gpus=mixed).order_uncertain
    assert fact_of("world", f"CUDA_VISIBLE_DEVICES=0 {line}", folder, gpus=mixed).order_uncertain
    ordered = f"CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 {line}"
    assert not fact_of("world", ordered, folder, gpus=mixed).order_uncertain
    assert not fact_of("world", f"CUDA_VISIBLE_DEVICES=0 {line}", folder, gpus=cards(2)).order_uncertain


MIG = ("MIG-11111111-aaaa", "MIG-22222222-bbbb")
FOUR = cards(4, mig=None)


@pytest.mark.parametrize(
    ("value", "left", "unknown"),
    [
        (None, (0, 1, 2, 3), ()), ("", (), ()), ("-1", (), ()), ("0,1", (0, 1), ()), ("3,1", (3, 1), ()),
        (" 2 , 0 ", (2, 0), ()), ("0,4,1", (0,), ("4",)), ("4", (), ("4",)), ("0,-1,2", (0,), ()), ("1,1", (), ()),
        ("0,,2", (0,), ()), ("NoDevFiles", (), ()), ("none", (), ()), ("abc", (), ("abc",)), ("1gpu2,2", (1, 2), ()),
        ("0,7,8,1", (0,), ("7", "8")), ("GPU-00000002", (2,), ()), ("GPU-00000002,GPU-00000000", (2, 0), ()),
        ("GPU-0000000", (), ("GPU-0000000",)), ("GPU-99", (), ("GPU-99",)), ("GPU-00000001,0", (1,), ("0",)),
        ("+1", (1,), ()), ("99999999999999", (), ("99999999999999",)), ("GPU-00000001,GPU-00000001-aaaa", (), ()),
    ],
)  # fmt: skip
def test_visible(value: str | None, left: tuple[int, ...], unknown: tuple[str, ...]) -> None:
    assert visible(FOUR, value) == (left, unknown)


def test_visible_mig() -> None:
    machine = cards(2, mig={1: MIG})
    assert visible(machine, MIG[1]) == ((1,), ())
    assert visible(machine, ",".join(MIG)) == ((1,), ())
    assert visible(machine, "MIG-3333") == ((), ("MIG-3333",))
    old = f"MIG-{machine.gpus[1].uuid}/1/0"
    assert visible(machine, old) == ((1,), ())


@given(st.text(alphabet="0123456789,-+ GPUMIGabc\0", max_size=24))
def test_visible_never_raises(value: str) -> None:
    left, unknown = visible(FOUR, value)
    assert set(left) <= {0, 1, 2, 3}
    assert len(set(left)) == len(left)
    assert all(entry in value for entry in unknown)
    assert visible(Gpus(), value)[0] == ()
