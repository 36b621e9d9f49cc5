"""Facts files of many nodes: what is equal is read once, and nothing is read otherwise than one file at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.cluster.alike import Alike
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.readers.collector import Collector
from doctor.readers.saved import NotFacts, fact_names, read, save

PATH = Path("node.json")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    collector = Collector(Context(cwd=tmp_path_factory.mktemp("run")))
    collector.ask(fact_names())
    path = tmp_path_factory.mktemp("facts") / "here.json"
    save(collector.states, path)
    return path


@pytest.mark.process
def test_real_facts_are_read_as_one_file_is(real: Path) -> None:
    assert Alike().states(real.read_text(), real) == dict(read(real)[0].states)


def test_equal_facts_of_two_nodes_are_one_object(real: Path) -> None:
    alike, text = Alike(), real.read_text()
    other = json.loads(text)
    other["facts"]["host"]["value"]["hostname"] = "another"
    one, two = alike.states(text, real), alike.states(json.dumps(other, indent=1, ensure_ascii=False), real)
    assert one["packages"] is two["packages"]
    assert one["host"] is not two["host"]
    assert two["host"].value.hostname == "another"


@pytest.mark.parametrize("indent", [None, 1, 2, 4])
def test_any_shape_of_the_same_json_reads_alike(indent: int | None, tmp_path: Path) -> None:
    states = {
        "environment": Observed.seen(Environment({"A": '\n  "host": {\n  }', "B": "}"})),
        "host": Observed.seen(Host("h")),
        "gpus": Observed.unseen("no driver"),
    }
    save(states, tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_text())
    data |= {"node": {"rank": 3, "inner": {"x": {"y": 1}}}}
    head, found = Alike().read(json.dumps(data, indent=indent), PATH)
    assert found == states
    assert head["node"] == {"rank": 3, "inner": {"x": {"y": 1}}}
    assert "facts" not in head


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "doctor-facts/1"}', '{"schema": "doctor-facts/1", "facts": {"host": 1}}']
)
def test_damaged_files_are_told(text: str) -> None:
    with pytest.raises(NotFacts, match=r"node\.json"):
        Alike().read(text, PATH)


def test_another_schema_is_told() -> None:
    with pytest.raises(NotFacts, match="doctor-facts/9"):
        Alike().read('{"schema": "doctor-facts/9", "facts": {}}', PATH)
