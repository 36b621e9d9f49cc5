"""What `--deep` measures of a card, and how it is said."""

from __future__ import annotations

import pytest

from doctor.cli.deep_words import said
from doctor.facts.deep import Speed


def test_a_device_is_measured() -> None:
    torch = pytest.importorskip("torch")
    from doctor.readers.patient import deep

    told = deep.measured(torch, torch.device("cpu"), torch.float32, 128, 1 << 20, seconds=0.05)
    assert told["dtype"] == "float32"
    assert 1e-5 < told["tflops"] < 100
    assert 0.01 < told["gb_s"] < 10_000


def test_cards_of_a_kind_are_told_together_against_their_peak() -> None:
    speeds = [Speed(gpu, "bfloat16", 700.0 + gpu, 4000.0) for gpu in range(4)]
    (told,) = said(speeds, dict.fromkeys(range(4), "NVIDIA H200"))
    assert told.startswith("GPU 0, 1, 2, 3 NVIDIA H200: 700 to 703 TFLOPS in bf16 (71 % of 9")
    assert "4,000 GB/s (83 % of 4,800)" in told


def test_a_card_that_nobody_knows_has_no_peak() -> None:
    (told,) = said([Speed(0, "float16", 3.14159, 250.0)], {})
    assert told == "GPU 0: 3.1 TFLOPS in fp16, 250 GB/s"
