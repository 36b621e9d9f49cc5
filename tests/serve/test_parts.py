"""The pieces of `doctor serve` one by one: state, processes, draining, choices, the command."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.base.evidence import Observed
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.model import Model
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.fixes.vllm_server import drain, health, record, state
from doctor.fixes.vllm_server.settings import ServerBounds
from doctor.readers.patient.carry import CONTENTS, carry
from doctor.run.folder import Events, RunDir
from doctor.serve import watch as watch_module
from doctor.serve.choices import choices
from doctor.serve.command import NoServer, server_of
from doctor.serve.patient import lay, variables
from doctor.serve.watch import Watch, cause_in
from tests.facts.environments import interpreter
from tests.monitors.conftest import wait_for

GIB = 1 << 30
NOWHERE = ("127.0.0.1", 1)


@pytest.mark.process
def test_what_runs_in_the_server_is_imported_by_a_bare_python_39(tmp_path: Path) -> None:
    folder = carry(["doctor.fixes.vllm_server"], tmp_path)
    modules = json.loads((folder / "doctor" / CONTENTS).read_text())["modules"]
    wanted = [each for each in modules if not each.endswith("sitecustomize")]
    assert len(wanted) > 10
    code = f"import sys, importlib; sys.path.insert(0, {str(folder)!r})\n"
    code += f"for name in {wanted!r}: importlib.import_module(name)"
    done = subprocess.run(
        [interpreter("3.9"), "-I", "-S", "-B", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


# The start-up hook ---------------------------------------------------------------------------------------------


def patient(tmp_path: Path, code: str, *, also: Path | None = None, wait: bool = True) -> Any:
    """A Python with the hook, as the server's is started."""
    run = tmp_path / "run"
    run.mkdir(exist_ok=True)
    folder = run / "patient" if (run / "patient").exists() else lay(run)
    before = {"PYTHONPATH": str(also)} if also else {}
    env = {**os.environ, **variables(folder, ServerBounds(), before), "DOCTOR_RUN_DIR": str(run)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if not wait:
        return process
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), err
    assert not list(folder.glob("failed-*"))
    return out


