"""NVML through `nvidia-ml-py`: the only place that imports `pynvml`, and only when asked.

`open_nvml()` gives the one session of this process; `Nvml.query("nvmlDeviceGetName", handle)` asks one thing.
What the card, the driver or the binding does not know is None, never a number. A card that fell off the bus
raises `GpuLost`, so that the caller can mark that card and go on with the others.

Errors of NVML's initialisation and their usual cause (nvml.h, nvmlReturn_t):
    NOT_FOUND of the library: no driver, or a container that was started without the NVIDIA runtime.
    DRIVER_NOT_LOADED: the kernel module is not loaded: no GPU, Nouveau in its place, or DKMS failed after a
    kernel update.
    LIB_RM_VERSION_MISMATCH: the driver's packages were updated while the old kernel module stayed loaded.
    NO_PERMISSION: the device nodes under /dev may not be opened by this user.

Never called here, for they are slow: GraphicsRunningProcesses (4.5 ms,
https://github.com/flightlessmango/MangoHud/issues/2104), PcieThroughput (blocks 20 ms by its documentation),
FanSpeed.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from doctor.base.fact import Unavailable

# nvmlReturn_t, nvml.h: https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18
GPU_NOT_FOUND = 28

GONE = frozenset({GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND})

_WHY = {
    LIBRARY_NOT_FOUND: "no NVIDIA driver: `libnvidia-ml.so.1` cannot be loaded (no driver, or a container started "
    "without the NVIDIA runtime)",
    DRIVER_NOT_LOADED: "the NVIDIA kernel module is not loaded: `nvidia-smi` and `sudo modprobe nvidia` show why",
    LIB_RM_VERSION_MISMATCH: "driver/library version mismatch: the loaded kernel module is older than the library; "
    "reboot, or reload the `nvidia` modules",
    NO_PERMISSION: "NVML may not open the GPU's device nodes: see the permissions of /dev/nvidiactl and /dev/nvidia0",
    GPU_IS_LOST: "the driver reports a lost GPU: it fell off the bus",
    TIMEOUT: "the NVIDIA driver did not answer NVML in time",
}


class NvmlUnavailable(Unavailable):
    """NVML gives nothing at all. The message is the reason for people; `text` is NVML's own short word for it."""

    def __init__(self, reason: str, text: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.text = text
        self.code = code


class GpuLost(Exception):  # noqa: N818 - a state of the card
    """A GPU does not answer any more; `code` is NVML's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Nvml:
    """An initialised NVML. Thread-safe as the library is; handles are its own and mean nothing elsewhere."""

    def __init__(self, module: Any) -> None:
        self._module = module
        # what the binding's unversioned names raise, outside of NVMLError, where the driver lacks the newest form
        self._mismatch = getattr(module, "NVMLLibraryMismatchError", ())

    def constant(self, name: str, default: int) -> int:
        """A constant of the binding, `default` where this binding lacks it."""
        value = getattr(self._module, name, default)
        return int(value) if isinstance(value, int) else default

    def structure(self, name: str) -> Any:
        """A structure of the binding, to be filled and handed to a call; None where this binding lacks it."""
        made = getattr(self._module, name, None)
        return None if made is None else made()

    def pointer(self, function: str) -> Any:
        """The C function itself, unchecked; None where the driver lacks it."""
        with contextlib.suppress(self._module.NVMLError):
            return self._module._nvmlGetFunctionPointer(function)  # noqa: SLF001 - see _unfit
        return None

    def query(self, function: str, *arguments: Any, **named: Any) -> Any:
        """Ask one thing; None when card, driver or binding cannot tell.

        Raises:
            GpuLost: the card does not answer any more.

        """
        return self.ask(function, *arguments, **named)[0]

    def ask(self, function: str, *arguments: Any, **named: Any) -> tuple[Any, int | None]:
        """Like `query`, with NVML's return code beside the answer (None when it succeeded)."""
        call = getattr(self._module, function, None)
        if call is None:
            return None, FUNCTION_NOT_FOUND  # a binding older than the question
        try:
            return call(*arguments, **named), None
        except self._module.NVMLError as exc:
            code = int(exc.value)
            if code in GONE:
                raise GpuLost(code, error_text(exc)) from None
            return None, code
        except self._mismatch:
            return None, FUNCTION_NOT_FOUND

    def first(self, *questions: tuple[Any, ...]) -> Any:
        """The first answer among versioned forms of one question: ("nvml...v3", handle), ("nvml...v2", handle)."""
        for function, *arguments in questions:
            answer = self.query(function, *arguments)
            if answer is not None:
                return answer
        return None


def error_text(error: Exception) -> str:
    """NVML's own words for an error."""
    return str(error).rstrip(".") or type(error).__name__


_lock = threading.Lock()
_opened: Nvml | None = None
_failure: NvmlUnavailable | None = None


def open_nvml() -> Nvml:
    """The session of this process; initialised at the first call and left open until the process ends.

    The first call costs the import of pynvml (30 ms) and the driver's own start: seconds where no persistence
    daemon keeps the cards awake.

    Raises:
        NvmlUnavailable: with the usual cause in plain words.

    """
    global _opened, _failure  # noqa: PLW0603 - NVML itself is one per process
    with _lock:
        if _opened is None and _failure is None:
            try:
                _opened = Nvml(_initialised())
            except NvmlUnavailable as exc:
                _failure = exc
        if _opened is None:
            assert _failure is not None  # noqa: S101 - one of the two was just set
            raise NvmlUnavailable(str(_failure), _failure.text, _failure.code)
        return _opened


def failure_text() -> str | None:
    """NVML's word for why it is not open, None when it is open or nobody has asked. Never waits."""
    return _failure.text if _failure is not None else None


def _initialised() -> Any:
    """Import and initialise the binding."""
    _require_library()
    try:
        import pynvml
    except ImportError as exc:
        raise NvmlUnavailable("`nvidia-ml-py` is not installed beside the doctor", "no NVML binding") from exc
    unfit = _unfit(pynvml)
    if unfit:
        raise NvmlUnavailable(unfit, "unfit NVML binding")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as exc:
        code = int(exc.value)
        text = error_text(exc)
        raise NvmlUnavailable(_WHY.get(code, f"NVML cannot be initialised: {text}"), text, code) from exc
    return pynvml


def _require_library() -> None:
    """Ask the linker for the library first: where there is no driver, the import of the binding (20 ms) is spared.

    Raises:
        NvmlUnavailable: the library cannot be loaded.

    """
    import ctypes

    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as exc:
        text = "NVML Shared Library Not Found"
        raise NvmlUnavailable(_WHY[LIBRARY_NOT_FOUND], text, LIBRARY_NOT_FOUND) from exc


def _unfit(module: Any) -> str | None:
    """Why this `pynvml` cannot be trusted: a namesake, or one too old to know today's structures.

    The `pynvml` distribution before 12 carried a package of that name with an old copy of the binding,
    without the private names of NVIDIA's own module (https://github.com/gpuopenanalytics/pynvml). Its
    structures do not fit newer drivers: pids and memory sizes come out swapped
    (https://github.com/gpuopenanalytics/pynvml/issues/50).
    """
    where = getattr(module, "__file__", None) or "an unknown place"
    if not hasattr(module, "nvmlInit") or not hasattr(module, "NVMLError"):
        return f"`pynvml` at {where} is not NVIDIA's binding: uninstall what put it there, keep `nvidia-ml-py`"
    if not hasattr(module, "_nvmlGetFunctionPointer"):
        return f"`pynvml` at {where} is the unofficial package: `pip uninstall pynvml`, then reinstall `nvidia-ml-py`"
    if not hasattr(module, "nvmlDeviceGetComputeRunningProcesses_v3"):
        return f"`pynvml` at {where} is too old: `pip install -U nvidia-ml-py`"
    return None
