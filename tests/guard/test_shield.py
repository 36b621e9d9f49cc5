"""The shield: an exception of the guard's own switches one hook off, is told once, and never gets out."""

from __future__ import annotations

import pytest

from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.monitors.rehearse import journal
from doctor.run.folder import RunDir


class Hooks:
    def __init__(self, error: BaseException) -> None:
        self.error, self.calls, self.told = error, 0, 0

    @shielded
    def hook(self) -> int:
        self.calls += 1
        if self.calls > 1:
            raise self.error
        return 7

    def hook_failed(self) -> None:
        self.told += 1


def test_a_failure_is_told_once_and_the_hook_is_off_for_its_object(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    first, second = Hooks(OSError("disk full")), Hooks(OSError("disk full"))
    assert [first.hook(), first.hook(), first.hook()] == [7, None, None]
    assert (first.calls, first.told) == (2, 1)
    assert second.hook() == 7
    told = capsys.readouterr().err
    assert told.count("Hooks.hook` failed and is switched off (OSError: disk full)") == 1
    (event,) = RunDir(tmp_path).read_events()
    assert (event["kind"], event["data"]) == ("monitor", {"hook": "Hooks.hook", "error": "OSError: disk full"})


@pytest.mark.parametrize("error", [GuardStop("asked for"), KeyboardInterrupt(), SystemExit(3)])
def test_what_is_meant_to_get_out_does(error: BaseException) -> None:
    hooks = Hooks(error)
    hooks.hook()
    for _ in range(2):
        with pytest.raises(type(error)):
            hooks.hook()
    assert hooks.told == 0


def test_a_closed_stderr_and_a_failing_object_change_nothing(monkeypatch) -> None:
    class Closed:
        def write(self, _text: str) -> None:
            raise ValueError("I/O operation on closed file")

    class Worse(Hooks):
        def hook_failed(self) -> None:
            raise RuntimeError("and this fails too")

    monkeypatch.setattr("sys.stderr", Closed())
    hooks = Worse(RuntimeError("bug"))
    assert [hooks.hook(), hooks.hook()] == [7, None]


def test_a_plain_function_is_off_for_the_process(capsys) -> None:
    calls = []

    @shielded
    def fail(number: int) -> None:
        calls.append(number)
        raise ValueError("bug")

    assert [fail(1), fail(2)] == [None, None]
    assert calls == [1]
    capsys.readouterr()


class _MuteError(ValueError):
    """An exception of the program's whose words cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("and no words either")


class _Bare:
    """An object of the program's without a dictionary that takes anything."""

    __slots__ = ()


@pytest.mark.parametrize("first", [_Bare, _Bare(), 3, None])
def test_whatever_a_failing_hook_was_given_nothing_gets_out(capsys, first: object) -> None:
    @shielded
    def fail(_given: object) -> None:
        raise _MuteError

    assert [fail(first), fail(first)] == [None, None]
    assert "failed and is switched off (_MuteError)" in capsys.readouterr().err


def test_a_crash_in_a_rehearsal_has_no_words_either(monkeypatch) -> None:
    written = []
    monkeypatch.setattr(journal, "write", lambda kind, **values: written.append((kind, values["error"])))

    @journal.shielded
    def fail() -> None:
        raise _MuteError

    assert fail() is None
    assert [kind for kind, _ in written] == ["crashed"]