@pytest.mark.process
def test_the_hook_runs_the_sitecustomize_that_it_shadows(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import sys; sys.theirs = 7\n")
    out = patient(tmp_path, "import sys, sitecustomize; print(sys.theirs, sitecustomize.__file__)", also=theirs)
    assert out.split() == ["7", str(theirs / "sitecustomize.py")]
    assert (tmp_path / "run" / "patient" / "attached").exists()


@pytest.mark.process
def test_the_hook_stays_out_of_the_way_of_other_programs(tmp_path: Path) -> None:
    code = "import sys; print(sorted(each for each in sys.modules if each.startswith('doctor')), sys.path)"
    out = patient(tmp_path, code)
    assert "doctor.fixes.vllm_server.hooks" in out
    assert "guard" not in out
    assert "patient/lib" not in out  # the server's own imports do not pass there


@pytest.mark.process
def test_a_folder_named_doctor_where_the_server_is_started_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doctor").mkdir()
    (tmp_path / "doctor" / "__init__.py").write_text("raise RuntimeError('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    out = patient(tmp_path, "import multiprocessing.process as p; print(p.BaseProcess.start.__wrapped__.__name__)")
    assert out.strip() == "start"


@pytest.mark.process
def test_what_is_hooked_is_not_imported_before_its_hook(tmp_path: Path) -> None:
    code = "import sys; from doctor.fixes.vllm_server import processes; print('multiprocessing.process' in sys.modules)"
    assert patient(tmp_path, code).strip() == "False"


@pytest.mark.process
@pytest.mark.parametrize("late_s", [0, 1])
def test_an_engine_whose_server_was_killed_ends(tmp_path: Path, late_s: int) -> None:
    """Also where the server was dead before the engine's process could look whose child it is."""
    code = f"""
import multiprocessing, os, time
if __name__ == "__main__":
    os.register_at_fork(after_in_child=lambda: time.sleep({late_s}))
    context = multiprocessing.get_context("fork")
    child = context.Process(target=time.sleep, args=(120,))
    child.start()
    print(child.pid, flush=True)
    time.sleep(120)
"""
    server = patient(tmp_path, code, wait=False)
    engine = int(server.stdout.readline())
    server.kill()
    server.wait()
    end = time.monotonic() + 30
    while time.monotonic() < end and _lives(engine):
        time.sleep(0.1)
    assert not _lives(engine)
    server.communicate()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.process
def test_a_process_that_the_server_needs_is_missed(tmp_path: Path) -> None:
    (tmp_path / "vllm.py").write_text("import time\ndef engine(seconds):\n    time.sleep(seconds)\n")
    code = """
import multiprocessing, sys, vllm
from doctor.fixes.vllm_server import processes
context = multiprocessing.get_context("fork")
short = context.Process(target=vllm.engine, args=(0,))
short.start(); short.join()
engine = context.Process(target=vllm.engine, args=(60,), name="EngineCore")
engine.start()
processes.settle()
print(processes.lost())
engine.kill(); engine.join()
print(processes.lost())
"""
    out = patient(tmp_path, code, also=tmp_path)
    assert out.splitlines() == ["None", "process `EngineCore` was killed by signal 9"]


# The application's state ---------------------------------------------------------------------------------------


class Application:
    def __init__(self, **values: Any) -> None:
        self.state = SimpleNamespace(**values)
        self.exception_handlers: dict[Any, Any] = {}
        self.routes: list[Any] = []

    def build_middleware_stack(self) -> Any:
        return self.exception_handlers


def test_the_engine_is_taken_from_the_module_that_generates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.SERVED, "application", None)
    names: dict[str, Any] = {"engine": "the engine", "_generate": None}
    exec("def generate(): pass", names)  # noqa: S102 - a function whose globals are a module's
    application = Application()
    application.routes = [SimpleNamespace(), SimpleNamespace(endpoint=len), SimpleNamespace(endpoint=names["generate"])]
    seen: list[Any] = []

    async def serve_http(app: Any, **kwargs: Any) -> str:
        seen.append((app.state.engine_client, app.state.args, app.state.enable_server_load_tracking, kwargs))
        return "served"

    async def run_server(args: Namespace) -> Any:
        return await state.mended(serve_http)(application, port=1)

    arguments = Namespace(model="m")
    assert asyncio.run(run_server(arguments)) == "served"
    assert seen == [("the engine", arguments, False, {"port": 1})]
    assert state.engine() == "the engine"


def test_what_vllm_sets_itself_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.SERVED, "application", None)
    application = Application(engine_client="theirs", args="theirs", server_load_metrics=5)
    state.complete(application, Namespace())
    assert vars(application.state) == {
        "engine_client": "theirs", "args": "theirs", "server_load_metrics": 5, "enable_server_load_tracking": False,
    }  # fmt: skip


def test_handlers_tell_what_they_swallow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.SERVED, "application", None)
    application = Application(engine_client=None)
    state.complete(application)

    async def waits(request: Any, error: Exception) -> str:
        return "waited"

    application.exception_handlers = {RuntimeError: waits, ValueError: lambda request, error: "done"}
    handlers = application.build_middleware_stack()
    errors: list[Exception] = []
    request = SimpleNamespace(scope={state.ERRORS: errors})
    assert asyncio.run(handlers[RuntimeError](request, RuntimeError("a"))) == "waited"
    assert handlers[ValueError](request, ValueError("b")) == "done"
    assert [str(each) for each in errors] == ["a", "b"]


# The end -------------------------------------------------------------------------------------------------------


def ended(monkeypatch: pytest.MonkeyPatch, in_flight: list[int], again_after: float | None = None) -> Any:
    """A server asked to end while so many requests are in flight, look by look."""
    made = health.Health()
    made.in_flight = in_flight[0]
    monkeypatch.setattr(drain, "HEALTH", made)
    monkeypatch.setattr(drain, "SETTINGS", ServerBounds(drain_s=0.5))
    monkeypatch.setattr(drain, "_ONE_WISH_S", 0.1)
    server = SimpleNamespace(should_exit=False, force_exit=False)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        ending = drain.Ending(server, loop)
        ending.asked()
        ending.asked()  # the doctor hands on what the whole process group got
        if again_after is not None:
            loop.call_later(again_after, ending.asked)
        while not server.should_exit:
            await asyncio.sleep(0.02)
            made.in_flight = in_flight.pop(0) if len(in_flight) > 1 else in_flight[0]

    started = time.monotonic()
    asyncio.run(asyncio.wait_for(scene(), 20))
    return server, time.monotonic() - started


