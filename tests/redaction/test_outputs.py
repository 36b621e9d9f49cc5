"""Every planted secret, in everything that is stored, printed or sent."""

from __future__ import annotations

import copy
import io
import json
import shlex
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from rich.console import Console

from doctor.base.evidence import Observed
from doctor.base.redact import redact_argv, redact_text
from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.catalogue.outcome import Crashed, Outcome, Skipped
from doctor.catalogue.plan import Edit, EditFile, Plan, Safety, digest
from doctor.catalogue.problem import ERROR, Problem
from doctor.cli.app import run
from doctor.cli.options import FORMATS, rendered
from doctor.diagnosis import diagnose
from doctor.diagnosis.differ import differences
from doctor.diagnosis.report import Diagnosis, Subject, as_dict
from doctor.facts.environment import Environment
from doctor.readers.patient import target
from doctor.readers.saved import as_json
from doctor.render.environment import render as render_environment
from doctor.render.plan import draw as draw_plan
from doctor.run.folder import Events, RunDir
from tests.collected import of_one_machine
from tests.each import for_each
from tests.redaction.planted import Planted, all_planted, one_line

PLANTED = all_planted()
KEYS = [each for each in PLANTED if "PRIVATE KEY" in each.text]
EACH = for_each("planted", ((each.name, each) for each in PLANTED), group=lambda case: case[0].upper())
EACH_LINE = for_each("planted", ((each.name, each) for each in one_line()), group=lambda case: case[0].upper())
PROBLEM = Problem(id="LCH999", name="planted", severity=ERROR, since="0.1")
SAID = Words("the headline quotes {text}", "It says {text}.", "Look at {text}.")


def _leaks(shown: str, planted: Sequence[Planted] = PLANTED) -> dict[str, list[str]]:
    return {each.name: each.leaks(shown) for each in planted if each.leaks(shown)}


