"""What `--deep` measures between nodes: products on each device, exchanges of pairs, all-reduces over rings.

Every node holds what its own processes measured; `doctor.catalogue.nodes.measured` puts the nodes' parts together.
"""

from __future__ import annotations

from typing import Literal

from doctor.base.record import record

#: "ok": measured to the end; "cut": the time was used up; "left out": the others measured without this process;
#: "error": see `error`; "died": of a signal; "timeout": killed after its time
ProcessOutcome = Literal["ok", "cut", "left out", "error", "died", "timeout"]


@record
class Product:
    """Speed of one device: `tflops` the median of portions whose relative noise is `spread`."""

    dtype: str
    tflops: float
    spread: float


@record
class Process:
    """One measuring process: `local` number on its node, on NVML's GPU `gpu` or on the CPU (None).

    Args:
        phase: what it was at when it ended: "import", "store", "meeting", "products", "group", "pairs", "repeats" or
            "rings".
        error: last line of an exception, redacted. `signal`: what it died of, "SIGKILL".
        missing: nodes that had not come when this process stopped waiting.

    """

    local: int
    outcome: ProcessOutcome
    gpu: int | None = None
    gpu_name: str | None = None
    backend: str | None = None
    torch: str | None = None
    phase: str | None = None
    error: str | None = None
    signal: str | None = None
    product: Product | None = None
    members: int | None = None
    missing: tuple[int, ...] = ()


@record
class Exchange:
    """Messages between two processes: one way latency, and bandwidth each way while both send; lower quartiles.

    Args:
        node_a, local_a, node_b, local_b: the ends; the first measured and holds this record.
        bandwidth_gb_s: 1e9 bytes a second.
        repeat: 0 for the first measurement, then 1, 2 ... of the pairs that looked slow.
        *_spread: relative noise of the repetitions behind each.

    """

    node_a: int
    local_a: int
    node_b: int
    local_b: int
    latency_us: float
    bandwidth_gb_s: float
    message_bytes: int
    repeat: int = 0
    latency_spread: float = 0.0
    bandwidth_spread: float = 0.0


@record
class Ring:
    """An all-reduce over a group of `nodes` nodes: "all", or "digit 1 is 0" for half of them.

    `bus_gb_s` as nccl-tests define it. `sum_right`: every process added its one.
    """

    group: str
    nodes: int
    message_bytes: int
    seconds: float
    bus_gb_s: float
    sum_right: bool = True


@record
class Collectives:
    """What this node measured together with others.

    Args:
        meeting: token of the `Meeting`; node, nodes: as there.
        shared_by: "folder", "launcher" or "address": through what the nodes met.
        busy: GPUs left out: (index, why).

    """

    meeting: str
    node: int
    nodes: int
    shared_by: str
    seconds: float = 0.0
    processes: tuple[Process, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    rings: tuple[Ring, ...] = ()
    busy: tuple[tuple[int, str], ...] = ()
