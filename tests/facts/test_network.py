"""Listeners, names and endpoints, against real sockets on the loopback interface."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest

from doctor.base import codec
from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.facts import network
from doctor.facts.environment import Environment
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.world import World
from doctor.readers.machine import endpoints, sockets
from doctor.readers.machine import interfaces as _interfaces
from doctor.readers.machine import network as network_reader
from tests.ports import free_port


def training(**values: object) -> Training:
    arguments = {"use_vllm": True, **values}
    return Training(arguments={name: Observed.written(name, value) for name, value in arguments.items()})


def collect(training=None, launch=None, world=None, **variables: str) -> network.Network:
    return network_reader.collect(Context(), Environment(variables), launch, training, world)


@contextmanager
def server(routes: Mapping[str, tuple[int, object]], delay_s: float = 0.0) -> Iterator[int]:
    """A server with these routes and, as FastAPI has it, a redirect where only the slash differs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            time.sleep(delay_s)
            twin = self.path[:-1] if self.path.endswith("/") else self.path + "/"
            status, body = routes.get(self.path) or ((307, "") if twin in routes else (404, {"detail": "Not Found"}))
            data = json.dumps(body).encode()
            self.send_response(status)
            if status == 307:
                self.send_header("Location", twin)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.handle_error = lambda *_: None  # a caller that gave up is part of the game
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield httpd.server_address[1]
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


# Routes and bodies of trl/scripts/vllm_serve.py 0.16.1, 0.17.0 to 1.10.0, and of vLLM in development mode, which
# TRL 1.11 starts, and without it.
TRL_016 = {"/health/": (200, {"status": "ok"}), "/get_tensor_parallel_size/": (200, {"tensor_parallel_size": 2})}
TRL_017 = {"/health/": (200, {"status": "ok"}), "/get_world_size/": (200, {"world_size": 2})}
VLLM_DEVELOPMENT = {
    "/health": (200, ""),
    "/version": (200, {"version": "0.30.0"}),
    "/get_world_size": (200, {"world_size": 2}),
}
VLLM_PLAIN = {"/health": (200, ""), "/version": (200, {"version": "0.30.0"})}


@pytest.mark.parametrize(
    ("routes", "status", "kind"),
    [
        (TRL_016, 200, "trl-0.16"),
        (TRL_017, 200, "trl-0.17"),
        (VLLM_DEVELOPMENT, 200, "vllm-native"),
        (VLLM_PLAIN, 200, "vllm-openai"),
        ({**VLLM_DEVELOPMENT, "/health": (503, "")}, 503, "vllm-native"),
        ({"/": (200, "hello")}, 404, "other"),
        ({"/health": (200, {"ok": True}), "/get_world_size": (200, "not an object")}, 200, None),
    ],
)
def test_era_of_the_server(routes, status, kind):
    with server(routes) as port:
        found = collect(training(vllm_mode="server", vllm_server_host="localhost", vllm_server_port=port))
    endpoint = found.endpoint("vllm_server")
    assert endpoint.resolves is True
    assert endpoint.answers is True
    assert (endpoint.http_status, endpoint.http_kind) == (status, kind)


def test_base_url_with_a_prefix_wins_over_host_and_port():
    with server({f"/rl{path}": answer for path, answer in TRL_017.items()}) as port:
        url = f"http://user:secret@127.0.0.1:{port}/rl/"
        found = collect(training(vllm_server_base_url=url, vllm_server_port=1))
    endpoint = found.endpoint("vllm_server")
    assert (endpoint.port, endpoint.http_kind) == (port, "trl-0.17")
    assert "secret" not in repr(found)


def test_proxies_are_not_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with server(TRL_017) as port:
        found = collect(training(vllm_server_host="127.0.0.1", vllm_server_port=port), http_proxy="http://127.0.0.1:9")
    assert found.endpoint("vllm_server").http_kind == "trl-0.17"


def test_a_busy_server_accepts_but_does_not_answer():
    with server(TRL_017, delay_s=1.5) as port:
        started = time.monotonic()
        endpoint = collect(training(vllm_server_host="127.0.0.1", vllm_server_port=port)).endpoint("vllm_server")
        assert time.monotonic() - started < 2.5
    assert (endpoint.answers, endpoint.http_status, endpoint.http_kind) == (True, None, None)


