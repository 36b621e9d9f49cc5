"""A file is exchanged for another only where it is what was expected; what somebody saves meanwhile is never lost."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from doctor.catalogue.plan import ABSENT, Refused, digest
from doctor.mend import swap

OLD, NEW = b"old\n", b"new\n"


def ready(folder: Path) -> tuple[Path, Path]:
    path, temporary = folder / "a", folder / "a.tmp"
    path.write_bytes(OLD)
    temporary.write_bytes(NEW)
    return path, temporary


@pytest.mark.parametrize("can_exchange", [True, False])
def test_what_is_expected_is_replaced_and_nothing_else(
    tmp_path: Path, can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(swap, "exchange", lambda *_: False)
    path, temporary = ready(tmp_path)
    swap.put(temporary, path, digest(OLD))
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (NEW, [path])
    for expected in (digest(b"another"), ABSENT):
        path, temporary = ready(tmp_path)
        with pytest.raises(Refused, match="has changed"):
            swap.put(temporary, path, expected)
        assert (path.read_bytes(), list(tmp_path.iterdir())) == (OLD, [path])
    path, temporary = ready(tmp_path)
    path.unlink()
    swap.put(temporary, path, ABSENT)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("saves", [1, 2, 3, 7])
def test_what_is_saved_around_the_exchange_stays(tmp_path: Path, saves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path, temporary = ready(tmp_path)
    exchange, count = swap.exchange, [0]

    def busy(one: str, other: str) -> bool:
        if count[0] < saves:  # an editor saves right before each exchange
            count[0] += 1
            (tmp_path / "editor").write_bytes(b"mine %d\n" % count[0])
            (tmp_path / "editor").rename(path)
        return exchange(one, other)

    monkeypatch.setattr(swap, "exchange", busy)
    with pytest.raises(Refused):
        swap.put(temporary, path, digest(OLD))
    assert path.read_bytes() == b"mine %d\n" % saves
    assert list(tmp_path.iterdir()) == [path]


def test_who_has_the_file_open_may_finish(tmp_path: Path) -> None:
    path, temporary = ready(tmp_path)
    descriptor = os.open(path, os.O_WRONLY)

    def finish() -> None:
        time.sleep(0.2)
        os.write(descriptor, b"mine\n")
        os.close(descriptor)

    writer = threading.Thread(target=finish)
    writer.start()
    with pytest.raises(Refused):
        swap.put(temporary, path, digest(OLD))
    writer.join()
    assert path.read_bytes() == b"mine\n"
