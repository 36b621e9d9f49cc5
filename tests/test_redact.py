"""Nothing secret leaves, and nothing harmless is taken for a secret."""

from __future__ import annotations

import time

import pytest

from doctor.base.redact import redact, redact_text, redact_variable

SECRETS = [
    "hf_abcdefghijklmnopqrstuvwxyz",
    "https://me:s3cret@proxy.example:8080/x",
    "https://0123456789abcdef@gitlab.example/x.git",
    "HF_TOKEN=hf_abcdefghijklmnop",
    "export WANDB_API_KEY='0123456789abcdef0123456789abcdef01234567'",
    '"aws_secret_access_key": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"',
    "AKIAIOSFODNN7EXAMPLE",
    "--api-key abcdefgh",
    "--api-key=abcdefgh",
    "Authorization: Bearer abcdefghijklmnop",
    "password: hunter2x",
    "sk-proj-abcdefghijklmnopqrstuv",
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    "https://cdn.example/xet/ab?Expires=1760&Policy=eyJTdGF0ZW1l&Signature=Qx~abcdefgh&Key-Pair-Id=K2L8F4GP",
    "https://s3.example/x?X-Amz-Credential=abcdefgh%2Fs3&X-Amz-Date=20260101T000000Z&X-Amz-Signature=0123456789abcdef",
]
NEEDLES = [
    "hf_abcdef",
    "s3cret",
    "0123456789abcdef",
    "wJalr",
    "AKIAIOS",
    "abcdefgh",
    "hunter2x",
    "sk-proj",
    "nabc",
    "eyJT",
    "K2L8",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secret_is_taken_out(text: str) -> None:
    shown = redact_text(text)
    assert not any(needle in shown for needle in NEEDLES), shown
    assert redact_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "max_new_tokens=512",
        "pip install tiktoken==0.13.0",
        "tokenizer: Qwen/Qwen2.5-0.5B",
        "pad_token = <|endoftext|>",
        "eos_token: </s>",
        "http://127.0.0.1:8000/health",
        "TOKENIZERS_PARALLELISM=false",
        "num_tokens: 80",
        "token: None",
        "https://example.org/search?q=policy&page=2",
    ],
)
def test_harmless_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


def test_user_names_in_home_paths_are_hidden() -> None:
    assert redact_text("/home/alice/run/train.py:3") == "/home/***/run/train.py:3"


def test_keys_decide_too() -> None:
    data = {"HF_TOKEN": "x", "WANDB_API_KEY": "", "eos_token": "</s>", "nested": [{"password": "p"}]}
    assert redact(data) == {
        "HF_TOKEN": "set",
        "WANDB_API_KEY": "unset",
        "eos_token": "</s>",
        "nested": [{"password": "set"}],
    }
    assert redact_variable("PATH", "/home/bob/bin") == "/home/***/bin"


@pytest.mark.parametrize("unit", ["A", "a-", "api_key", "://", "?sig=", "-----BEGIN PRIVATE KEY-----", "user:"])
def test_a_megabyte_without_blanks_takes_linear_time(unit: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        redact_text(unit * count)
        return time.process_time() - started

    small, large = max(seconds(5_000), 1e-3), seconds(40_000)
    assert large / small < 40, "eight times the text may not take forty times as long"
