"""The deep probes: each starts children of the patient's interpreter and turns what they said into dataclasses."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.base.scratch import Folder
from doctor.facts.deep import Collective, Import, Mapped, Matmul, Speed
from doctor.readers.patient import folder as _patient_child

IMPORT_TIMEOUT_S = 60.0
DEVICE_TIMEOUT_S = 60.0
COLLECTIVE_TIMEOUT_S = 45.0
_OTHER_RANK_S = 5.0  # to say what it knows once the first has failed; it would wait for that one in vain
_ERROR_CHARACTERS = 400

_UNDEFINED = later(r"undefined symbol: ([^\s,]+)")
_MISSING = later(r"([\w.+-]+\.so[\w.]*): cannot open shared object file")
_STEMS = (
    "libcublas", "libcublasLt", "libcudart", "libcudnn", "libcusparse", "libnccl", "libnvJitLink",
)  # fmt: skip

#: variables of a surrounding launcher that would make the two-process collective join another group
_LAUNCHER = frozenset({
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
})  # fmt: skip


@record
class Probed:
    """Where the probes run: interpreter, variables, and the time (time.monotonic()) by which all must have ended."""

    executable: str
    environ: Mapping[str, str]
    deadline: float

    def time_for(self, wanted_s: float) -> float:
        """Seconds that a probe may take; below one second there is no point in starting it."""
        return min(wanted_s, self.deadline - time.monotonic())

    def run(self, *arguments: str, timeout_s: float) -> _patient_child.Ended:
        """Run one probe to its end."""
        return _patient_child.run(self.executable, arguments, environ=self.environ, timeout_s=timeout_s)


def import_module(patient: Probed, module: str) -> Import | None:
    """Import one module; None when the time is used up."""
    timeout_s = patient.time_for(IMPORT_TIMEOUT_S)
    if timeout_s < 1.0:
        return None
    ended = patient.run("import", module, timeout_s=timeout_s)
    seconds = round(ended.seconds, 3)
    if ended.timed_out:
        return Import(module, "timeout", seconds)
    if ended.signal:
        return Import(module, "signal", seconds, signal=ended.signal)
    outcomes = ended.all("outcome")
    if not outcomes:  # the module ended the interpreter, or the interpreter does not run
        error = _last_line(ended.stderr) or f"the interpreter ended with exit code {ended.exit_code}"
        return Import(module, "error", seconds, error_type="SystemExit", error=error)
    said = outcomes[0]
    if said["outcome"] == "ok":
        return Import(module, "ok", seconds)
    raised_in = said.get("raised_in")
    if said.get("not_found") and raised_in == module:
        return Import(module, "missing", seconds)
    text = f"{said.get('outer') or ''}\n{said.get('error')}"
    return Import(
        module,
        "error",
        seconds,
        error_type=said.get("error_type"),
        error=_error(said.get("error")),
        missing_library=_first(_MISSING, text),
        undefined_symbol=_first(_UNDEFINED, text),
        raised_in=raised_in if raised_in != module else None,
    )


@record
class Devices:
    """What torch says of itself: `uuids` of its devices in its own order, None where torch does not tell."""

    arch_list: tuple[str, ...] = ()
    cuda_available: bool | None = None
    uuids: tuple[str | None, ...] = ()
    mapped: tuple[Mapped, ...] = ()


def devices(patient: Probed) -> Devices:
    """Ask torch for its architectures and devices; what it could not say before it died is absent."""
    timeout_s = patient.time_for(DEVICE_TIMEOUT_S)
    if timeout_s < 1.0:
        return Devices()
    ended = patient.run("devices", ",".join(_STEMS), timeout_s=timeout_s)
    architectures = [line["arch_list"] for line in ended.all("arch_list")]
    available = [line["cuda_available"] for line in ended.all("cuda_available")]
    return Devices(
        arch_list=tuple(architectures[0]) if architectures else (),
        cuda_available=available[0] if available else None,
        uuids=tuple(line.get("uuid") for line in ended.all("device")),
        mapped=_mapped(ended),
    )


def matmul(patient: Probed, device: int, gpu: int) -> tuple[tuple[Matmul, ...], tuple[Mapped, ...], tuple[Speed, ...]]:
    """Multiply on torch's device `device`, reported as GPU `gpu`, and its speed; () when the time is used up."""
    timeout_s = patient.time_for(DEVICE_TIMEOUT_S)
    if timeout_s < 1.0:
        return (), (), ()
    ended = patient.run("matmul", str(device), ",".join(_STEMS), timeout_s=timeout_s)
    results = {
        line["dtype"]: Matmul(
            gpu, line["dtype"], line["outcome"], error=_error(line.get("error")), finite=line.get("finite")
        )
        for line in ended.all("dtype")
    }
    started = [line["started"] for line in ended.all("started")]
    for dtype in started:
        if dtype not in results:  # the one it was at when it ended
            outcome = "timeout" if ended.timed_out else "signal" if ended.signal else "error"
            error = _last_line(ended.stderr) if outcome == "error" else None
            results[dtype] = Matmul(gpu, dtype, outcome, error=error, signal=ended.signal)
    told = (line["speed"] for line in ended.all("speed"))
    speeds = tuple(Speed(gpu, str(each["dtype"]), float(each["tflops"]), float(each["gb_s"])) for each in told)
    return tuple(results.values()), _mapped(ended), speeds


def collective(patient: Probed, backend: str) -> Collective | None:
    """All-reduce between two processes of this machine; None when the time is used up."""
    timeout_s = patient.time_for(COLLECTIVE_TIMEOUT_S)
    if timeout_s < 1.0:
        return None
    environ = {name: value for name, value in patient.environ.items() if name not in _LAUNCHER}
    with Folder("measured") as folder:
        ranks = [
            _patient_child.Child(
                patient.executable,
                ("collective", str(rank), backend, folder),
                environ=environ,
                timeout_s=timeout_s,
            )
            for rank in (0, 1)
        ]
        ended = _patient_child.finish_together(ranks, grace_s=_OTHER_RANK_S)
    seconds = round(max(each.seconds for each in ended), 3)
    for rank, each in enumerate(ended):
        if each.signal:
            return Collective(backend, "signal", seconds, error=f"rank {rank} died of {each.signal}")
    failed = [line for each in ended for line in each.all("outcome") if line["outcome"] == "error"]
    if failed:
        return Collective(backend, "error", seconds, error=_error(failed[0].get("error")))
    if any(each.timed_out for each in ended):
        waiting = [str(rank) for rank, each in enumerate(ended) if each.timed_out]
        return Collective(backend, "timeout", seconds, error=f"rank {' and '.join(waiting)} did not end in time")
    if all(each.all("outcome") for each in ended):
        return Collective(backend, "ok", seconds)
    silent = next(each for each in ended if not each.all("outcome"))
    return Collective(backend, "error", seconds, error=_last_line(silent.stderr))


def _mapped(ended: _patient_child.Ended) -> tuple[Mapped, ...]:
    from doctor.readers.machine.toolkits import version_in

    return tuple(
        Mapped(line["mapped"], line["path"], line.get("version") or version_in(line["path"]))
        for line in ended.all("mapped")
    )


def _error(text: object) -> str | None:
    """Last line that says something, without secrets, of a bearable length."""
    return _last_line(str(text)) if text else None


def _last_line(text: str) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return redact_text(lines[-1])[:_ERROR_CHARACTERS] if lines else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match.group(1) if match else None
