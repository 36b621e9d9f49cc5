"""How the guard is put into trainers and engines, over stand-ins of the awaited modules."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.guard import exceptions
from doctor.monitors.guard import watch as watch_module
from doctor.monitors.guard.shield import GuardStop
from doctor.monitors.inject import attach
from doctor.readers.patient.carry import carry
from doctor.run.folder import VARIABLE, RunDir
from tests.facts.environments import interpreter


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    made = RunDir.create("test", tmp_path)
    monkeypatch.setenv(VARIABLE, str(made.path))
    return made


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Hooks of the program that collect what they are handed; those of the tests are put back."""
    seen: list[BaseException] = []
    monkeypatch.setattr(exceptions._Watched, "pid", None)
    monkeypatch.setattr(exceptions._Watched, "guard", None)
    monkeypatch.setattr(exceptions._Watched, "last", None)
    monkeypatch.setattr(exceptions.atexit, "register", lambda _function: None)
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _trace: seen.append(error))
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_value))
    return seen


def _module(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def _told(run: RunDir, kind: str = "monitor") -> list[dict[str, Any]]:
    return [{**each, **each["data"]} for each in run.read_events() if each["kind"] == kind]


class Trainer:
    """A trainer of a release without a list of default callbacks."""

    def __init__(self, name: str) -> None:
        self.name, self.callbacks = name, []

    def add_callback(self, callback: Any) -> None:
        self.callbacks.append(callback() if isinstance(callback, type) else callback)


def test_the_callback_stands_among_the_defaults_and_is_made_with_the_trainer(run: RunDir) -> None:
    defaults: list[Any] = []
    attach._to_trainers(_module("transformers.trainer", DEFAULT_CALLBACKS=defaults))
    (added,) = defaults
    assert _told(run) == []
    assert type(added()).__name__ == "DoctorCallback"
    assert [(each["guard"], each["to"]) for each in _told(run)] == [("attached", "transformers.Trainer")]


def test_without_defaults_each_trainer_gets_it(run: RunDir) -> None:
    class Made(Trainer):
        pass

    attach._to_trainers(_module("transformers.trainer", Trainer=Made))
    trainer = Made("mine")
    assert trainer.name == "mine"
    assert [type(each).__name__ for each in trainer.callbacks] == ["DoctorCallback"]
    assert len(_told(run)) == 1


def test_where_a_library_puts_a_list_of_its_own_each_trainer_gets_one_all_the_same(run: RunDir) -> None:
    defaults: list[Any] = []

    class Made(Trainer):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            for each in module.DEFAULT_CALLBACKS:
                self.add_callback(each)

    module = _module("transformers.trainer", Trainer=Made, DEFAULT_CALLBACKS=defaults)
    attach._to_trainers(module)
    assert [type(each).__name__ for each in Made("first").callbacks] == ["DoctorCallback"], "once"
    module.DEFAULT_CALLBACKS = []
    assert [type(each).__name__ for each in Made("second").callbacks] == ["DoctorCallback"]
    assert len(_told(run)) == 2


def test_a_guard_that_cannot_be_made_is_told_and_nothing_happens(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        pass

    monkeypatch.setitem(sys.modules, "doctor.monitors.guard.transformers", None)
    monkeypatch.setitem(
        sys.modules, "transformers.trainer_callback", _module("transformers.trainer_callback", TrainerCallback=Nothing)
    )
    assert isinstance(attach.Attached(), Nothing)
    (event,) = _told(run)
    assert event["guard"] == "failed"
    assert "doctor.monitors.guard.transformers" in event["error"]


def test_an_engine_made_by_hand_is_watched_and_one_of_a_trainer_is_not(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[Any] = []
    monkeypatch.setattr(watch_module, "watch", watched.append)

    class Owner:
        def train(self, module: Any) -> Any:
            return module.initialize("of the trainer")

    monkeypatch.setitem(sys.modules, "transformers.trainer", _module("transformers.trainer", Trainer=Owner))
    module: Any = _module("deepspeed", initialize=lambda engine: (engine, None))
    attach._to_engines(module)
    assert Owner().train(module) == ("of the trainer", None)
    assert watched == []
    assert module.initialize("by hand") == ("by hand", None)
    assert watched == ["by hand"]
    assert [each["to"] for each in _told(run)] == ["deepspeed.initialize"]


def test_an_engine_that_cannot_be_watched_is_made_all_the_same(run: RunDir) -> None:
    module: Any = _module("deepspeed", initialize=lambda: ("no engine",))
    attach._to_engines(module)
    assert module.initialize() == ("no engine",)
    assert [each["guard"] for each in _told(run)] == ["failed"]


def test_a_folder_that_is_named_like_the_library_is_left_alone() -> None:
    module = _module("deepspeed")
    attach._to_engines(module)
    assert not hasattr(module, "initialize")


@pytest.mark.parametrize(
    ("program", "rank", "trains"),
    [
        ("train.py", "", True), ("/opt/bin/accelerate", "", False), ("/opt/bin/torchrun", "", False),
        ("/opt/bin/accelerate", "0", True), ("/opt/bin/vllm", "", False), ("/opt/bin/pip", "", False),
    ],
)  # fmt: skip
def test_launchers_and_servers_are_no_training_processes(
    program: str, rank: str, trains: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "x"])
    monkeypatch.setitem(sys.modules, "__main__", _module("__main__", __spec__=None))
    monkeypatch.setenv("RANK", rank)
    assert attach._may_train() is trains


def test_a_launcher_run_as_a_module_is_no_training_process(monkeypatch: pytest.MonkeyPatch) -> None:
    main = _module("__main__")
    main.__spec__ = SimpleNamespace(name="accelerate.commands.launch")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(sys, "argv", ["launch.py"])
    monkeypatch.delenv("RANK", raising=False)
    assert not attach._may_train()


@pytest.mark.process
@pytest.mark.parametrize("version", ["3.9", "3.12"])
def test_a_launcher_run_as_a_module_is_known_while_its_package_is_imported(version: str, tmp_path: Path) -> None:
    carry(["doctor.monitors.inject.attach"], tmp_path / "lib")
    package = tmp_path / "deepspeed" / "launcher"
    package.mkdir(parents=True)
    asks = "from doctor.monitors.inject import attach; print(attach._module_run(), attach._may_train())"
    (package.parent / "__init__.py").write_text(asks)
    (package / "__init__.py").touch()
    (package / "launch.py").write_text(asks)
    done = subprocess.run(
        [interpreter(version), "-B", "-W", "default", "-m", "deepspeed.launcher.launch", "-m", "x"], cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "lib")}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["deepspeed.launcher.launch False"] * 2, done.stderr


def test_exceptions_are_recorded_once_and_handed_on(run: RunDir, hooks: list[BaseException]) -> None:
    exceptions.watch()
    exceptions.watch()
    error = ValueError("bad")
    sys.excepthook(ValueError, error, None)
    exceptions.record(error)
    assert hooks == [error]
    (event,) = _told(run, "exception")
    assert (event["type"], event["text"], event["thread"]) == ("ValueError", "bad", None)


def test_a_thread_that_ends_is_recorded_as_a_thread(run: RunDir, hooks: list[BaseException]) -> None:
    def fails() -> None:
        raise OSError("socket")

    exceptions.watch()
    thread = threading.Thread(target=fails, name="loader")
    thread.start()
    thread.join()
    (event,) = _told(run, "exception")
    assert (event["type"], event["thread"]) == ("OSError", "loader")
    assert len(hooks) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GuardStop("policy")])
