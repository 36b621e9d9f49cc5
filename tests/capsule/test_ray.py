"""A real actor of Ray: its process tells what it held, and the driver's capsule holds the cause."""

from __future__ import annotations

import pytest

from .conftest import Run, values_of

pytestmark = pytest.mark.process

ACTOR = """
import os
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=None)
@ray.remote
class Worker:
    def __init__(self, size):
        self.size = size
    def step(self, batch):
        if batch % self.size:
            raise ValueError("the batch does not divide")
        return batch
worker = Worker.remote(3)
ray.get(worker.step.remote(8))
"""
STUB = """
import sys, types
module = types.ModuleType("ray.exceptions")
class RayTaskError(Exception):
    def __init__(self, function_name, traceback_str, cause, proctitle=None):
        self.cause = cause
        super().__init__(traceback_str)
module.RayTaskError = RayTaskError
sys.modules["ray.exceptions"] = module
from doctor.monitors.capsule import hooks
hooks.install()
def task(batch, size):
    if batch % size:
        raise ValueError("the batch does not divide")
try:
    task(8, 3)
except ValueError as error:
    handed = RayTaskError("task", "text", error)
RayTaskError("task", "text", ValueError("of another process"))
"""


def test_the_cause_is_told_where_it_is_wrapped(hooked: Run) -> None:
    ended = hooked(STUB)
    assert ended.code == 0
    failures = ended.only["failures"]
    assert [(each["source"], each["ends"]) for each in failures] == [("ray", False)]
    assert values_of(failures[0]["chain"][0]["frames"][0])["size"]["value"] == 3


@pytest.mark.slow
def test_a_real_actor(hooked: Run) -> None:
    pytest.importorskip("ray")
    ended = hooked(ACTOR)
    assert ended.code == 1
    of_actor = next(each for each in ended.capsules if each["failures"] and each["failures"][0]["source"] == "ray")
    frame = of_actor["failures"][0]["chain"][0]["frames"][0]
    assert of_actor["process"]["role"] == "ray"
    assert values_of(frame)["self.size"]["value"] == 3
    assert values_of(frame)["batch"]["value"] == 8
    driver = next(each for each in ended.capsules if each["failures"][0]["source"] == "excepthook")
    assert driver["failures"][0]["chain"][0]["type"].endswith("ValueError")
