"""Judges LCH0780/clocks, a row of nodes-differ; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.stats import median_of_sorted
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.nodes.hosts import folded
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.facts.cluster import Cluster
from doctor.facts.launch import Launch
from doctor.facts.network import Network

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
PAIR = TOML["pair"]


SERVER = TOML["server"]
#: certificates of TLS and signed addresses of stores begin to be refused
#: (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, RequestTimeTooSkewed: 15 minutes)
REFUSED_S = 15 * 60
LEAST_S = 1.0
DEAD_S = 15.0  # keep_alive_interval 5 s, keep_alive_max_attempt 3 in dynamic_rendezvous.py
_DYNAMIC = frozenset({"c10d", "etcd-v2"})  # rendezvous back ends that are built on it


@check(PROBLEM)
def clock_against_server(network: Network | None) -> Judgement:
    """Of one machine, against a server that was asked anyway; the server's clock may be the wrong one."""
    told = [each for each in (network.endpoints if network is not None else ()) if each.clock_ahead_s is not None]
    endpoint = max(told, key=lambda each: abs(each.clock_ahead_s or 0.0), default=None)
    if endpoint is None or endpoint.clock_ahead_s is None or abs(endpoint.clock_ahead_s) < REFUSED_S:
        return
    address = f"{endpoint.host}:{endpoint.port}"
    yield found(
        PROBLEM, SERVER, severity=WARNING, confidence=LIKELY, address=address,
        most=f"{endpoint.clock_ahead_s / 60:+.0f}", commands=("timedatectl status",),
        evidence=(Observed.quoted(f"Date of {address}", f"{endpoint.clock_ahead_s:+.0f} s"),),
    )  # fmt: skip


@check(PROBLEM)
def clocks_differ_between_nodes(cluster: Cluster, launch: Launch | None) -> Judgement:
    """A clock departs when even the bound of its measurement leaves it more than a second from the middle."""
    clocks = [(node, node.clock_offset_s) for node in cluster.heard if node.clock_offset_s is not None]
    if len(clocks) < 2:
        return
    middle = median_of_sorted(sorted(offset for _, offset in clocks))
    least = LEAST_S if len(clocks) > 2 else LEAST_S / 2  # each of two is half of their difference off the middle
    wrong = [
        (node.name, offset - middle)
        for node, offset in clocks
        if abs(offset - middle) - (node.clock_error_s or 0.0) > least
    ]
    if not wrong:
        return
    hosts = tuple(name for name, _ in wrong)
    pair = len(clocks) == 2
    most = max((offset for _, offset in wrong), key=abs) if not pair else abs(clocks[0][1] - clocks[1][1])
    backend = launch.option("rdzv_backend") if launch is not None else None
    dynamic = backend is not None and backend.value in _DYNAMIC
    yield found(
        PROBLEM,
        PAIR if pair else MESSAGE,
        severity=ERROR if dynamic and abs(most) >= DEAD_S else WARNING,
        where=Where(host=hosts[0]),
        nodes=hosts,
        commands=("timedatectl status", "timedatectl set-ntp true"),
        evidence=tuple(Observed.quoted(name, f"{offset:+.1f} s against the middle") for name, offset in wrong[:8]),
        most=f"{most:.1f}" if pair else f"{most:+.1f}",
        hosts=folded(hosts, 3),
    )
