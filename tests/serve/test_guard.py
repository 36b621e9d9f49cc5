"""The layer around the server's application, talked to as uvicorn talks to it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from doctor.fixes.vllm_server import death, guard, health, processes, record, requests, state
from doctor.fixes.vllm_server.settings import ServerBounds, load

BODY = {"type": "http.response.body"}


class Application:
    """Answers as it is told: raises, or sends messages."""

    def __init__(self, *messages: Mapping[str, Any], error: Exception | None = None) -> None:
        self.messages = messages
        self.error = error
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.bodies.append((await receive()).get("body", b""))
        for message in self.messages:
            await send(message)
        if self.error is not None:
            raise self.error


def start(status: int, kind: bytes = b"application/json") -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]}


class Answer:
    def __init__(self, sent: list[Mapping[str, Any]], raised: Exception | None) -> None:
        self.status = sent[0]["status"] if sent else None
        self.text = b"".join(each.get("body", b"") for each in sent).decode()
        self.raised = raised
        self.ended = bool(sent) and not sent[-1].get("more_body", False)

    @property
    def error(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.text.strip().splitlines()[-1].removeprefix("data: "))["error"]
        return told


def ask(
    application: Any, path: str = "/generate", body: bytes = b'{"prompt": "x"}', *, method: str = "POST",
    headers: Mapping[str, str] | None = None, gone: bool = False,
) -> Answer:  # fmt: skip
    sent: list[Mapping[str, Any]] = []
    pairs = {"content-type": "application/json", **(headers or {})}
    scope = {
        "type": "http", "method": method, "path": path, "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
    }  # fmt: skip
    half = len(body) // 2
    messages: list[Mapping[str, Any]] = [
        {"type": "http.request", "body": body[:half], "more_body": True},
        {"type": "http.disconnect"} if gone else {"type": "http.request", "body": body[half:], "more_body": False},
    ]

    async def receive() -> Mapping[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    raised = None
    try:
        asyncio.run(guard.RequestGuard(application)(scope, receive, send))
    except Exception as exc:  # noqa: BLE001 - part of the answer
        raised = exc
    return Answer(sent, raised)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made, lives = health.Health(), death.Death()
    for module in (guard, death):
        monkeypatch.setattr(module, "HEALTH", made)
        monkeypatch.setattr(module, "DEATH", lives)
    monkeypatch.setattr(guard, "SETTINGS", ServerBounds(request_bytes=1000, prompts=3, demo=True))
    monkeypatch.setattr(state.SERVED, "application", None)
    monkeypatch.setattr(processes, "_needed", [])
    monkeypatch.delenv("DOCTOR_RUN_DIR", raising=False)
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    yield  # noqa: PT022 - monkeypatch takes all of it back afterwards


def serve(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    application = type("A", (), {"state": type("S", (), {"engine_client": engine})()})()
    monkeypatch.setattr(state.SERVED, "application", application)


def test_what_is_good_goes_through_as_it_came() -> None:
    application = Application(start(200), {**BODY, "body": b'{"text": '}, {**BODY, "body": b'["a"]}'})
    answer = ask(application)
    assert (answer.status, answer.text, application.bodies) == (200, '{"text": ["a"]}', [b'{"prompt": "x"}'])
    assert (guard.HEALTH.generations, guard.HEALTH.failures, guard.HEALTH.in_flight) == (1, 0, 0)


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("/generate", b'{"prompt": ', 400, "invalid_json"),
        ("/generate", b"", 400, "invalid_json"),
        ("/generate", b"\xff\xfe", 400, "invalid_json"),
        ("/generate", b"[" * 400 + b"]" * 400, 400, "prompt_missing"),
        ("/generate", b'["prompt"]', 400, "prompt_missing"),
        ("/generate", b'{"text": "x"}', 400, "prompt_missing"),
        *(
            ("/generate", b'{"prompt": ' + each + b"}", 400, "prompt_invalid")
            for each in (
                b'["a", "b"]',
                b'["a"]',
                b"[]",
                b"[[1], [2]]",
                b"[1, null]",
                b"[true]",
                b"7",
                b"null",
                b"false",
                b'[{"a": 1}]',
            )
        ),
        ("/generate", b'{"prompt": [1, 2, 3]}', None, ""),
        ("/generate", b'{"prompt": {"prompt_token_ids": [1]}}', None, ""),
        ("/v1/completions", b'{"prompt": ["a", "b", "c", "d"]}', 400, "too_many_prompts"),
        ("/generate/", b'{"prompt": "x", "prompts": [[1], [2], [3], [4]]}', None, ""),
        ("/generate", b'{"prompt": "' + b"x" * 1000 + b'"}', 413, "request_too_large"),
        ("/sleep", b"", None, ""),
        ("/v1/chat/completions", b'{"messages": [{}, {}, {}, {}]}', None, ""),
    ],
)
def test_bounds(path: str, body: bytes, status: int | None, kind: str) -> None:
    answer = ask(Application(start(200), BODY), path, body)
    assert answer.status == (status or 200), answer.text
    if status:
        assert answer.error["type"] == kind


def test_a_body_without_a_stated_length_ends_at_the_bound() -> None:
    class Reads:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            while (await receive()).get("more_body"):
                pass
            raise AssertionError("it was read to its end")

    answer = ask(Reads(), "/v1/audio", b"x" * 3000, headers={"content-type": "multipart/form-data"})
    assert (answer.status, answer.error["type"]) == (413, "request_too_large")


@pytest.mark.parametrize(("value", "count"), [
    ({"prompt": "a"}, 1), ({"prompt": [1, 2, 3]}, 1), ({"prompt": ["a", "b"]}, 2), ({"prompt": [[1], [2]]}, 2),
    ({"prompts": ["a"] * 5}, 5), ({"messages": [{"role": "user"}] * 3}, 1), ({"messages": [[{}], [{}]]}, 2),
    ({"prompt": []}, 0), ({}, 0), ([], 0), ({"prompt": {"prompt_token_ids": [1]}}, 1),
])  # fmt: skip
def test_prompts_are_counted(value: Any, count: int) -> None:
    assert requests.prompts_in(value) == count


def test_the_demo_server_asks_for_the_key_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "geheim")
    application = Application(start(200), BODY)
    assert ask(application).status == 401
    assert ask(application, headers={"authorization": "Bearer falsch"}).status == 401
    assert ask(application, headers={"authorization": "Bearer geheim"}).status == 200
    assert ask(application, "/health", method="GET").status == 200


def test_an_error_is_told_as_json() -> None:
    cause = RuntimeError("the kernel is not there")
    error = type("EngineGenerateError", (Exception,), {})()
    error.__cause__ = cause
    answer = ask(Application(error=error))
    assert (answer.status, answer.error["type"], answer.error["message"]) == (
        500, "EngineGenerateError", "the kernel is not there",
    )  # fmt: skip
    assert answer.raised is error  # for uvicorn's log
    assert guard.HEALTH.failures == 1


def test_an_error_that_a_handler_swallowed_is_told() -> None:
    class Swallows(Application):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            scope[state.ERRORS].append(RuntimeError("an illegal memory access"))
            await super().__call__(scope, receive, send)

    answer = ask(Swallows(start(500, b"text/plain"), BODY))
    assert (answer.status, answer.error["message"], answer.raised) == (500, "an illegal memory access", None)


def test_what_the_server_says_itself_of_its_failure_stays() -> None:
    answer = ask(Application(start(501), {**BODY, "body": b'{"object": "error"}'}), "/v1/completions")
    assert (answer.status, answer.text) == (501, '{"object": "error"}')


@pytest.mark.parametrize("error", [ValueError("too long"), type("VLLMClientError", (Exception,), {})("too long")])
def test_what_the_client_did_wrong_is_no_failure_of_the_server(error: Exception) -> None:
    answer = ask(Application(error=error))
    assert (answer.status, answer.error["message"], answer.raised) == (400, "too long", None)
    assert guard.HEALTH.failures == 0
    assert ask(Application(error=error), "/v1/completions", b'{"prompt": "x"}').status == 500  # it judges itself


def test_a_type_error_counts_where_the_parameters_were_made() -> None:
    async def _generate(scope: Any, receive: Any, send: Any) -> None:
        raise TypeError("Unexpected keyword argument 'nonsense'")

    async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
        raise TypeError("unhashable type: 'list'")

    assert ask(_generate).status == 400
    assert ask(elsewhere).status == 500


@pytest.mark.parametrize(("kind", "prefix"), [(b"text/event-stream", "data: "), (b"text/plain", "")])
def test_a_stream_that_breaks_off_says_why(kind: bytes, prefix: str) -> None:
    error = RuntimeError("device lost")
    answer = ask(Application(start(200, kind), {**BODY, "body": b"one\n", "more_body": True}, error=error))
    assert answer.ended
    assert answer.text.splitlines()[1].startswith(prefix + '{"error"')
    assert (answer.error["message"], answer.raised, guard.HEALTH.failures) == ("device lost", error, 1)


def test_a_client_that_went_away_is_no_generation() -> None:
    class Waits(Application):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await super().__call__(scope, receive, send)

    ask(Waits(start(200), BODY))
    assert (guard.HEALTH.generations, guard.HEALTH.failures) == (0, 0)
    application = Application(start(200), BODY)
    ask(application, gone=True)
    assert application.bodies == [b""]  # half a body is none


def test_a_dead_engine_is_told_with_the_doctors_diagnosis(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    (tmp_path / record.CAUSE).write_text(json.dumps({"id": "MEM6839/unknown_phase", "headline": "out of GPU memory"}))
    serve(monkeypatch, type("Engine", (), {"errored": True})())
    error = type("EngineDeadError", (Exception,), {})("See stack trace (above) for the root cause.")
    answer = ask(Application(error=error))
    assert (answer.status, answer.error["cause"]["id"]) == (500, "MEM6839/unknown_phase")
    end = time.monotonic() + 20  # a thread of its own writes it, so that no disk holds an answer up
    while not (events := "".join(each.read_text() for each in tmp_path.glob("events/*"))).endswith("\n"):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert json.loads(events)["data"]["engine_dead"] is True


def test_a_process_that_was_killed_is_named_to_the_client_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """vLLM's own error says no more than that its engine was lost."""
    serve(monkeypatch, type("Engine", (), {"errored": True})())
    monkeypatch.setattr(processes, "lost", lambda: "process `EngineCore` was killed by signal 9")
    error = type("EngineDeadError", (Exception,), {})("See stack trace (above) for the root cause.")
    assert ask(Application(error=error)).error["message"] == "process `EngineCore` was killed by signal 9"
    assert "doctor: process `EngineCore` was killed by signal 9\n" in capsys.readouterr().err