def test_what_is_no_failure_is_not_recorded(error: BaseException, run: RunDir, hooks: list[BaseException]) -> None:
    exceptions.watch()
    sys.excepthook(type(error), error, None)
    assert _told(run, "exception") == []
    assert hooks == [error]


def test_an_exception_that_another_hook_swallowed_is_found_at_the_end(
    run: RunDir, hooks: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    exceptions.watch()
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)  # a library that prints in colours and calls nobody
    monkeypatch.setattr(sys, "last_value", ValueError("late"), raising=False)
    exceptions._at_exit()
    assert [each["text"] for each in _told(run, "exception")] == ["late"]
    assert hooks == []


@pytest.mark.parametrize(
    ("kind", "data", "watched"),
    [
        ("monitor", {"guard": "attached"}, True), ("step", {}, True), ("alarm", {"id": "NUM006"}, True),
        ("exception", {"type": "ValueError"}, False), ("monitor", {"what": "console"}, False),
    ],
)  # fmt: skip
def test_a_guard_that_the_script_made_itself_has_watched_too(
    kind: str, data: dict[str, str], watched: bool, tmp_path: Path
) -> None:
    from doctor.monitors.inject.lay import PATIENT, what_became_of_it
    from doctor.run.folder import Events

    made = RunDir(tmp_path)
    for name in ("hook", "loaded"):
        (made.path / PATIENT / name).mkdir(parents=True)
    events = Events(made, rank=0, role="trainer")
    events.write(kind, step=3, **data)
    events.close()
    absent = what_became_of_it(made)
    assert (absent is None) == watched
    assert watched or absent.name == "nothing_watched"  # type: ignore[union-attr]


class _Library:
    """Stands for `transformers.trainer`."""

    class Trainer:
        def train(self) -> bool:
            return self.prepare()

        def prepare(self) -> bool:
            return attach._by_trainer()


class _Derived(_Library.Trainer):
    """The user's, which calls nothing of the library's."""

    def own(self) -> bool:
        return attach._by_trainer()

    @functools.lru_cache(maxsize=1)  # noqa: B019 - a decorator that is no function
    def kept(self) -> bool:
        return self.own()


def _by_hand() -> bool:
    return attach._by_trainer()


def test_an_engine_of_a_trainer_is_told_from_one_that_is_made_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers.trainer", _Library)
    assert _Library.Trainer().train()
    assert _Derived().own()
    assert _Derived().kept()
    assert not _by_hand()
    monkeypatch.delitem(sys.modules, "transformers.trainer")
    assert not _Derived().own()


def test_what_the_program_deletes_is_gone_though_its_frame_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of many gigabytes, say, in the function that makes the engine and then trains."""

    class Model:
        pass

    monkeypatch.setitem(sys.modules, "transformers.trainer", _Library)
    model = Model()
    there = weakref.ref(model)
    assert not attach._by_trainer()
    del model
    assert there() is None