def test_nobody_there():
    endpoint = collect(training(vllm_server_host="127.0.0.1", vllm_server_port=free_port())).endpoint("vllm_server")
    assert (endpoint.resolves, endpoint.answers, endpoint.http_kind) == (True, False, None)


@pytest.mark.parametrize(
    "given",
    [
        None,
        training(vllm_mode="colocate"),
        training(use_vllm=False),
        Training(arguments={"use_vllm": Observed.written("use_vllm", None, known=False, text="args.vllm")}),
        training(vllm_server_port="8000"),
        training(vllm_server_base_url="http://[::1"),
        training(vllm_server_base_url="http://host:99999"),
    ],
)
def test_no_server_to_look_for(given):
    assert collect(given).endpoint("vllm_server") is None


def test_the_default_address_is_trls():
    (target,) = endpoints.targets({}, None, training(), None)
    assert (target.host, target.port, target.tls) == ("0.0.0.0", 8000, False)
    (secure,) = endpoints.targets({}, None, training(vllm_server_base_url="https://gpu7/x"), None)
    assert (secure.host, secure.port, secure.tls, secure.prefix) == ("gpu7", 443, True, "/x")


def launch(**options: object) -> Launch:
    return Launch(
        ("torchrun",), "torchrun", options={name: Observed.written(name, value) for name, value in options.items()}
    )