SEE_ABOVE = "EngineCore encountered an issue. See stack trace (above) for the root cause."


def told_by(theirs: dict[str, Any]) -> Application:
    """vLLM's own server, which answers an error of its engine itself."""
    return Application(start(500), {**BODY, "body": json.dumps(theirs).encode()})


@pytest.mark.parametrize("framed", [True, False])
def test_what_vllm_says_of_a_dead_engine_gets_the_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, *, framed: bool
) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    (tmp_path / record.CAUSE).write_text(json.dumps({"id": "LCH018"}))
    serve(monkeypatch, type("Engine", (), {"errored": True})())
    monkeypatch.setattr(processes, "lost", lambda: "process `EngineCore` was killed by signal 9")
    theirs = {"message": SEE_ABOVE, "type": "InternalServerError", "param": None, "code": 500}
    answer = ask(told_by({"error": theirs} if framed else theirs), "/v1/completions")
    got = json.loads(answer.text)
    assert answer.status == 500
    assert (got["error"] if framed else got) == {
        **theirs, "message": "process `EngineCore` was killed by signal 9", "cause": {"id": "LCH018"},
    }  # fmt: skip


def test_an_event_that_breaks_off_a_stream_gets_the_cause_of_a_dead_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(tmp_path))
    (tmp_path / record.CAUSE).write_text(json.dumps({"id": "MEM6839/unknown_phase"}))
    event = b'data: {"error": {"message": "See stack trace (above)", "code": 500}}\n\n'
    application = Application(
        start(200, b"text/event-stream"), {**BODY, "body": b'data: {"id": 1}\n\n', "more_body": True},
        {**BODY, "body": event, "more_body": True}, {**BODY, "body": b"data: [DONE]\n\n"},
    )  # fmt: skip
    assert event.decode() in ask(application, "/v1/completions").text  # its engine lives: vLLM's own words
    serve(monkeypatch, type("Engine", (), {"errored": True})())
    _, changed, last = ask(application, "/v1/completions").text.strip().split("\n\n")
    assert json.loads(changed[len("data: ") :]) == {
        "error": {"message": "See stack trace (above)", "code": 500, "cause": {"id": "MEM6839/unknown_phase"}}
    }
    assert last == "data: [DONE]"
    assert (guard.HEALTH.generations, guard.HEALTH.failures) == (0, 2)


