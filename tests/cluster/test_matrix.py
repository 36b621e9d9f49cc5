"""The matrix stays readable: equal nodes are one column, it fits 80 columns, and it says what it leaves out."""

from __future__ import annotations

import io
import re

from rich.console import Console

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Message, Words
from doctor.catalogue.nodes.compare import Compared, Value
from doctor.catalogue.nodes.departures import told_apart
from doctor.catalogue.nodes.readings import READINGS
from doctor.catalogue.problem import WARNING, Problem
from doctor.catalogue.reasons import localised, table
from doctor.diagnosis.nodes.matrix import section
from doctor.facts.cluster import Cluster, ClusterNode
from doctor.facts.environment import Environment
from doctor.facts.host import Host
from doctor.render import matrix
from doctor.render.matrix_text import draw_nodes


def node(name: str, variables: dict[str, str], **more: object) -> ClusterNode:
    return ClusterNode(name, facts={"environment": Observed.seen(Environment(variables))}, **more)  # type: ignore[arg-type]


def cluster(groups: int, each: int = 3) -> Cluster:
    made = [
        node(f"node{group:02d}{number:02d}", {"VLLM_A": f"value-{group}", "VLLM_SAME": "1"})
        for group in range(groups)
        for number in range(each if group else 30)
    ]
    return Cluster("folder", tuple(made))


def drawn(cluster: Cluster, *, width: int = 80, verbose: bool = False, language: str = "en") -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    report = localised({"target": {}, "skipped": [], "nodes": section(cluster)}, language)
    draw_nodes(report["nodes"], console, language, verbose=verbose)
    return stream.getvalue()


def test_four_nodes() -> None:
    text = drawn(Cluster("folder", tuple(node(f"n{i}", {"VLLM_A": "2" if i == 3 else "1"}) for i in range(1, 5))))
    assert "4 of 4 nodes answered · 2 readings compared, 1 alike on all of them" in text
    assert re.search(r"A  3  n\[1-2,4\]  most nodes", text)
    assert re.search(r"VLLM_A +1 +2", text)


def test_many_groups_fit_the_width_and_say_what_is_left_out() -> None:
    text = drawn(cluster(20))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "and 8 more groups of 24 nodes" in text
    assert "value-19" not in text
    assert "value-11" in text
    assert "value-19" in drawn(cluster(20), verbose=True)


def test_a_thousand_nodes_are_no_longer_than_ten() -> None:
    nodes = tuple(node(f"n{i:04d}", {"VLLM_A": "2" if i == 500 else "1"}) for i in range(1000))
    text = drawn(Cluster("folder", nodes))
    assert len(text.splitlines()) < 12
    assert "n[0000-0499,0501-0999]" in text


def test_equal_nodes_are_one_line_and_equal_rows_on_request() -> None:
    alike = Cluster("folder", tuple(node(f"n{i}", {"VLLM_A": "1"}) for i in range(9)))
    assert drawn(alike).splitlines()[1:] == ["  9 nodes are alike in all 2 readings that were compared"]
    assert re.search(r"VLLM_A +1", drawn(alike, verbose=True))


def test_silent_nodes_are_never_left_out() -> None:
    silent = ClusterNode("n9", "silent", "no answer within 20 s")
    text = drawn(Cluster("ray", (node("n1", {"VLLM_A": "1"}), node("n2", {"VLLM_A": "1"}), silent)))
    assert "2 of 3 nodes answered, alike in all" in text
    assert "n9  no answer: no answer within 20 s" in text
    assert "there is nothing to compare with" in drawn(Cluster("ray", (silent, node("n1", {}))))


def test_without_majority_the_first_column_is_the_largest_group() -> None:
    half = Cluster("folder", tuple(node(f"n{i}", {"VLLM_A": str(i % 2)}) for i in range(4)))
    assert "largest group" not in drawn(half)  # there are two of that size
    five = Cluster("folder", tuple(node(f"n{i}", {"VLLM_A": str(i % 3)}) for i in (0, 3, 1, 2, 5, 6)))
    assert "largest group" in drawn(five)
    assert "最大的一组" in drawn(five, language="zh")