@pytest.mark.parametrize(
    ("variables", "command", "world", "host", "port"),
    [
        ({"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}, None, None, "10.0.0.1", 29500),
        ({"MASTER_ADDR": "10.0.0.1"}, launch(rdzv_endpoint="node-0:29400"), None, "node-0", 29400),
        ({}, launch(main_process_ip="10.1.1.1"), None, "10.1.1.1", None),
        ({"MASTER_ADDR": "a"}, launch(master_addr="b"), World(master_addr="c", master_port=5), "c", 5),
        ({"MASTER_ADDR": "[::1]"}, None, None, "::1", None),
    ],
)
def test_master_as_the_launcher_is_told(variables, command, world, host, port):
    (target,) = endpoints.targets(variables, command, None, world)
    assert (target.purpose, target.host, target.port) == ("master", host, port)


def test_master_is_resolved_and_not_called():
    found = collect(MASTER_ADDR="localhost", MASTER_PORT="29500").endpoint("master")
    assert found.resolves is True
    assert found.addresses
    assert found.answers is None
    assert collect(MASTER_ADDR="no-such-host.invalid").endpoint("master").resolves is False


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_listener_is_seen_with_its_process(family):
    with socket.socket(family) as one:
        one.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        found = collect(world=World(master_port=port)).listeners[port]
        assert (found.port, found.pid) == (port, os.getpid())
        assert found.address == ("::1" if family == socket.AF_INET6 else "127.0.0.1")
        assert found.process
        assert collect().listeners[port].pid is None  # of no interest: listed, its holder not looked for
    assert port not in collect().listeners


def test_a_port_with_a_closed_connection_is_lingering():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        peer = socket.create_connection(("127.0.0.1", port))
        server_side, _ = one.accept()
        server_side.close()  # closes first, as a server that is ended does
        assert collect(world=World(master_port=port)).lingering == (port,)  # FIN_WAIT2
        peer.close()
    found = collect(world=World(master_port=port))
    assert found.lingering == (port,)  # TIME_WAIT
    assert port not in found.listeners
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("", port))


def test_no_table_is_not_an_empty_one(tmp_path):
    assert sockets.lingering([8000], tmp_path) is None
    (tmp_path / "self/net").mkdir(parents=True)
    (tmp_path / "self/net/tcp").write_text("  sl  local_address\n")
    assert sockets.lingering([8000], tmp_path) == ()


def test_ports_worth_a_name():
    command = Launch(
        ("x",),
        "vllm-serve",
        options={"main_process_port": Observed.written("main_process_port", "29600")},
        arguments={"port": Observed.written("port", 8123)},
    )
    found = endpoints.ports(command, training(vllm_server_port=8001, vllm_group_port=51217), World(master_port=29501))
    assert found == {29500, 8000, 51216, 6379, 29600, 8123, 8001, 51217, 29501}
    nonsense = Launch(("x",), "trl", arguments={"port": Observed.written("port", "many")})
    assert endpoints.ports(nonsense, training(vllm_server_port=99999), None) == {29500, 8000, 51216, 6379}


def test_a_table_that_makes_no_sense_is_no_listener(tmp_path):
    (tmp_path / "self/net").mkdir(parents=True)
    (tmp_path / "self/net/tcp").write_text("  sl  local_address\nnonsense\n\n   0: 0100007F:1F90 0 01 x\n")
    assert sockets.listeners([8080], tmp_path) == {}


def test_loopback_is_among_the_interfaces():
    interfaces = {each.name: each for each in collect().interfaces}
    assert "127.0.0.1" in interfaces["lo"].addresses
    assert interfaces["lo"].is_up


def test_interfaces_agree_with_psutil():
    ours = {each.name: each for each in _interfaces.interfaces()}
    states = psutil.net_if_stats()
    assert set(ours) == set(states)
    for name, addresses in psutil.net_if_addrs().items():
        theirs = {
            each.address.partition("%")[0] for each in addresses if each.family in {socket.AF_INET, socket.AF_INET6}
        }
        assert set(ours[name].addresses) == theirs
        assert ours[name].mtu == states[name].mtu
        assert (ours[name].speed_mbps or 0) == states[name].speed


def test_an_interface_that_is_down(tmp_path):
    folder = tmp_path / "sys/class/net/lo"
    folder.mkdir(parents=True)
    for name, text in {"flags": "0x1003", "operstate": "down", "speed": "-1", "mtu": "9000"}.items():
        (folder / name).write_text(text + "\n")
    found = {each.name: each for each in _interfaces.interfaces(tmp_path)}["lo"]
    assert (found.is_up, found.speed_mbps, found.mtu) == (False, None, 9000)


def test_http_answers_of_any_content():
    def answer(data: bytes) -> sockets.Reply | None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            one.listen()

            def serve() -> None:
                peer, _ = one.accept()
                with peer:
                    peer.recv(4096)
                    peer.sendall(data)

            thread = threading.Thread(target=serve)
            thread.start()
            reply = sockets.get("127.0.0.1", one.getsockname()[1], "/x")
            thread.join()
            return reply

    assert answer(b"SSH-2.0-OpenSSH_9.2\r\n") is None
    assert answer(b"\xff\xfe\x00") is None
    assert answer(b"HTTP/1.0 200 OK\r\n\r\n{broken").has("x") is False
    assert answer(b'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"x":1}').has("x") is True


def test_listeners_survive_being_saved():
    found = collect()
    assert codec.load(network.Network, json.loads(json.dumps(codec.dump(found)))) == found


def test_a_server_says_which_model_and_version_it_is():
    listed = {"object": "list", "data": [{"id": "grpo", "root": "/models/Qwen2.5-7B"}]}
    with server({**VLLM_DEVELOPMENT, "/v1/models": (200, listed)}) as port:
        found = collect(training(vllm_mode="server", vllm_server_host="localhost", vllm_server_port=port))
    endpoint = found.endpoint("vllm_server")
    assert (endpoint.served, endpoint.version) == (("/models/Qwen2.5-7B",), "0.30.0")
    assert abs(endpoint.clock_ahead_s) <= 2


def test_a_mirror_is_asked_once_and_its_clock_is_compared():
    with server({"/": (200, "hello")}) as port:
        found = collect(training(), HF_ENDPOINT=f"http://127.0.0.1:{port}")
    endpoint = found.endpoint("hub")
    assert (endpoint.answers, endpoint.http_status) == (True, 200)
    assert 0 < endpoint.answer_s < 1
    assert abs(endpoint.clock_ahead_s) <= 2


@pytest.mark.parametrize("without", ["HTTPS_PROXY", "HF_HUB_OFFLINE"])
def test_no_mirror_is_asked_through_a_proxy_or_offline(without):
    assert collect(training(), HF_ENDPOINT="http://127.0.0.1:9", **{without: "1"}).endpoint("hub") is None


def test_a_mirror_that_is_not_there():
    with server({}) as port:
        pass
    assert collect(training(), HF_ENDPOINT=f"http://127.0.0.1:{port}").endpoint("hub").answers is False
