"""What the message of an unknown exception proposes is named; what it merely mentions is not called a setting."""

from __future__ import annotations

import pytest

from doctor.catalogue.finding import joined
from doctor.checks.unknown._advice import advice_of, settings_of
from doctor.checks.unknown._kinds import (
    COMPILER,
    CUDA,
    DEFINITION,
    ENDPOINT,
    FILES,
    HIP,
    IMPORT,
    NETWORK,
    OTHER_TYPE,
    REFUSED,
    SETTINGS,
    STATE,
    UNMADE,
    kind_of,
)


@pytest.mark.parametrize(
    ("message", "names"),
    [
        (
            "eval dataset split is too small for sample_packing. You should set `eval_sample_packing: False`. ",
            ("sample_packing", "eval_sample_packing: False"),
        ),
        ("--chat requires an interactive terminal, use --format=json", ("--chat", "--format=json")),
        ("group_by_length = True is not supported with NCCL_ASYNC", ("group_by_length = True", "NCCL_ASYNC")),
        ('Found unexpected key: "tok_embeddings.weight"', ()),
        ("see https://example.org/a_b.html and /data/x_y/model.safetensors, dtype torch.float16", ()),
        ("save_pretrained() failed", ()),
    ],
)
def test_settings_are_found_in_a_message(message: str, names: tuple[str, ...]) -> None:
    assert settings_of(message) == names


def _advice(exception: str, message: str) -> tuple[str, str]:
    told = joined(advice_of(exception, message))
    return told.text("en"), told.text("zh")


def test_each_proposal_becomes_a_sentence_in_both_languages() -> None:
    english, chinese = _advice("AttributeError", "no attribute 'prediction'. Did you mean: 'predictions'?")
    assert "`predictions`" in english
    assert "`predictions`" in chinese
    assert "`pip install -U peft`" in _advice("ImportError", "PEFT is required: pip install -U peft.")[0]
    absent = _advice("ImportError", "ascend_transport.so: cannot open shared object file: No such file or directory")
    assert "`find / -name 'ascend_transport.so*' 2>/dev/null`" in absent[0]
    assert "`ascend_transport.so`" in absent[1]
    assert advice_of("KeyError", "'model.embed_tokens.weight'") == []
    assert advice_of("KeyError", "'reward_model_x'") == []


@pytest.mark.parametrize(
    "message",
    [
        "moe_router_dtype must be one of 'fp32', 'fp64', None, got 'bf16'",
        "Activation checkpointing is not supported with this backend",
        "flash_attention backward is incompatible with deterministic mode",
    ],
)
def test_a_refusal_is_a_matter_of_settings_whatever_it_names(message: str) -> None:
    kind = kind_of("ValueError", own_code=False, message=message)
    assert kind is kind_of("ValueError", own_code=False, message="mode_a and mode_b are mutually exclusive")
    assert kind not in (STATE, CUDA)


def test_a_limit_stays_one_where_a_check_words_it() -> None:
    assert kind_of("RuntimeError", own_code=False, message="CUDA error: operation not supported") is CUDA


def test_a_failed_lookup_is_told_by_what_the_library_says_of_it() -> None:
    worded = "Error converting the state dict. Make sure it is the right format"
    assert kind_of("KeyError", own_code=False, message="'x.y'", worded=worded) is STATE
    assert kind_of("KeyError", own_code=False, message="'x.y'") is not STATE


def test_a_server_that_answers_is_no_failed_connection() -> None:
    told = "404 Client Error: Not Found for url: https://hub.example.org/api/v1/models/a/b"
    assert kind_of("HTTPError", own_code=False, message=told) is REFUSED
    assert kind_of("HTTPError", own_code=False, message="Max retries exceeded with url: /a/b") is NETWORK


def test_a_library_that_does_not_load_is_no_matter_of_paths() -> None:
    assert kind_of("OSError", own_code=False, message="/a/_b.so: undefined symbol: _ZN3c10") is IMPORT
    assert kind_of("OSError", own_code=False, message="[Errno 14] Bad address") is FILES
    assert kind_of("OSError", own_code=False, message="[Errno 107] Transport endpoint is not connected") is ENDPOINT


