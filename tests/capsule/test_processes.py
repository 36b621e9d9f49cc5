"""Real processes that fail in every way that the capsule looks on at; what they print and how they end stays."""

from __future__ import annotations

import jsonschema
import pytest

from doctor.diagnosis.capsule_schema import CAPSULE
from tests.facts.environments import interpreter

from .conftest import Ended, Run, first_frame, values_of

pytestmark = pytest.mark.process

CHECK = """
import sys
class Config:
    def __init__(self):
        self.batch, self.groups, self.api_key = 8, 3, "sk-abcdefghijklmnopqrstuvwxyz"
def check(config, prompts):
    if config.batch % config.groups != 0 and config.api_key:
        raise ValueError("the batch does not divide")
config, prompts = Config(), ["the secret text of the user, nobody else's"]
def main():
    check(config, prompts)
"""

_CHILD = """
import multiprocessing as m
if __name__ == "__main__":
    child = m.get_context("{0}").Process(target=main)
    child.start()
    child.join()
    sys.stdout.write(str(child.exitcode))
"""
_SUBCLASS = """
import multiprocessing as m
class Mine(m.get_context("fork").Process):
    def run(self):
        main()
if __name__ == "__main__":
    child = Mine()
    child.start()
    child.join()
"""
_THREAD = "import threading\nthread = threading.Thread(target=main)\nthread.start()\nthread.join()"
_LOGGED = "import logging\ntry:\n    main()\nexcept ValueError:\n    logging.getLogger('x').exception('y')"
_TASK = """
import asyncio, gc
async def go():
    async def inner():
        main()
    asyncio.get_running_loop().create_task(inner())
    await asyncio.sleep(0.1)
    gc.collect()
asyncio.run(go())
"""
_POOL = """
import multiprocessing as m
def job(_):
    main()
if __name__ == "__main__":
    with m.get_context("fork").Pool(1) as pool:
        try:
            pool.map(job, [1])
        except ValueError:
            pass
"""
_EXECUTOR = """
import multiprocessing as m
from concurrent.futures import ProcessPoolExecutor
def job(_):
    main()
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=m.get_context("fork")) as pool:
        try:
            list(pool.map(job, [1]))
        except ValueError:
            pass
"""
#: how it is raised -> (program, source that sees it, whether it ends the process)
WAYS = {
    name: (f"{CHECK}\n{text}", source, ends)
    for name, text, source, ends in (
        ("plain", "main()", "excepthook", True),
        ("thread", _THREAD, "thread", True),
        ("fork", _CHILD.format("fork"), "process", True),
        ("spawn", _CHILD.format("spawn"), "process", True),
        ("subclass", _SUBCLASS, "process", True),
        ("logged", _LOGGED, "logged", False),
        ("task", _TASK, "logged", False),
        ("pool", _POOL, "worker", False),
        ("executor", _EXECUTOR, "worker", False),
        ("hook-replaced", "sys.excepthook = lambda *_: sys.stderr.write('mine\\n')\nmain()", "excepthook", True),
        ("handled-exit", "try:\n    main()\nexcept ValueError:\n    sys.exit(1)", "exit", True),
    )
}


def _all_equal(run: Run, program: str, **more: str) -> Ended:
    """The run with the hook, whose code and words are those without it."""
    bare, watched = run(program, hook=False, **more), run(program, **more)
    assert (watched.code, watched.out) == (bare.code, bare.out)
    assert _words(watched.error) == _words(bare.error)
    return watched


def _words(text: str) -> list[str]:
    """What was printed but for addresses of objects."""
    return [each for each in text.splitlines() if " at 0x" not in each]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_fail_leaves_the_violated_condition(way: str, hooked: Run) -> None:
    program, source, ends = WAYS[way]
    ended = _all_equal(hooked, program)
    failure = ended.only["failures"][0]
    jsonschema.validate(ended.only, CAPSULE)
    assert (failure["source"], failure["ends"]) == (source, ends)
    frame = first_frame(ended.only)
    assert frame["function"] == "check"
    condition = frame["conditions"][0]
    assert condition["taken"]
    assert condition["now"]
    values = values_of(frame)
    assert values["config.batch"]["value"] == 8
    assert values["config.groups"]["value"] == 3
    assert values["config.batch % config.groups"]["value"] == 2
    text = str(ended.only)
    assert "secret text" not in text
    assert "abcdefghijklmnop" not in text


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13"])
def test_other_pythons(version: str, hooked: Run) -> None:
    ended = hooked(WAYS["plain"][0], python=interpreter(version))
    jsonschema.validate(ended.only, CAPSULE)
    assert values_of(first_frame(ended.only))["config.batch % config.groups"]["value"] == 2


