"""What only running can tell (`--deep`): imports, a small matmul, mapped libraries, a two-process collective."""

from __future__ import annotations

from doctor.base.record import record


@record
class Import:
    """One `import` in a child process of the patient's interpreter.

    `outcome`: "ok", "missing", "error" (an exception), "signal" (died by a signal), "timeout".
    """

    module: str
    outcome: str
    seconds: float
    error_type: str | None = None
    error: str | None = None  # last line of the exception, redacted
    signal: str | None = None
    missing_library: str | None = None  # "libcudart.so.12"
    undefined_symbol: str | None = None
    raised_in: str | None = None  # module whose import really failed, when it is not the one asked for


@record
class Matmul:
    """A small product on one GPU in one dtype. `outcome` as in Import; `finite` whether the result was."""

    gpu: int
    dtype: str
    outcome: str
    error: str | None = None
    signal: str | None = None
    finite: bool | None = None


@record
class Speed:
    """What one GPU did for a second: dense products (TFLOPS, 10**12 a second), and bytes read and written (10**9)."""

    gpu: int
    dtype: str
    tflops: float
    gb_s: float


@record
class Mapped:
    """A CUDA library that the process really mapped, from /proc/PID/maps."""

    stem: str
    path: str
    version: str | None = None


@record
class Collective:
    """An all-reduce between two processes. `backend` "nccl" or "gloo"."""

    backend: str
    outcome: str
    seconds: float
    error: str | None = None


@record
class Deep:
    """Results of the deep probes; a part that was not run is absent."""

    imports: tuple[Import, ...] = ()
    matmuls: tuple[Matmul, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    collective: Collective | None = None
    torch_arch_list: tuple[str, ...] = ()
    cuda_available: bool | None = None
    speeds: tuple[Speed, ...] = ()
