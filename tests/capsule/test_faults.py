"""Whatever fails inside of the capsule stays there: no exception, no word, no other exit code."""

from __future__ import annotations

import json

import pytest

from .conftest import Run

pytestmark = pytest.mark.process

#: raises at a random line of the capsule's own code, in whichever thread runs it, and counts what gets out
FAULTS = """
import io, json, random, sys, threading, traceback
from doctor.monitors.capsule import capture, hooks
FAULTS = (ValueError, MemoryError, RecursionError, OSError, KeyError, AttributeError, SystemError, UnicodeError)
seed, count = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(seed)

class Tracer:
    def __init__(self, at):
        self.left, self.fault = at, chance.choice(FAULTS)
    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if "/monitors/capsule/" not in name or name.endswith("hooks.py"):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise self.fault("injected")
        return self

def fails(batch, groups):
    table = {"a": [1, 2], "b": "text"}
    if batch % groups and table["a"][1]:
        raise RuntimeError("the batch does not divide")

def failing():
    try:
        fails(8, 3)
    except RuntimeError as error:
        return error

def lines_of(work):
    tracer = Tracer(-1)
    threading.settrace(tracer)
    sys.settrace(tracer)
    work()
    sys.settrace(None)
    threading.settrace(None)
    return -1 - tracer.left

def fresh():
    capture._State.pid = None

def one(error):
    hooks.record(error, "excepthook", ends=True)

fresh()
whole = lines_of(lambda: one(failing()))
out, escaped, hit = io.StringIO(), [], 0
before, sys.stderr = sys.stderr, out
for number in range(count):
    fresh()
    error = failing()
    tracer = Tracer(chance.randrange(1, whole + 1))
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        one(error)
    except BaseException as trouble:
        escaped.append(repr(trouble))
    finally:
        sys.settrace(None)
        threading.settrace(None)
    hit += tracer.left <= 0
sys.stderr = before
print(json.dumps({"lines": whole, "hit": hit, "escaped": escaped[:5], "said": out.getvalue()[:500]}))
"""

#: what stands in for every function of a module: it raises
BROKEN = """
import builtins, importlib, sys
fault, module, *names = sys.argv[1:]
def raises(*_, **__):
    raise getattr(builtins, fault)("a bug of the capsule")
broken = importlib.import_module("doctor.monitors.capsule." + module)
for name in names:
    setattr(broken, name, raises)
import logging, threading, multiprocessing
def fails(count):
    if count > 2:
        raise ValueError("too many")
def worker():
    fails(3)
if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    try:
        fails(4)
    except ValueError:
        logging.exception("told")
    thread = threading.Thread(target=fails, args=(5,), name="own")
    thread.start()
    thread.join()
    child = multiprocessing.get_context("fork").Process(target=worker)
    child.start()
    child.join()
    fails(6)
"""
PARTS = (
    ("capture", ("record",)), ("capture", ("_record", "_put")), ("frames", ("_places", "_place")),
    ("siblings", ("ask",)),
    ("write", ("write", "path_of")), ("process", ("describe", "phase_of", "role")), ("looks", ("mro", "class_name")),
    ("hooks", ("_logged", "_child_ends", "_forget_signals")), ("values", ("Facts",)), ("source", ("Sources",)),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_faults_reach_nobody(seed: int, hooked: Run) -> None:
    ended = hooked(FAULTS, str(seed), "250")
    assert ended.code == 0, ended.error
    told = json.loads(ended.out)
    assert told["lines"] > 1_000
    assert told["hit"] > 225, "nearly all of them must have been raised"
    assert told["escaped"] == []
    assert told["said"] == ""


@pytest.mark.parametrize("part", PARTS, ids=lambda each: f"{each[0]}-{each[1][0]}")
def test_broken_parts_change_nothing(part: tuple[str, tuple[str, ...]], hooked: Run) -> None:
    module, names = part
    whole = hooked(BROKEN, "ValueError", module, *names, DOCTOR_CAPSULE="0")
    for fault in ("ValueError", "MemoryError", "RecursionError"):
        broken = hooked(BROKEN, fault, module, *names)
        assert (broken.code, broken.out) == (whole.code, whole.out) == (1, ""), fault
        assert [each for each in broken.error.splitlines() if "0x" not in each] == whole.error.splitlines(), fault


def test_a_folder_that_cannot_be_written(hooked: Run) -> None:
    program = "import os, shutil\nshutil.rmtree(os.environ['DOCTOR_RUN_DIR'] + '/capsules')\n"
    program += "open(os.environ['DOCTOR_RUN_DIR'] + '/capsules', 'w').close()\nraise ValueError('x')"
    ended = hooked(program)
    assert ended.code == 1
    assert ended.error.endswith("ValueError: x\n")
    assert "doctor" not in ended.error


#: counts calls of Python functions while a program works
COUNTED = """
import io, logging, sys, threading
logging.basicConfig(stream=io.StringIO(), level=logging.INFO)
log = logging.getLogger("run")
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
def step(number):
    try:
        return {}[number]
    except KeyError:
        log.info("step %d", number)
    return sum(each * each for each in range(50))
sys.setprofile(count)
for number in range(300):
    step(number)
sys.setprofile(None)
print(calls)
"""


def test_nothing_is_called_while_a_run_goes_on(hooked: Run) -> None:
    bare, watched = hooked(COUNTED, hook=False), hooked(COUNTED)
    assert watched.out == bare.out
    assert int(bare.out) > 10_000