def test_the_first_raise_is_told_with_its_values(hooked: Run) -> None:
    program = f"{CHECK}\ntry:\n    main()\nexcept ValueError as error:\n    raise RuntimeError('later') from error"
    ended = _all_equal(hooked, program)
    chain = ended.only["failures"][0]["chain"]
    assert [(each["type"], each["relation"]) for each in chain] == [("ValueError", "cause"), ("RuntimeError", "raised")]
    assert values_of(chain[0]["frames"][0])["config.groups"]["value"] == 3


def test_exit_of_one_rank(hooked: Run) -> None:
    program = "import sys\nworld, need = 2, 4\nif world < need:\n    sys.exit(7)"
    ended = _all_equal(hooked, program, RANK="1", WORLD_SIZE="2")
    assert ended.code == 7
    assert ended.only["process"]["rank"] == 1
    failure = ended.only["failures"][0]
    assert (failure["source"], failure["code"]) == ("exit", 7)
    assert values_of(first_frame(ended.only))["need"]["value"] == 4


def test_quiet_ends_leave_nothing(hooked: Run) -> None:
    for program in ("print(1)", "import sys; sys.exit(0)", "import sys; sys.exit()", "raise KeyboardInterrupt"):
        ended = _all_equal(hooked, program)
        assert not ended.capsules
        assert not ended.stacks


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"])
def test_signals_leave_a_stack(name: str, hooked: Run) -> None:
    program = f"import os, signal\ndef falls():\n    os.kill(os.getpid(), signal.{name})\nfalls()"
    ended = _all_equal(hooked, program)
    assert ended.code < 0
    assert "in falls" in ended.stacks[0]


def test_a_handler_of_the_program_is_left_alone(hooked: Run) -> None:
    program = "import ctypes\nctypes.string_at(0)"
    ended = hooked(program, PYTHONFAULTHANDLER="1")
    assert "Segmentation fault" in ended.error
    assert not ended.stacks


def test_text_of_the_user_only_where_it_is_allowed(hooked: Run) -> None:
    program = "prompt = 'what is ' + 'x' * 500\nif len(prompt) > 3:\n    raise ValueError(prompt is None)"
    held = values_of(first_frame(hooked(program).only))["prompt"]
    assert held["length"] == 508
    assert "value" not in held
    allowed = hooked(program, DOCTOR_CAPSULE_TEXT="1")
    told = [values_of(first_frame(each))["prompt"] for each in allowed.capsules]
    assert max(len(each.get("value", "")) for each in told) == 200


def test_source_changed_since_the_import(hooked: Run) -> None:
    program = "import sys\nlimit = 3\ndef check(n):\n    if n > limit:\n        raise ValueError('large')\n"
    program += "open(sys.argv[0], 'w').write('# other\\n' * 3 + 'def check(n):\\n    return other + n\\n')\ncheck(5)\n"
    frame = first_frame(hooked(program).only)
    assert frame["changed"] is True
    assert "lines" not in frame
    assert values_of(frame)["n"]["value"] == 5


def test_switched_off(hooked: Run) -> None:
    assert not hooked(WAYS["plain"][0], DOCTOR_CAPSULE="0").capsules


def test_siblings_tell_where_they_stand(hooked: Run) -> None:
    program = """
import os, sys, subprocess, time
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(r), "WORLD_SIZE": "3"})
             for r in range(3)]
    ranks[1].wait()
    [each.kill() for each in ranks]
    [each.wait() for each in ranks]
    sys.exit(0)
from doctor.monitors.capsule import capture, siblings
siblings.listen(capture.stand)
rank = int(os.environ["RANK"])
def waits(batch):
    time.sleep(60 if batch else 0)
def fails(batch):
    if batch != 4:
        raise ValueError("another size")
time.sleep(4.0 if rank == 1 else 0.5)  # the others stand in their wait by then
fails(3) if rank == 1 else waits(4)
"""
    ended = hooked(program)
    ranks = {each["process"]["rank"]: each for each in ended.capsules}
    assert set(ranks) == {0, 1, 2}
    assert ranks[1]["failures"][0]["source"] == "excepthook"
    for rank in (0, 2):
        stands = ranks[rank]["stands"]["frames"]
        assert stands[0]["function"] == "waits"
        assert values_of(stands[0])["batch"]["value"] == 4