def test_a_request_that_a_dead_engine_forgot_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgets(Application):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await super().__call__(scope, receive, send)
            death.DEATH.reason = "the engine has failed"
            asyncio.get_running_loop().call_later(0.05, death.DEATH.cut)
            await asyncio.sleep(60)

    answer = ask(Forgets(), "/v1/completions")
    assert (answer.status, answer.error["type"]) == (500, "EngineDeadError"), answer.text
    assert answer.error["message"] == "the engine has failed"
    death.DEATH.reason = None
    streamed = ask(Forgets(start(200, b"text/plain"), {**BODY, "body": b"one\n", "more_body": True}))
    assert (streamed.status, streamed.ended, streamed.error["type"]) == (200, True, "EngineDeadError")


def test_a_request_after_the_engines_death_does_not_reach_the_server() -> None:
    death.DEATH.reason = "process `EngineCore` was killed by signal 9"
    application = Application(start(200), BODY)
    answer = ask(application, "/v1/completions")
    assert (answer.status, answer.error["type"], application.bodies) == (500, "EngineDeadError", [])
    assert ask(application, "/v1/models", method="GET").status == 200


def test_a_client_that_is_cancelled_otherwise_stays_cancelled() -> None:
    class Cancelled(Application):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        ask(Cancelled())


