"""The limit of processes and threads is too low for Ray.

## What it means
A user may have fewer processes and threads at once than Ray starts: one worker for each CPU, each with two dozen
threads.
## What it does to a run
Workers abort with `pthread_create failed: Resource temporarily unavailable`, at the start or when the node is busy.
## What to do
Raise the limit of this user, or have Ray start fewer workers (`num_cpus`).
## How it is found
Limit of a process started here against 24 threads a worker, for users other than the administrator, whom it does not
bind.
## References
https://github.com/verl-project/verl/issues/719
https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from doctor.checks.ray._helpers import uses_ray
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.host import Host
from doctor.facts.launch import Launch
from doctor.facts.serving import Serving

PROBLEM = Problem(id="HST005", name="process-limit-low", severity=WARNING, since="0.1")

SIGNATURES = (
    Signature(r"pthread_create failed: Resource temporarily unavailable"),
    Signature(r"thread: Resource temporarily unavailable \[system:11\]"),
    Signature(r"RuntimeError: can't start new thread"),
    Signature(r"fork: retry: Resource temporarily unavailable"),
    Signature(
        r"OpenBLAS blas_thread_init: pthread_create failed for thread \d{1,5} of \d{1,5}: Resource"
        r" temporarily unavailable"
    ),
    Signature(
        r"blas_thread_init: pthread_create failed for thread \d{1,5} of \d{1,5}: (?P<refused>Operation not permitted)",
        symptom_of=("MEM",),
    ),
    # the fatal line of TensorFlow and TSL; 11 is EAGAIN
    Signature(r"Check failed: ret == 0 \(11 vs\. 0\) ?Thread [^\s]{0,60} ?creation via pthread_create\(\) failed"),
    # the thread of a process group; sockets say which call failed before the same words
    Signature(
        r"^(?:\S{0,80}\.)?(?:RuntimeError|DistBackendError|SystemError): Resource temporarily unavailable$",
        frame=r"distributed_c10d\.py:\w{1,60}$",
    ),
    # a lock that is held and a pipe that is full have the same number
    Signature(
        r"BlockingIOError: \[Errno 11\] [^\n:']{2,60}$",
        frame=r"(?:subprocess|popen_fork|popen_spawn_posix|popen_forkserver|pty)\.py:|:(?:_launch|_execute_child|fork)$",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no more processes or threads may be started: the limit is reached",
        "Each Ray worker, gRPC server, OpenMP and data-loader pool starts dozens of threads, and all "
        "of them count against the limit of processes of this user (`ulimit -u`) or of the container "
        "(cgroup pids). On machines with many CPUs Ray starts a worker for each.",
        "Raise the limit (`ulimit -u 65536`, `docker run --pids-limit=-1`, `TasksMax=infinity`), and "
        "let fewer start: `ray.init(num_cpus=...)` (veRL `ray_kwargs.ray_init.num_cpus`), "
        "`OMP_NUM_THREADS=1`, `RAY_worker_num_grpc_internal_threads=1`, a lower `num_workers`.",
    ),
    zh=Words(
        "无法再启动进程或线程:已达上限",
        "每个 Ray 工作进程、gRPC 服务、OpenMP 与数据加载线程池都会启动数十个线程,全部计入该用户的进程"
        "上限(`ulimit -u`)或容器上限(cgroup pids)。在 CPU 很多的机器上,Ray 会为每个 CPU 启动一个工作"
        "进程。",
        "提高上限(`ulimit -u 65536`、`docker run --pids-limit=-1`、`TasksMax=infinity`),并减少启动数"
        "量:`ray.init(num_cpus=...)`(veRL `ray_kwargs.ray_init.num_cpus`)、`OMP_NUM_THREADS=1`、"
        "`RAY_worker_num_grpc_internal_threads=1`、更小的 `num_workers`。",
    ),
)
LOG_MESSAGE_REFUSED = Message(
    en=Words(
        "the container may not start threads: the system call is refused (Operation not permitted)",
        "No limit is reached. The image is newer than the container engine: its C library (glibc 2.34 and newer, "
        "Ubuntu 22.04) starts threads by `clone3`, which the seccomp filter of Docker before 20.10.10 (libseccomp "
        "before 2.5) does not know and forbids.",
        "Upgrade Docker to 20.10.10 or newer, with libseccomp 2.5 and runc 1.0.2 on the host. Until then `docker run "
        "--security-opt seccomp=unconfined ...`, or an image on Ubuntu 20.04 or Debian 11. Fewer threads do not help.",
    ),
    zh=Words(
        "容器内不允许创建线程:系统调用被拒绝(Operation not permitted)",
        "并未达到任何上限。镜像比容器引擎新:其 C 库(glibc 2.34 及以后,Ubuntu 22.04)用 `clone3` 创建线程,而 Docker "
        "20.10.10 之前(libseccomp 2.5 之前)的 seccomp 过滤器不认识并禁止它。",
        "把宿主机的 Docker 升级到 20.10.10 或更新,libseccomp 2.5、runc 1.0.2。在此之前用 `docker run --security-opt "
        "seccomp=unconfined ...`,或使用基于 Ubuntu 20.04、Debian 11 的镜像。减少线程数没有用。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A limit that is reached, or a filter that forbids threads at all."""
    message = LOG_MESSAGE_REFUSED if hits.get("refused") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)


THREADS_PER_WORKER = 24  # measured on an idle worker of Ray 2.48

MESSAGE = Message(
    en=Words(
        "At most {limit} processes and threads, and Ray starts a worker for each of {cpus} CPUs",
        "Each worker has two dozen threads even when idle. Beyond the limit they abort with `pthread_create failed: "
        "Resource temporarily unavailable`.",
        "Raise the limit of this user, or let Ray use fewer CPUs.",
    ),
    zh=Words(
        "最多 {limit} 个进程与线程,而 Ray 会为 {cpus} 个 CPU 各启动一个工作进程",
        "每个工作进程空闲时也有二十多个线程。超过限制时会以 `pthread_create failed: Resource temporarily unavailable` "
        "退出。",
        "提高该用户的限制,或让 Ray 使用更少的 CPU。",
    ),
)


@check(PROBLEM)
def process_limit(host: Host, launch: Launch, serving: Serving | None) -> Judgement:
    """Judge commands that start Ray as a user whom the limit binds."""
    limit = host.max_processes_soft
    if limit is None or limit < 0 or host.user_is_root is not False or not uses_ray(launch, serving):
        return
    if host.cpus is None or limit >= host.cpus * THREADS_PER_WORKER:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        limit=limit,
        cpus=host.cpus,
        confidence=LIKELY,
        commands=("ulimit -u unlimited",),
        evidence=(Evidence("RLIMIT_NPROC", f"soft {limit}"),),
    )
