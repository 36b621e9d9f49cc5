"""The deep probes against packages that are really broken: extension modules compiled here with gcc."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.base.fact import Context, Unavailable
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Distribution, Packages
from doctor.readers.machine import deep
from doctor.readers.machine import deep_probes as probes
from doctor.readers.patient.folder import run

pytestmark = pytest.mark.process

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason=f"torch is not installed in {sys.prefix}"
)

# a symbol of another torch's ABI, as flash-attn's wheel asks for when torch was upgraded under it
SYMBOL = "_ZN3c104cuda9SetDeviceEab"


def patient(path: Path | None = None, seconds: float = 30.0, **variables: str) -> probes.Probed:
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path or ""), **variables}
    return probes.Probed(sys.executable, environ, time.monotonic() + seconds)


def package(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    return folder


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    """An extension module NAME; it needs no Python headers, for it never comes to life."""
    folder.mkdir(parents=True, exist_ok=True)
    code = folder / f"{name}.c"
    code.write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / f"{name}.so"), str(code), *flags], check=True)
    return folder


@needs_gcc
def test_undefined_symbol_is_named_with_the_extension_that_wants_it(tmp_path):
    source = f"void {SYMBOL}(void); void *PyInit_flash_attn_2_cuda(void) {{ {SYMBOL}(); return 0; }}"
    compiled(tmp_path, "flash_attn_2_cuda", source)
    package(tmp_path, "flash_attn", "from .interface import attention\n")
    (tmp_path / "flash_attn" / "interface.py").write_text("import flash_attn_2_cuda\nattention = 1\n")
    found = probes.import_module(patient(tmp_path), "flash_attn")
    assert (found.outcome, found.error_type) == ("error", "ImportError")
    assert found.undefined_symbol == SYMBOL
    assert found.raised_in == "flash_attn_2_cuda"
    assert found.missing_library is None


@needs_gcc
def test_missing_shared_library_is_named(tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    (away / "cudart.c").write_text("int cudaMalloc(void) { return 0; }\n")
    library = away / "libcudart.so.12"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.12", "-o", str(library), str(away / "cudart.c")],
        check=True,
    )
    source = "int cudaMalloc(void); void *PyInit__C(void) { cudaMalloc(); return 0; }"
    compiled(package(tmp_path, "vllm", "from vllm import _C\n") / "vllm", "_C", source, str(library))
    library.unlink()
    found = probes.import_module(patient(tmp_path), "vllm")
    assert (found.outcome, found.missing_library) == ("error", "libcudart.so.12")
    assert found.undefined_symbol is None
    assert found.error == "libcudart.so.12: cannot open shared object file: No such file or directory"


@needs_gcc
def test_a_crash_is_a_signal_with_a_name_and_leaves_no_core(tmp_path):
    compiled(tmp_path, "crash", "void *PyInit_crash(void) { *(volatile int *)0 = 1; return 0; }")
    package(tmp_path, "bitsandbytes", "import crash\n")
    found = probes.import_module(patient(tmp_path), "bitsandbytes")
    assert (found.outcome, found.signal) == ("signal", "SIGSEGV")
    assert not list(tmp_path.glob("core*"))


@needs_gcc
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="division by zero traps on x86 only")
def test_integer_division_by_zero_is_sigfpe(tmp_path):
    source = "volatile int one = 1, zero; void *PyInit_crash(void) { return (void *)(long)(one / zero); }"
    compiled(tmp_path, "crash", source)
    package(tmp_path, "deepspeed", "import crash\n")
    assert probes.import_module(patient(tmp_path), "deepspeed").signal == "SIGFPE"


@needs_gcc
def test_an_import_that_hangs_is_killed_with_all_that_it_started(tmp_path):
    compiled(tmp_path, "hang", "unsigned sleep(unsigned); void *PyInit_hang(void) { for (;;) sleep(100); }")
    text = f"""\
import subprocess
child = subprocess.Popen(["sleep", "100"])
with open({str(tmp_path / "pid")!r}, "w") as out:
    out.write(str(child.pid))
