"""Sizes as people read them."""

from __future__ import annotations

import pytest

from doctor.catalogue.nodes import readings
from doctor.catalogue.shared.sizes import GIB, MIB, size


@pytest.mark.parametrize(
    ("number", "of_a_host", "of_a_node"),
    [
        (64 * MIB, "64 MiB", "64 MiB"), (GIB - MIB, "1023 MiB", "1023 MiB"), (GIB, "1.0 GiB", "1.0 GiB"),
        (10 * GIB - 1, "10.0 GiB", "10.0 GiB"), (10 * GIB, "10 GiB", "10.0 GiB"), (20 * GIB, "20 GiB", "20 GiB"),
        (1023 * GIB, "1023 GiB", "1023 GiB"), (1024 * GIB, "1024 GiB", "1.0 TiB"),
        (20 * 1024 * GIB, "20480 GiB", "20 TiB"),
    ],
)  # fmt: skip
def test_sizes_change_their_unit_and_their_digits_at_a_border(number: int, of_a_host: str, of_a_node: str) -> None:
    assert (size(number), readings.size(number)) == (of_a_host, of_a_node)