def test_requests_in_flight_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = ended(monkeypatch, [2, 2, 1, 0])
    assert not server.force_exit


def test_an_idle_server_ends_at_once_and_a_stuck_one_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = ended(monkeypatch, [0])
    assert not server.force_exit
    assert not capsys.readouterr().err
    server, seconds = ended(monkeypatch, [1])
    assert server.force_exit
    assert seconds >= 0.5
    assert "1 requests were cut off after 0.5 s" in capsys.readouterr().err


def test_who_asks_again_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    server, _ = ended(monkeypatch, [1], again_after=0.2)
    assert server.force_exit


# Choices -------------------------------------------------------------------------------------------------------


def chosen(
    serving: Serving, *gpus: Gpu, model: Model | None = None, visible: str | None = None, demo: bool = False
) -> list[tuple[tuple[str, ...], str]]:
    variables_of = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    states = {
        "serving": Observed.seen(serving),
        "gpus": Observed.seen(Gpus(gpus=gpus)) if gpus else Observed.unseen("no driver"),
        "environment": Observed.seen(Environment(variables_of)),
    }
    if model is not None:
        states["model"] = Observed.seen(model)
    return [(each.words, each.sentence) for each in choices(states, "en", demo=demo)]


def told(**arguments: Any) -> Serving:
    settings = {name: Observed.written(name, value, text=str(value)) for name, value in arguments.items()}
    return Serving("vllm-api-server", settings, host=arguments.get("host"), dtype=arguments.get("dtype"))


def card(index: int = 0, capability: tuple[int, int] | None = (8, 0), gib: int = 80, name: str = "A") -> Gpu:
    return Gpu(index=index, uuid=f"GPU-{index}", name=name, compute_capability=capability, memory_total_bytes=gib * GIB)


BF16 = Model("m", "m", model_type="qwen2", torch_dtype="bfloat16", attention_heads=12, weight_bytes=GIB)


def test_without_a_host_the_server_is_for_this_machine() -> None:
    assert chosen(told())[0][0] == ("--host", "127.0.0.1")
    assert chosen(told(host="0.0.0.0")) == []
    assert chosen(told(uds="/run/a.sock")) == []


@pytest.mark.parametrize(("serving", "gpu", "model", "words"), [
    (told(host="::1"), card(capability=(7, 5)), BF16, ("--dtype", "half")),
    (told(host="::1"), card(capability=(7, 5)), None, ("--dtype", "half")),
    (told(host="::1"), card(capability=(7, 5)), Model("m", "m", model_type="gemma3", torch_dtype="bfloat16"),
     ("--dtype", "float32")),
    (told(host="::1"), card(capability=(7, 5)), Model("m", "m", torch_dtype="float16"), None),
    (told(host="::1", dtype="bfloat16"), card(capability=(7, 5)), BF16, None),
    (told(host="::1"), card(capability=(8, 0)), BF16, None),
    (told(host="::1"), card(capability=None), BF16, None),
])  # fmt: skip
def test_the_dtype_fits_the_card(
    serving: Serving, gpu: Gpu, model: Model | None, words: tuple[str, ...] | None
) -> None:
    made = chosen(serving, gpu, model=model)
    assert [each for each, _ in made] == ([words] if words else [])
    if words:
        assert "7.5" in made[0][1]


def test_several_gpus_and_no_word_about_them_is_a_suggestion() -> None:
    cards = [card(index, gib=24) for index in range(8)]
    large = Model("m", "m", torch_dtype="bfloat16", attention_heads=28, weight_bytes=60 * GIB)
    served = told(host="::1")
    assert chosen(served, *cards, model=large) == [
        ((), "8 GPUs are visible and one is used: --tensor-parallel-size 4 divides the 28 heads")
    ]
    assert "--tensor-parallel-size 2 " in chosen(served, *cards, model=large, visible="0,1,2")[0][1]
    odd = Model("m", "m", torch_dtype="bfloat16", attention_heads=28, weight_bytes=60 * GIB, intermediate_size=18)
    assert "--tensor-parallel-size 2 " in chosen(served, *cards, model=odd)[0][1]
    assert "--data-parallel-size 8" in chosen(served, *cards, model=BF16)[0][1]
    assert chosen(served, *cards, model=BF16, demo=True) == []
    assert chosen(told(host="::1", tensor_parallel_size=2), *cards, model=large) == []
    assert chosen(served, *cards, model=large, visible="3") == []
    assert chosen(served, *cards) == []


