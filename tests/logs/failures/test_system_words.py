"""What the operating system says in exceptions that no signature knows."""

from __future__ import annotations

import pytest

from doctor.logs.failures.system_words import of_chain


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["TCP client failed to connect/validate to host slinky-0:29400 - Name or service not known"],
         ("unresolved", "slinky-0:29400")),
        (["[Errno 101] Network is unreachable", "HTTPSConnectionPool(host='huggingface.co', port=443)"],
         ("unreached", "huggingface.co:443")),
        (["[Errno -3] Temporary failure in name resolution"], ("unresolved", "")),
        (["[Errno 113] No route to host", "tried (10.0.0.7, 29500)"], ("unreached", "10.0.0.7:29500")),
    ],
)  # fmt: skip
def test_a_name_or_an_address(messages: list[str], told: tuple[str, str]) -> None:
    said = of_chain(messages)
    assert said is not None
    assert (said.sense, said.address) == told


@pytest.mark.parametrize("message", ["[Errno 2] No such file or directory: 'a'", "no route for this request", ""])
def test_what_says_nothing_of_the_network(message: str) -> None:
    assert of_chain([message]) is None
