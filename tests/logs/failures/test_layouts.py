"""What an exception says against the parallel layout, the sides of two sizes, and the switches that name the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.shared.shares import unequal_in
from doctor.logs.failures.beside import switches
from doctor.logs.failures.frames import Frame
from doctor.logs.postmortem import Prepared, examine, prepare

HEADER = "Traceback (most recent call last):\n"
FRAME = '  File "/opt/venv/lib/python3.11/site-packages/{path}", line 171, in {function}\n    {code}\n'
ONE_OF_EXPERTS = "expert_parallel_size: 1\n"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def first(prepared: Prepared, tmp_path: Path, text: str, context: str) -> Finding:
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    (tmp_path / "context.txt").write_text(context, encoding="utf-8")
    result = examine([str(tmp_path / "train.log")], context=[tmp_path / "context.txt"], prepared=prepared)
    assert not result.diagnosis.outcome.crashed
    return result.diagnosis.outcome.findings[0]


def raised(path: str, function: str, code: str, message: str) -> str:
    return f"{HEADER}{FRAME.format(path=path, function=function, code=code)}{message}\n"


NO_MESH = raised("x/moe.py", "shard", "m = ep_mesh['ep']", "TypeError: 'NoneType' object is not subscriptable")


def test_a_mesh_of_one_rank_was_never_created(prepared: Prepared, tmp_path: Path) -> None:
    finding = first(prepared, tmp_path, NO_MESH, ONE_OF_EXPERTS)
    assert (finding.problem.id, finding.confidence) == ("PYT4665", LIKELY)
    assert finding.values["name"] == "ep_mesh"
    assert finding.values["subject"] == "expert_parallel_size"


@pytest.mark.parametrize("context", ["expert_parallel_size: 4\n", "tensor_parallel_size: 1\n", "batch_size: 1\n"])
def test_a_mesh_that_should_be_there_is_another_matter(prepared: Prepared, tmp_path: Path, context: str) -> None:
    assert "was never created" not in first(prepared, tmp_path, NO_MESH, context).message.en.headline


def test_what_presumes_the_split_is_named(prepared: Prepared, tmp_path: Path) -> None:
    text = raised("x/moe.py", "dispatch", "assert mesh", "AssertionError: ep_mesh must be set before dispatch.")
    context = "expert_parallel_degree: 1\nexpert_parallel_comm_backend: standard\n"
    assert "expert_parallel_comm_backend=standard" in str(first(prepared, tmp_path, text, context).values["settings"])


LAYER = raised("x/load.py", "load_weights", "param = params_dict[name]", "KeyError: 'layers.0.mlp.experts.w2_weight'")


def test_a_layer_of_another_stage(prepared: Prepared, tmp_path: Path) -> None:
    finding = first(prepared, tmp_path, LAYER, "pipeline_parallel_size: 2\n")
    assert finding.values["taken"] == "0"
    assert "pipeline_parallel_size=2" in str(finding.values["settings"])
    for context in ("pipeline_parallel_size: 1\n", "tensor_parallel_size: 2\n"):
        assert "pipeline stage" not in first(prepared, tmp_path, LAYER, context).message.en.headline


def test_a_name_that_a_file_lacks_is_no_matter_of_stages(prepared: Prepared, tmp_path: Path) -> None:
    text = LAYER.replace("params_dict", "state_dict")
    assert "pipeline stage" not in first(prepared, tmp_path, text, "pipeline_parallel_size: 2\n").message.en.headline


SHAPES = raised("x/load.py", "load", "raise ValueError(m)", "ValueError: Unexpected w1 shape (1024, 2048); expected {}")


@pytest.mark.parametrize(("expected", "split"), [("(512, 2048)", True), ("(256, 2048)", False), ("(512, 1024)", False)])
def test_two_shapes_of_which_one_is_a_share(prepared: Prepared, tmp_path: Path, expected: str, *, split: bool) -> None:
    finding = first(prepared, tmp_path, SHAPES.format(expected), "tensor_model_parallel_size: 2\n")
    assert ("share of one rank" in finding.message.en.headline) is split


@pytest.mark.parametrize(("got", "told"), [("12288, 512", True), ("12288, 510", False), ("4096, 1536", False)])
def test_the_same_elements_in_another_layout(prepared: Prepared, tmp_path: Path, got: str, *, told: bool) -> None:
    message = f"AssertionError: torch.Size([4096, 1536]) != torch.Size([{got}])"
    text = raised(
        "vllm/model_executor/parameter.py", "load_merged_column_weight", "assert a == b, f'{a} != {b}'", message
    )
    finding = first(prepared, tmp_path, text, "quantization: awq\n")
    assert ("in another layout" in finding.message.en.headline) is told
    assert not told or "quantization=awq" in str(finding.values["settings"])


def test_what_is_concatenated(prepared: Prepared, tmp_path: Path) -> None:
    message = (
        "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size 412 but got size 377 for tensor "
        "number 1 in the list."
    )
    outer = FRAME.format(
        path="accelerate/data_loader.py", function="__iter__", code="b = concatenate([batch, head], dim=0)"
    )
    inner = raised("accelerate/utils/operations.py", "concatenate", "return torch.cat(data, dim=dim)", message)
    finding = first(prepared, tmp_path, inner.replace(HEADER, HEADER + outer), "split_batches: true\n")
    assert (finding.values["left"], finding.values["right"]) == ("batch", "head")


def test_a_mask_of_half_the_length_under_sequence_parallelism(prepared: Prepared, tmp_path: Path) -> None:
    text = raised(
        "transformer_engine/pytorch/attention/utils.py", "get_full_mask", "mask = torch.logical_or(swa_mask, mask_in)",
        "RuntimeError: The size of tensor a (11888) must match the size of tensor b (5944) at non-singleton dimension {}",
    )  # fmt: skip
    context = "tensor_model_parallel_size: 2\nsequence_parallel: true\n"
    finding = first(prepared, tmp_path, text.format(3), context)
    assert (finding.values["size"], finding.values["sequence"]) == (2, "sequence_parallel")
    heads = first(prepared, tmp_path, text.format(1), context)  # a ratio of heads is that of grouped queries
    assert "share of one rank" not in heads.message.en.headline


def test_the_sides_of_two_sizes_and_where_they_were_printed(prepared: Prepared, tmp_path: Path) -> None:
    code = 'mask = completion_mask if "tool_mask" not in inputs else completion_mask * inputs["tool_mask"]'
    message = "RuntimeError: The size of tensor a (4) must match the size of tensor b (6) at non-singleton dimension 1"
    text = "DEBUG tool_mask lengths : [6, 3, 3]\n" + raised(
        "trl/trainer/grpo_trainer.py", "_compute_loss", code, message
    )
    finding = first(prepared, tmp_path, text, "beta: 0.0\n")
    assert (finding.values["left"], finding.values["right"]) == ("completion_mask", "inputs['tool_mask']")
    assert any("tool_mask lengths" in each.text for each in finding.evidence)


def test_a_line_with_several_operations_names_no_side(prepared: Prepared, tmp_path: Path) -> None:
    message = "RuntimeError: The size of tensor a (4) must match the size of tensor b (6) at non-singleton dimension 1"
    text = raised("trl/trainer/grpo_trainer.py", "_compute_loss", "loss = a_mask * b_mask * c_mask", message)
    assert "left" not in first(prepared, tmp_path, text, "beta: 0.0\n").values


def test_switches_that_name_the_code() -> None:
    frame = Frame("/x/slime/backends/data.py", 520, "log_rollout_data", "")
    code = "correct_response_lengths.append(response_lengths[i])"
    given = {"log_correct_samples": True, "max_response_length": 512, "use_rollout_data": False, "log_probs": True}
    assert switches.that_name([frame], code, given) == ("log_correct_samples=True",)


@pytest.mark.parametrize(
    ("message", "unequal"),
    [
        ("a of (1024, 2048) and b of (512, 2048)", [(1024, 512)]),
        ("a of torch.Size([1024]) and b of torch.Size([512])", [(1024, 512)]),
        ("a of (1024,) and b of (512,)", [(1024, 512)]),
        ("generation_batch_size (4) must be divisible by num_generations (3).", []),
        ("hidden (1024) and heads (512)", []),
    ],
)
def test_a_value_in_brackets_is_no_shape(message: str, unequal: list[tuple[int, int]]) -> None:
    assert unequal_in(message) == unequal


EMPTY = (
    "RuntimeError: The expanded size of the tensor (2) must match the existing size (0) at non-singleton dimension 0."
)


def _cut(code: str) -> str:
    return raised("verl/models/mcore/util.py", "preprocess_packed_seqs", code, EMPTY)


def test_a_row_that_is_too_short_for_all_ranks_that_cut_it(prepared: Prepared, tmp_path: Path) -> None:
    found = first(prepared, tmp_path, _cut("out[at] = d[half * cp_rank:]"), "context_parallel_size: 8\ntp_size: 2\n")
    assert (found.problem.id, found.values["setting"], found.values["least"]) == ("TOR052", "context_parallel_size", 16)


@pytest.mark.parametrize("context", ["context_parallel_size: 1\n", "tensor_model_parallel_size: 8\n"])
def test_an_empty_piece_of_rows_that_nobody_cuts(prepared: Prepared, tmp_path: Path, context: str) -> None:
    assert (
        "too short" not in first(prepared, tmp_path, _cut("out[at] = d[half * cp_rank:]"), context).message.en.headline
    )