# The command ---------------------------------------------------------------------------------------------------


def installed(root: Path, *files: str, trl: bool = False) -> dict[str, Observed]:
    for each in (*files, "vllm/__init__.py"):
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).touch()
    modules = {"vllm": str(root / "vllm")} | ({"trl": str(root / "trl")} if trl else {})
    packages = Packages(modules=modules)
    return {
        "interpreter": Observed.seen(Interpreter("/env/bin/python", "3.11.7")),
        "packages": Observed.seen(packages),
    }


def test_which_server_is_started(tmp_path: Path) -> None:
    python = "/env/bin/python"
    old = installed(tmp_path / "a", "vllm/entrypoints/api_server.py")
    server = server_of("demo", old)
    assert server.argv == server.judged == (python, "-m", "vllm.entrypoints.api_server")
    assert server_of("openai", old).argv == (python, "-m", "vllm.scripts", "serve")
    new = installed(tmp_path / "b", "vllm/entrypoints/cli/main.py", "trl/scripts/vllm_serve.py", trl=True)
    server = server_of("demo", new)
    assert server.own
    assert server.argv == (python, "-m", "doctor.fixes.vllm_server.server")
    assert server.judged == (python, "-m", "vllm.entrypoints.api_server")
    assert server_of("openai", new).argv == (python, "-m", "vllm.entrypoints.cli.main", "serve")
    assert server_of("trl", new).argv == (python, "-m", "trl.scripts.vllm_serve")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    states = installed(tmp_path)
    with pytest.raises(NoServer, match="`trl` is not installed"):
        server_of("trl", states)
    (tmp_path / "trl").mkdir()
    with pytest.raises(NoServer, match="has no `vllm-serve`"):
        server_of("trl", installed(tmp_path, trl=True))
    states["packages"] = Observed.seen(Packages())
    with pytest.raises(NoServer, match="--python"):
        server_of("demo", states)
    states["interpreter"] = Observed.unseen("`x` does not answer")
    with pytest.raises(NoServer, match="does not answer"):
        server_of("demo", states)


# The watch -----------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_server_that_does_not_come_up_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "_GRACE_S", 1.0)
    run = RunDir(tmp_path)
    (tmp_path / "patient").mkdir()
    (tmp_path / "patient" / "attached").touch()
    code = "import subprocess, signal, time; signal.signal(15, signal.SIG_IGN); "
    code += "print(subprocess.Popen(['sleep', '100']).pid, flush=True); time.sleep(100)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    said: list[str] = []
    watch = Watch(run, 0.3, NOWHERE, dict, said.append)
    watch.start(process.pid)
    assert process.wait(30) == -signal.SIGKILL
    watch.stop()
    process.stdout.close()
    end = time.monotonic() + 10
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert (watch.overdue, _lives(child)) == (True, False)
    assert said == ["the server does not listen after 0.3 s: it is ended"]


@pytest.mark.process
def test_a_server_that_listens_without_uvicorn_is_up(tmp_path: Path) -> None:
    (tmp_path / "patient").mkdir()
    (tmp_path / "patient" / "attached").touch()
    with socket.create_server(("127.0.0.1", 0)) as listener, subprocess.Popen(["sleep", "100"]) as process:
        watch = Watch(RunDir(tmp_path), 0.1, listener.getsockname(), dict, print)
        watch.start(process.pid)
        wait_for(lambda: watch.listening)
        watch.stop()
        assert (process.poll(), watch.listening, watch.overdue) == (None, True, False)
        process.kill()