def test_without_a_diagnosis_the_answer_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, type("Engine", (), {"errored": True})())
    assert ask(Application(start(500, b"text/plain"), BODY)).error == {
        "type": "internal_error", "message": "the engine has failed", "cause": None,
    }  # fmt: skip


class Engine:
    """What vLLM's engine says of itself."""

    def __init__(self, *, errored: bool = False, error: Exception | None = None, asleep: bool = False) -> None:
        self.errored = errored
        self._error = error
        self._asleep = asleep

    async def check_health(self) -> None:
        if self._error:
            raise self._error

    async def is_sleeping(self) -> bool:
        return self._asleep


@pytest.mark.parametrize(("engine", "health_status", "ready_status"), [
    (None, 200, 200), (object(), 200, 200), (Engine(), 200, 200), (Engine(asleep=True), 200, 503),
    (Engine(errored=True), 503, 503), (Engine(error=RuntimeError("gone")), 503, 503),
])  # fmt: skip
def test_health_and_readiness(
    monkeypatch: pytest.MonkeyPatch, engine: Any, health_status: int, ready_status: int
) -> None:
    serve(monkeypatch, engine)
    application = Application()
    answer = ask(application, "/health", method="GET")
    assert answer.status == health_status
    assert json.loads(answer.text)["status"] == ("ok" if health_status == 200 else "failed")
    assert ask(application, "/ready", method="GET").status == ready_status
    assert not application.bodies  # the HTTP server's own answer would say nothing


def test_an_idle_engine_is_healthy_and_its_age_is_told() -> None:
    guard.HEALTH.succeeded()
    guard.HEALTH.last_generation = 1.0
    answer = ask(Application(), "/health/", method="GET")
    assert answer.status == 200
    assert json.loads(answer.text)["last_generation_age_s"] > 1e9


def test_while_it_drains_it_takes_nothing_new_and_is_alive() -> None:
    guard.HEALTH.draining = True
    application = Application(start(200), BODY)
    assert ask(application).status == 503
    assert ask(application, "/health", method="GET").status == 200
    assert ask(application, "/ready", method="GET").status == 503


def test_settings_cross_the_border_and_nonsense_is_none() -> None:
    settings = ServerBounds(1, 2, 3.0, demo=True)
    assert load(settings.dump()) == settings
    assert load("") == load('{"a": 1}') == load("[1]") == ServerBounds()