def test_of_equal_groups_that_which_departs_least_is_first_and_departures_are_marked() -> None:
    odd = {"VLLM_A": "eth7", "VLLM_B": "1", "VLLM_D": "x"}
    three = (node("a", odd), node("b", {"VLLM_B": "2"}), node("c", {"VLLM_C": "3", "VLLM_B": "1"}))
    told = section(Cluster("ray", three))
    assert [each["names"] for each in told["groups"]] == ["b", "c", "a"]
    (block,) = matrix.blocks(told, 80, verbose=False)
    marked = {name: departs for _, name, _, departs in block.rows}
    assert marked["VLLM_A"] == (False, False, True)
    assert marked["VLLM_B"] == (True, False, False)


def test_markdown_and_html_hold_every_group_and_nothing_unescaped() -> None:
    evil = Cluster("folder", (node("a", {"VLLM_A": "<b>|x"}), node("b", {"VLLM_A": "1"}), node("c", {"VLLM_A": "1"})))
    lines = matrix.markdown(section(evil), "en")
    assert "| VLLM_A | 1 | <b>\\|x |" in lines
    page = matrix.page(section(evil), "en")
    assert "<b>|x" not in page
    assert "&lt;b&gt;|x" in page
    assert "<td class='other'>" in page


def test_long_values_are_cut_in_the_middle() -> None:
    long = "/opt/" + "x" * 90 + "/lib"
    text = drawn(
        Cluster("folder", (node("a", {"VLLM_A": long}), node("b", {"VLLM_A": "1"}), node("c", {"VLLM_A": "1"})))
    )
    assert "…" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_names_of_readings_have_their_chinese() -> None:
    as_everywhere = {"Python", "glibc", "torch", "NCCL", "nvcc", "ECC", "MIG", "/dev/shm", "{}"}
    assert {each.name for each in READINGS} <= set(table("readings")) | as_everywhere
    assert all(text.count("{}") == chinese.count("{0}") for text, chinese in table("readings").items())


def test_chinese_names_stand_in_the_matrix_and_keep_its_columns() -> None:
    def having(name: str, kernel: str, mode: str) -> ClusterNode:
        facts = {"host": Observed.seen(Host(hostname=name, kernel=kernel)), **node(name, {"driver": mode}).facts}
        return ClusterNode(name, facts=facts)

    lines = drawn(
        Cluster("ray", (having("a", "6.1", "x"), having("b", "6.1", "x"), having("c", "5.15", "y"))), language="zh"
    ).splitlines()
    (kernel,) = [line for line in lines if "内核" in line]
    (variable,) = [line for line in lines if line.lstrip().startswith("driver")]  # a variable is never translated
    assert matrix.cells_of(kernel[: kernel.index("6.1")]) == matrix.cells_of(variable[: variable.index("x")])


def test_findings_name_readings_in_the_readers_language() -> None:
    words = Words("{hosts} {others}: {told}", "Why.", "Do.")
    odd = Message(en=words, zh=Words("{hosts} {others}:{told}", "原因。", "处理。"))
    row = Compared("kernel", "host", (Value("6.1", ("a", "b")), Value("5.15", ("c",))))
    (found,) = told_apart(Problem(id="HST999", name="x", severity=WARNING, since="0.1"), odd, odd, [row])
    assert found.words("en").headline == "c 2: `kernel` 5.15 ≠ 6.1"
    assert found.words("zh").headline == "c 2:`内核` 5.15 ≠ 6.1"


def test_readings_that_halve_the_nodes_in_the_same_way_are_one_finding() -> None:
    message = Message(
        en=Words("`{name}` {seen}: {told}", "Why.", "Do."), zh=Words("`{name}` {seen}:{told}", "原因。", "处理。")
    )
    halves = (("a", "b"), ("c", "d"))
    rows = [Compared(name, "host", (Value("1", halves[0]), Value("2", halves[1]))) for name in ("kernel", "CPUs", "x")]
    rows.append(Compared("memory", "host", (Value("1", ("a", "c")), Value("2", ("b", "d")))))
    problem = Problem(id="HST999", name="x", severity=WARNING, since="0.1")
    first, second = told_apart(problem, message, message, rows)
    assert first.words("en").headline == "`kernel` 4: 1 (2), 2 (2); and 2 more readings"
    assert first.words("zh").headline == "`内核` 4:1 (2), 2 (2);另有 2 项"
    assert [each.source for each in first.evidence] == ["kernel", "CPUs", "x"]
    assert second.words("en").headline == "`memory` 4: 1 (2), 2 (2)"