@pytest.mark.parametrize(("findings", "verdict", "cause"), [
    ([], "unknown", None), ([("warning", "cause")], "known", None), ([("warning", "contributing")], "unknown", None),
    ([("warning", "cause")], "unknown", "F0"), ([("error", "symptom")], "known", None),
    ([("info", "cause")], "unknown", None),
    ([("warning", "cause"), ("error", "cause"), ("error", "cause")], "known", "F1"),
])  # fmt: skip
def test_what_was_odd_at_the_start_is_no_cause(
    findings: list[tuple[str, str]], verdict: str, cause: str | None
) -> None:
    told = [{"id": f"F{at}", "severity": each[0], "role": each[1]} for at, each in enumerate(findings)]
    found = cause_in({"findings": told, "verdict": verdict})
    assert (None if found is None else found["id"]) == cause


@pytest.mark.process
def test_a_server_without_the_hook_is_left_alone(tmp_path: Path) -> None:
    said: list[str] = []
    with subprocess.Popen(["sleep", "100"]) as process:
        watch = Watch(RunDir(tmp_path), 0.1, NOWHERE, dict, said.append)
        watch.start(process.pid)
        wait_for(lambda: said)
        watch.stop()
        assert process.poll() is None
        process.kill()
    assert len(said) == 1


def test_the_diagnosis_of_a_dead_engine_is_left_for_the_clients(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    events = Events(run, role="server")
    events.write("start", listening=True)
    found = {
        "id": "MEM6839/unknown_phase", "name": "n", "severity": "error", "role": "cause", "headline": "h",
        "explanation": "e", "remedy": {},
    }  # fmt: skip
    note = {**found, "id": "PYT009", "severity": "info"}
    odd = {**found, "id": "VLL030", "severity": "warning", "role": "contributing"}
    steps: list[str] = []

    def diagnose() -> dict[str, Any]:
        steps.append("diagnosed")
        return {"findings": [note, odd, found]}

    watch = Watch(run, 0.1, NOWHERE, diagnose, print, lambda: steps.append("prepared"))
    watch.start(os.getpid())
    wait_for(lambda: steps)
    events.write("exception", engine_dead=True)
    wait_for((tmp_path / "cause.json").exists)
    watch.stop()
    assert json.loads((tmp_path / "cause.json").read_text())["id"] == "MEM6839/unknown_phase"
    assert (watch.listening, watch.engine_died, watch.overdue) == (True, True, False)
    assert steps == ["prepared", "diagnosed"]


def test_the_doctor_says_that_it_looks_for_the_cause_as_long_as_it_does(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    events = Events(run, role="server")
    seen: list[str] = []

    def diagnose() -> dict[str, Any]:
        seen.append((tmp_path / "cause.pending").read_text())
        return {"findings": []}

    watch = Watch(run, None, NOWHERE, diagnose, print)
    watch.start(os.getpid())
    events.write("exception", engine_dead=True)
    wait_for((tmp_path / "cause.json").exists)
    watch.stop()
    assert seen == [str(os.getpid())]
    assert not (tmp_path / "cause.pending").exists()


@pytest.mark.process
@pytest.mark.parametrize("alive", [True, False])
def test_clients_are_patient_while_the_doctor_looks_for_the_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, alive: bool
) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(record, "PATIENCE_S", 0.3)
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    (tmp_path / record.PENDING).write_text(str(os.getpid() if alive else gone.pid))
    late = threading.Timer(
        1.0, lambda: (tmp_path / record.CAUSE).write_text(json.dumps({"id": "MEM6839/unknown_phase"}))
    )
    late.start()
    began = time.monotonic()
    found = asyncio.run(record.cause())
    late.join()
    assert found == ({"id": "MEM6839/unknown_phase"} if alive else None)
    assert (time.monotonic() - began >= 0.9) or not alive


def test_patience_has_an_end_however_long_the_doctor_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(record, "LONGEST_S", 0.4)
    (tmp_path / record.PENDING).write_text(str(os.getpid()))
    assert asyncio.run(asyncio.wait_for(record.cause(), 20)) is None
    (tmp_path / record.PENDING).write_text("torn")
    assert record.patience() == record.PATIENCE_S


def test_what_the_diagnosis_needs_is_made_while_the_server_starts(tmp_path: Path) -> None:
    steps: list[str] = []

    def prepare() -> None:
        steps.append("prepared")
        raise ValueError

    watch = Watch(RunDir(tmp_path), None, NOWHERE, dict, print, prepare)
    watch.start(os.getpid())
    wait_for(lambda: steps)
    assert not watch.listening
    watch.stop()
    assert steps == ["prepared"]