def _finding(planted: Planted) -> Finding:
    return found(
        PROBLEM, Message(en=SAID, zh=SAID), where=Where(file="train.log", line=3), commands=(f"run {planted.text}",),
        evidence=(Observed.quoted("train.log", planted.text, 3),), text=planted.text,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report() -> dict[str, object]:
    texts = [each.text for each in PLANTED]
    outcome = Outcome(
        tuple(map(_finding, PLANTED)),
        tuple(Skipped("GPU001", f"cannot read {text}") for text in texts),
        tuple(Crashed("GPU002", f"KeyError: {text}", f"Traceback\n  at {text}") for text in texts),
        3, 0.1,
    )  # fmt: skip
    chain = tuple({"file": "train.log", "line": 3, "text": text} for text in texts)
    nodes = {"rows": [{"name": "settings", "values": texts}]}
    target = Subject("/usr/bin/python3", tuple(word for text in texts for word in text.split()), ("a.yaml",))
    return as_dict(Diagnosis("postmortem", target, outcome, verdict="known", chain=chain, nodes=nodes))


def test_the_report(report) -> None:
    assert _leaks(json.dumps(report, ensure_ascii=False)) == {}


@pytest.mark.parametrize("form", [each for each in FORMATS if each != "json"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_in_every_form(report, form: str, language: str) -> None:
    without_nodes = {name: value for name, value in report.items() if name not in ("nodes", "chain")}
    shown = rendered(without_nodes, form, language, verbose=True)
    assert "LCH999" in shown
    assert _leaks(shown) == {}


@EACH_LINE
def test_run_json(planted: Planted, tmp_path: Path) -> None:
    words = planted.text.split()
    argv = [
        "python",
        "train.py",
        planted.text,
        *words,
        f"--note={planted.text}",
        "bash",
        "-c",
        f"export X; {planted.text}",
    ]
    folder = RunDir(tmp_path)
    folder.write_run(argv=argv, cwd="/home/alice/x")
    told = folder.read_run()
    assert planted.leaks(json.dumps(told)) == []
    assert told["argv"][:2] == ["python", "train.py"]
    assert len(told["argv"]) == len(argv)
    assert told["cwd"] == "/home/alice/x"


@pytest.mark.parametrize(
    ("command", "needle"),
    [
        ("sshpass -p 'two words' ssh host", "two words"),
        ("mysql -u root -pq1w2e3 -e x", "q1w2e3"),
        ("curl -u alice:q1w2e3r4 https://x.example", "q1w2e3r4"),
        ("vllm serve m --api-key q1w2e3 --port 8000", "q1w2e3"),
        ("env HF_TOKEN=q1w2e3 python train.py", "q1w2e3"),
        ("env PGPASSWORD=q1w2e3 python train.py", "q1w2e3"),
        ("python main_ppo.py +trainer.wandb_key=q1w2e3", "q1w2e3"),
        ("python main_ppo.py ++trainer.wandb.key=q1w2e3", "q1w2e3"),
        ("curl -H 'X-Api-Key: q1w2e3r4' https://x.example", "q1w2e3r4"),
        ("python x.py --password=q1,w2;e3", "w2;e3"),
        ("python x.py --passphrase q1w2e3", "q1w2e3"),
    ],
)
def test_words_of_a_command(command: str, needle: str) -> None:
    shown = redact_argv(shlex.split(command))
    assert not any(needle in word for word in shown), shown
    assert len(shown) == len(shlex.split(command))
    assert redact_argv(shown) == shown


@EACH_LINE
def test_argv_in_a_capsule(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell hands it over: words that only the one before them makes a secret are words of their own."""
    from doctor.monitors.capsule.process import _argv

    with monkeypatch.context() as patched:
        patched.setattr(sys, "argv", ["train.py", *planted.text.split(), "--lr", "1e-6", *["x"] * 300])
        shown = _argv()
    assert planted.leaks("\n".join(shown)) == []
    assert shown[0] == "train.py"
    assert len(shown) == 40


@pytest.mark.parametrize("between", [" ", "\n", "\\n", ' "}, {"', '\\n"} '])
def test_two_keys_in_one_text(between: str) -> None:
    """One behind the other: the end of the first is none of the second's beginning."""
    for first, second in product(KEYS, KEYS):
        if first.text.count("-----END") == 0 and "n" not in repr(between):
            continue  # a line of it that goes on in other words is another process's line
        shown = redact_text(f"begun {first.text}{between}{second.text}\nand goes on")
        assert (first.leaks(shown), second.leaks(shown)) == ([], []), (first.name, second.name)
        assert shown.startswith("begun ")
        assert shown.endswith("\nand goes on")


@EACH
def test_events(planted: Planted, tmp_path: Path) -> None:
    folder = RunDir(tmp_path)
    events = Events(folder, rank=0, role="trainer")
    events.write(
        "exception", type="ValueError", text=planted.text, traceback=[planted.text], odd=Exception(planted.text)
    )
    events.close()
    (path,) = (tmp_path / "events").glob("*.jsonl")
    assert planted.leaks(path.read_text()) == []
    assert planted.leaks(json.dumps(folder.read_events(), ensure_ascii=False)) == []
    assert folder.read_events()[0]["data"]["type"] == "ValueError"


def _states() -> dict[str, Observed]:
    variables = {f"X_{number}": each.text for number, each in enumerate(PLANTED)}
    return {
        "environment": Observed.seen(Environment(variables)),
        "gpus": Observed.unseen(PLANTED[0].text),
    }


def test_saved_facts() -> None:
    assert _leaks(json.dumps(as_json(_states()), ensure_ascii=False)) == {}


def test_settings_in_saved_facts() -> None:
    from doctor.facts.deepspeed_config import DeepspeedConfig

    names = ("wandb.key", "trainer.wandb_key", "comet.api_key", "monitor.password", "x.passphrase", "db.pwd")
    settings = {name: Observed.written(name, "q1w2e3r4", True, "q1w2e3r4") for name in names}
    told = json.dumps(as_json({"deepspeed_config": Observed.seen(DeepspeedConfig("ds.json", settings))}))
    assert "q1w2e3r4" not in told
    assert all(name in told for name in names)


def test_differences() -> None:
    after = {
        "environment": Observed.seen(Environment({"X_1": "1"})),
        "host": Observed.unseen(PLANTED[3].text),
    }
    shown = [(each.old, each.new) for each in differences(_states(), after)]
    assert len(shown) > 80
    assert _leaks(json.dumps(shown, ensure_ascii=False)) == {}


def test_environment_report() -> None:
    assert _leaks(render_environment(_states())) == {}


@EACH
def test_plan_of_a_fix(planted: Planted, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"{planted.text}\nbf16: true\n{planted.text}\n")
    stream = io.StringIO()
    before = path.read_bytes()
    at = before.index(b"bf16: true") + len("bf16: ")
    edit = EditFile(str(path), digest(before), (Edit(at, at + len("true"), "false"),))
    draw_plan(Plan("NUM001", Safety.SAFE, (edit,)), "x", Console(file=stream, width=500), "en")
    assert "+bf16: false" in stream.getvalue()
    assert planted.leaks(stream.getvalue()) == []
    assert edit.content(before).decode().count(planted.text) == 2, "what is written is no secret's loss"


#: keys of many lines wherever in a log they stand, the others in the words of an exception
SHAPES = [
    (each, shape) for each in PLANTED for shape in ("message", "line", "end") if shape == "message" or "\n" in each.text
]


@pytest.mark.parametrize(("planted", "shape"), SHAPES, ids=lambda each: getattr(each, "name", each))
@pytest.mark.slow
def test_postmortem(planted: Planted, shape: str, tmp_path: Path) -> None:
    from doctor.logs.postmortem import examine

    log = tmp_path / "run.log"
    head = "".join(f"{{'loss': 0.{step}, 'grad_norm': 1.0, 'epoch': {step}}}\n" for step in range(1, 9))
    raised = 'Traceback (most recent call last):\n  File "/data/train.py", line 3, in <module>\n    main()\n'
    texts = {
        "message": f"{head}{raised}RuntimeError: refused, use '{planted.text}' please set a.b={planted.text}\n",
        "line": f"{head}{planted.text}\n{raised}ValueError: bad\n{planted.text}\n",
        "end": f"{head}{planted.text}\n",
    }
    log.write_text(texts[shape])
    told = as_dict(examine((str(log),)).diagnosis)
    assert planted.leaks(json.dumps(told, ensure_ascii=False)) == []


def test_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    log, context = tmp_path / "run.log", tmp_path / "context.txt"
    filler = "".join(f"INFO step {step} loss 0.5\n" for step in range(300))
    log.write_text(filler + "".join(f"{each.text}\nINFO next\n" for each in PLANTED) + filler + "RuntimeError: bad\n")
    context.write_text("\n".join(each.text for each in PLANTED))
    run(["postmortem", str(log), "--context", str(context), "--bundle", "b.tar.gz"])
    told = capsys.readouterr()
    assert _leaks(told.out + told.err) == {}
    with tarfile.open("b.tar.gz") as archive:
        texts = {each.name: archive.extractfile(each).read().decode() for each in archive if each.isfile()}
    assert {name: _leaks(text) for name, text in texts.items() if _leaks(text)} == {}


@pytest.mark.usefixtures("catalogue_read_once")
def test_what_takes_several_lines_at_any_place_of_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    several = [each for each in PLANTED if "\n" in each.text]
    assert len(several) > 15
    for planted in several:
        Path("run.log").write_text(f"INFO x\n{planted.text}\nINFO y\nRuntimeError: bad\n")
        run(["postmortem", "run.log", "--bundle", "b.tar.gz"])
        with tarfile.open("b.tar.gz") as archive:
            shown = "".join(archive.extractfile(each).read().decode() for each in archive if each.isfile())
        assert planted.leaks(shown) == [], planted.name
    capsys.readouterr()


@pytest.mark.usefixtures("catalogue_read_once")
@pytest.mark.parametrize("head", [195, 199, 205, 210])
def test_a_key_across_the_cut_of_a_bundle(head: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    keys = [each for each in PLANTED if each.name.startswith("PEM") and "\n" in each.text]
    for planted in keys:
        Path("run.log").write_text("INFO x\n" * head + planted.text + "\n" + "INFO y\n" * 600)
        run(["postmortem", "run.log", "--bundle", "b.tar.gz"])
        with tarfile.open("b.tar.gz") as archive:
            shown = "".join(archive.extractfile(each).read().decode() for each in archive if each.isfile())
        assert planted.leaks(shown) == [], planted.name
    capsys.readouterr()


CRASHES: tuple[Callable[[str], Exception], ...] = (ValueError, RuntimeError, lambda text: OSError(5, text))


@EACH_LINE
def test_crash_of_the_doctor(planted: Planted, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    from doctor.cli import app

    for made in CRASHES:

        def fail(*_: object, made: Callable[[str], Exception] = made, **__: object) -> None:
            raise made(planted.text)

        with monkeypatch.context() as patched:
            patched.setattr(app.app, "main", fail)
            assert run(["check", "--", *planted.text.split()]) == 3
        assert planted.leaks(capsys.readouterr().err) == []


@pytest.fixture(scope="module")
def one_machine() -> Iterator[None]:
    """The same machine and interpreter for all commands of a module; the command and its files are read each time."""
    answers: dict[str, dict[str, object]] = {}

    def once(ask: Callable[..., dict[str, object]], *question: object) -> dict[str, object]:
        key = json.dumps((ask.__name__, question), sort_keys=True, default=dict)
        if key not in answers:
            answers[key] = ask(*question)
        return copy.deepcopy(answers[key])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(diagnose, "Collector", of_one_machine())
        for ask in (target._in_process, target._in_child):
            patched.setattr(target, ask.__name__, partial(once, ask))
        yield


@pytest.mark.process
@pytest.mark.usefixtures("catalogue_read_once", "one_machine")
@EACH_LINE
def test_refusals(planted: Planted, capsys) -> None:
    for argv in (["explain", planted.text], [planted.text], ["postmortem", planted.text], ["check", planted.text]):
        run(argv)
        told = capsys.readouterr()
        assert planted.leaks(told.out + told.err) == []


def test_alarms_of_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.monitors.guard.alerts import Alerts

    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    for each in PLANTED:
        Alerts.print(object.__new__(Alerts), f"doctor: error: {each.text}")
    assert _leaks(stream.getvalue()) == {}


def test_answers_of_the_server() -> None:
    from doctor.fixes.vllm_server.guard import told

    shown = json.dumps([told("ValueError", each.text) for each in PLANTED], ensure_ascii=False)
    assert _leaks(shown) == {}


def test_the_list_of_nodes(tmp_path: Path) -> None:
    from doctor.cluster.gathered import MANIFEST, write_manifest

    write_manifest(tmp_path, "ssh", [{"name": "a", "state": "silent", "reason": each.text} for each in PLANTED])
    assert _leaks((tmp_path / MANIFEST).read_text()) == {}
