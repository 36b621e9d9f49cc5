"""Which of how many nodes this is, as the scheduler or launcher tells its processes by variables."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.record import record


@record
class Placed:
    """`launcher`: "slurm", "torchrun", "mpi", "kubernetes", None; `names` as written, "node[01-04]"."""

    launcher: str | None = None
    rank: int | None = None
    nodes: int | None = None
    names: str | None = None
    job: str | None = None


def placed(variables: Mapping[str, str]) -> Placed:
    """Read the first launcher that tells of nodes: the innermost comes first.

    torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html (GROUP_RANK, GROUP_WORLD_SIZE; PET_* are its own
    options as variables, which Kubeflow sets); Slurm: https://slurm.schedmd.com/srun.html (output environment
    variables); Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode.
    """
    for read in (_torchrun, _slurm, _mpi, _kubernetes):
        found = read(variables)
        if found is not None:
            return found
    return Placed(rank=_number(variables, "NODE_RANK"))


def _torchrun(variables: Mapping[str, str]) -> Placed | None:
    rank = _number(variables, "GROUP_RANK")
    if rank is None:
        return None
    return Placed("torchrun", rank, _number(variables, "GROUP_WORLD_SIZE"), job=variables.get("TORCHELASTIC_RUN_ID"))


def _slurm(variables: Mapping[str, str]) -> Placed | None:
    job = variables.get("SLURM_JOB_ID")
    if job is None:
        return None
    # of the step where srun started this; without srun it runs on the first node of the job alone
    nodes = _number(variables, "SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    names = variables.get("SLURM_STEP_NODELIST") or variables.get("SLURM_JOB_NODELIST")
    return Placed("slurm", _number(variables, "SLURM_NODEID"), nodes, names, job)


def _mpi(variables: Mapping[str, str]) -> Placed | None:
    """Open MPI numbers no nodes: how many there are follows from the processes, where that comes out even."""
    size, local = (_number(variables, f"OMPI_COMM_WORLD_{name}") for name in ("SIZE", "LOCAL_SIZE"))
    if size is None:
        return None
    return Placed("mpi", nodes=size // local if local and size % local == 0 else None)


def _kubernetes(variables: Mapping[str, str]) -> Placed | None:
    nodes, rank = _number(variables, "PET_NNODES"), _number(variables, "PET_NODE_RANK", "JOB_COMPLETION_INDEX")
    if nodes is None and rank is None:
        return None
    return Placed("kubernetes", rank, nodes)


def local_rank(variables: Mapping[str, str]) -> int:
    """Number of this process among those of its machine; 0 where nothing tells."""
    return _number(variables, "LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK") or 0


def _number(variables: Mapping[str, str], *names: str) -> int | None:
    return next((int(text) for name in names if (text := variables.get(name, "")).isdecimal()), None)
