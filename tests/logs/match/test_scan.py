from __future__ import annotations

from pathlib import Path

from doctor.catalogue.signature import Signature
from doctor.logs.match.matcher import Compiled
from doctor.logs.read.scan import Scanner

ASKED = r"^ValueError: (?P<message>\w{1,20} \w{1,20})"


def test_signatures_that_ask_the_same_of_a_line_all_hit_it(tmp_path: Path) -> None:
    signatures = (
        Compiled("A", 0, Signature(ASKED, frame=r"trl/")),
        Compiled("B", 1, Signature(r"^KeyError: ")),
        Compiled("C", 2, Signature(ASKED, frame=r"vllm/")),
        Compiled("D", 3, Signature(ASKED, keywords=("ValueError: odd",))),
    )
    log = tmp_path / "run.log"
    log.write_text("ValueError: bad batch\nKeyError: 'x'\nValueError: odd batch\n" * 60)
    found = Scanner(signatures).file(str(log))
    assert found.counts == {0: 120, 1: 60, 2: 120, 3: 60}
    assert [(each.signature, each.line) for each in found.hits[:6]] == [(0, 1), (2, 1), (1, 2), (0, 3), (2, 3), (3, 3)]
    assert {each.groups.get("message") for each in found.hits} == {"bad batch", "odd batch", None}
    assert [each.line for each in found.hits if each.signature == 2] == [
        each.line for each in found.hits if each.signature == 0
    ]