import hang
"""
    package(tmp_path, "deepspeed", text)
    started = time.monotonic()
    found = probes.import_module(patient(tmp_path, seconds=2.0), "deepspeed")
    assert found.outcome == "timeout"
    assert time.monotonic() - started < 10
    assert is_dead(int((tmp_path / "pid").read_text()))


def is_dead(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_what_a_lazy_importer_wraps_is_unwrapped(tmp_path):
    text = """\
def __getattr__(name):
    try:
        import zmq_that_is_absent
    except Exception as error:
        raise RuntimeError(f"Failed to import trl.trainer.grpo_trainer because of: {error}") from error
"""
    found = probes.import_module(patient(package(tmp_path, "trl", text)), "trl")
    assert (found.outcome, found.error_type, found.raised_in) == ("error", "ModuleNotFoundError", "zmq_that_is_absent")
    assert found.error == "No module named 'zmq_that_is_absent'"


def test_a_wrapper_that_does_not_say_from(tmp_path):
    text = "try:\n    import absent_one\nexcept ImportError:\n    raise RuntimeError('install it')\n"
    found = probes.import_module(patient(package(tmp_path, "deepspeed", text)), "deepspeed")
    assert (found.error_type, found.raised_in) == ("ModuleNotFoundError", "absent_one")


def test_of_a_failed_fallback_the_fallback_is_named(tmp_path):
    text = "try:\n    import absent_one\nexcept ImportError:\n    import absent_two\n"
    found = probes.import_module(patient(package(tmp_path, "deepspeed", text)), "deepspeed")
    assert found.raised_in == "absent_two"


def test_an_error_that_was_merely_being_handled_is_not_the_cause(tmp_path):
    text = "try:\n    {}['vllm']\nexcept KeyError:\n    import absent_one\n"
    found = probes.import_module(patient(package(tmp_path, "deepspeed", text)), "deepspeed")
    assert (found.error_type, found.raised_in) == ("ModuleNotFoundError", "absent_one")


def test_a_trl_without_the_trainer(tmp_path):
    found = probes.import_module(patient(package(tmp_path, "trl", "__version__ = '0.11.4'\n")), "trl")
    assert (found.outcome, found.error_type) == ("error", "AttributeError")
    assert "GRPOTrainer" in found.error


def test_a_module_deep_below_that_raises_is_named(tmp_path):
    package(tmp_path, "deepspeed", "from deepspeed.ops import op_builder\n")
    package(tmp_path, "deepspeed/ops", "class MissingCUDAException(Exception): pass\n")
    (tmp_path / "deepspeed/ops/op_builder.py").write_text(
        "from deepspeed.ops import MissingCUDAException\n"
        "def installed_cuda_version():\n    raise MissingCUDAException('CUDA_HOME does not exist')\n"
        "installed_cuda_version()\n"
    )
    found = probes.import_module(patient(tmp_path), "deepspeed")
    assert (found.error_type, found.raised_in) == ("MissingCUDAException", "deepspeed.ops.op_builder")


def test_absent_and_whole_packages(tmp_path):
    assert probes.import_module(patient(tmp_path), "vllm").outcome == "missing"
    whole = probes.import_module(patient(package(tmp_path, "deepspeed", "print('[INFO] ' * 9999)\n")), "deepspeed")
    assert (whole.outcome, whole.error) == ("ok", None)


@pytest.mark.parametrize("text", ["import os\nos._exit(3)\n", "import sys\nsys.exit(3)\n", "raise KeyboardInterrupt\n"])
def test_a_package_that_ends_the_interpreter(tmp_path, text):
    found = probes.import_module(patient(package(tmp_path, "deepspeed", text)), "deepspeed")
    assert found.outcome == "error"
    assert found.error or found.error_type


def test_secrets_in_an_error_are_taken_out(tmp_path):
    text = "raise RuntimeError('cannot fetch https://user:passw0rd123@host/x with hf_abcdefghijklmnopq')\n"
    found = probes.import_module(patient(package(tmp_path, "deepspeed", text)), "deepspeed")
    assert "passw0rd123" not in repr(found)
    assert "hf_abcdefgh" not in repr(found)


def test_a_shadowing_folder_at_the_doctors_place_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(package(tmp_path, "deepspeed", "raise RuntimeError('mine')\n"))
    assert probes.import_module(patient(), "deepspeed").outcome in {"missing", "ok"}


def test_no_time_left_means_no_probe():
    assert probes.import_module(patient(seconds=0.5), "torch") is None
    assert probes.collective(patient(seconds=0.5), "gloo") is None


def test_stdin_is_closed_and_the_working_folder_is_not_on_the_path(tmp_path):
    text = "import os, sys\nassert sys.stdin.read() == ''\nassert '' not in sys.path and os.getcwd() not in sys.path\n"
    environ = patient(package(tmp_path, "deepspeed", text)).environ
    ended = run(sys.executable, ("import", "deepspeed"), environ=environ, timeout_s=20)
    assert ended.said == ({"outcome": "ok"},)


CONTEXT = Context(environ=dict(os.environ), deep=True)
PYTHON = Interpreter(sys.executable, "3.11.0")


def test_only_when_asked():
    with pytest.raises(Unavailable, match="measured with --deep only"):
        deep.collect(Context(), PYTHON, None, None, None)


def test_an_interpreter_that_cannot_be_started():
    with pytest.raises(Unavailable, match="cannot be started"):
        deep.collect(CONTEXT, Interpreter("/no/such/python", "3.9.0"), None, None, None)


def test_only_installed_packages_are_tried_with_the_commands_own_variables(tmp_path):
    package(tmp_path, "deepspeed", "import os\nassert os.environ['FROM_COMMAND'] == 'yes'\n")
    package(tmp_path, "flash_attn", "raise RuntimeError('broken')\n")
    launch = Launch(("x",), "python", environment={"FROM_COMMAND": "yes", "PYTHONPATH": str(tmp_path)})
    packages = Packages(
        distributions={
            "deepspeed": Distribution("deepspeed", "0.19.8"),
            "flash-attn": Distribution("flash-attn", "2.8"),
        },
        modules={"vllm": None},
    )
    found = deep.collect(CONTEXT, PYTHON, launch, packages, None)
    assert [(each.module, each.outcome) for each in found.imports] == [("deepspeed", "ok"), ("flash_attn", "error")]
    assert found.collective is None


def test_torchs_device_is_found_among_nvmls_by_uuid():
    gpus = Gpus(gpus=(Gpu(0, uuid="GPU-aaaa"), Gpu(1, uuid="GPU-bbbb")))
    assert deep._nvml_index(0, "bbbb", gpus) == 1
    assert deep._nvml_index(0, "GPU-aaaa", gpus) == 0
    assert deep._nvml_index(1, None, gpus) == 1
    assert deep._nvml_index(0, "cccc", gpus) == 0
    assert deep._nvml_index(0, "bbbb", None) == 0


@needs_torch
def test_real_torch_imports_and_two_processes_add_up():
    found = deep.collect(CONTEXT, PYTHON, None, Packages(modules={"torch": "x"}), None)
    (torch,) = found.imports
    assert (torch.module, torch.outcome) == ("torch", "ok")
    assert found.cuda_available is not None
    assert found.collective.outcome == "ok", found.collective.error


@needs_torch
def test_an_absent_interface_breaks_the_collective():
    variables = {"GLOO_SOCKET_IFNAME": "nosuch0", "RANK": "7", "WORLD_SIZE": "9", "MASTER_ADDR": "nohost"}
    found = probes.collective(patient(seconds=40, **variables), "gloo")
    assert found.outcome == "error"
    assert "nosuch0" in found.error


@needs_torch
def test_a_matmul_without_the_device_is_an_error_and_not_a_crash():
    results, _, speeds = probes.matmul(patient(CUDA_VISIBLE_DEVICES=""), 0, 0)
    assert not speeds
    assert [(each.dtype, each.outcome) for each in results] == [("float16", "error"), ("bfloat16", "error")]
    assert all(each.error and each.finite is None for each in results)