def test_errors_of_hip_are_not_told_as_cuda() -> None:
    told = "HIP error: invalid argument\nSearch for `hipErrorInvalidValue'"
    assert kind_of("AcceleratorError", own_code=False, message=told) is HIP
    assert kind_of("AcceleratorError", own_code=False, message="CUDA error: invalid argument") is CUDA


def test_a_name_that_own_code_did_not_make_is_no_matter_of_releases() -> None:
    assert kind_of("NameError", own_code=True, message="name 'trianing_args' is not defined") is UNMADE
    assert kind_of("NameError", own_code=False, message="name 'is_torch_version' is not defined") is DEFINITION


def test_a_value_that_holds_nothing_is_of_another_type() -> None:
    for told in ("argument of type 'int' is not iterable", "argument of type 'int' is not a container or iterable"):
        assert kind_of("TypeError", own_code=False, message=told) is OTHER_TYPE


def test_what_the_compiler_of_torch_raises_is_no_matter_of_settings() -> None:
    told = "auto_functionalized was not removed"
    place = "torch/_inductor/fx_passes/post_grad.py:1222 (decompose_auto_functionalized)"
    assert kind_of("AssertionError", own_code=False, message=told, place=place) is COMPILER
    assert kind_of("AssertionError", own_code=False, message=told, place="torch/nn/init.py:3 (f)") is not COMPILER


def test_fields_that_pydantic_refuses_are_named_without_what_they_were_given() -> None:
    message = (
        "2 validation errors for MoeConfig\nexperts\n  Field required [type=missing, input_value={'a': 'secret'}, "
        "input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.5/v/missing\ndata.0.lang\n"
        "  Extra inputs are not permitted [type=extra_forbidden, input_value='fr', input_type=str]"
    )
    english, chinese = _advice("ValidationError", message)
    for told in (english, chinese):
        assert "`experts`: Field required; `data.0.lang`: Extra inputs are not permitted" in told
        assert "secret" not in told
        assert "input_value" not in told


def test_a_check_of_settings_is_told_by_its_place() -> None:
    told = "Can't load qlora if gptq"
    place = "axolotl/utils/config.py:193 (validate_config)"
    assert kind_of("ValueError", own_code=False, message=told, place=place) is SETTINGS
    assert kind_of("ValueError", own_code=False, message=told, place="trl/config.py:19 (load)") is not SETTINGS
    assert kind_of("ValueError", own_code=False, message=told, place="torch/nn/linear.py:9 (check_x)") is not SETTINGS


def test_an_entry_of_a_saved_state_is_no_column_of_the_data() -> None:
    place = "torch/distributed/fsdp/_optim_utils.py:305 (_flatten_optim_state_dict)"
    assert kind_of("KeyError", own_code=False, message="'state'", place=place) is STATE
    assert kind_of("KeyError", own_code=False, message="'state'", place="trl/trainer/utils.py:3 (f)") is not STATE


def test_a_refusal_of_the_whole_by_pydantic_is_told_in_its_own_words() -> None:
    message = (
        "1 validation error for ModelConfig\n  Value error, No model architectures are named [type=value_error, "
        "input_value=ArgsKwargs((), {'model': ...or_plugin': None}), input_type=ArgsKwargs]"
    )
    english, chinese = _advice("ValidationError", message)
    assert "the check of `ModelConfig`: No model architectures are named." in english
    assert "No model architectures are named" in chinese
    assert "input_value" not in english + chinese


@pytest.mark.parametrize(
    "message",
    [
        "Capture cuda graph failed: kernel refused\nPossible solutions:\n1. set --mem-fraction-static to less",
        "Some workers died.\n/opt/python/resource_tracker.py:224: UserWarning: resource_tracker: use leaked_objects=1",
        "gemm failed (bmm_Bf16_Bf16_Fp32_t128x8x128u2_s6_et128x8_m128x8x16), use another",
    ],
)
def test_what_only_stands_near_the_message_is_no_setting(message: str) -> None:
    assert advice_of("RuntimeError", message) == []
