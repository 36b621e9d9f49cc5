"""What is seen of a requirement without `packaging` is what `packaging` says of it, over every line that is known."""

from __future__ import annotations

import pytest
from packaging.version import Version

from doctor import data
from doctor.catalogue.shared.requirements import applies, parsed, plainly_excluded, plainly_satisfied, satisfies
from doctor.data import refusals
from doctor.facts.interpreter import Interpreter

LINES = sorted({
    line for name in data.packages() for release in data.releases(name).values() for line in release.requires or ()
})  # fmt: skip
ODD = [
    "a", "a;", "a (>=1,<2)", "a (>=1", "a[x,y]>=1", "a >= 1 ; python_version<'3.12'", "a @ https://b/c.whl", "a>=1,",
    "a>=1; python_version < '3.10' or sys_platform == 'linux'", "a>=1; sys_platform != 'linux'\tor os_name == 'nt'",
    "a; (python_version < '3.9')", "a; sys_platform in 'linux'", "a===1.0", 'a~=1.4.2; os_name == "nt"', "a; 'x'",
    "a; python_version ~= '3.8'", "a; python_full_version == '3.11.*'", "a; '3.9' > python_version", "a;or", "; a",
]  # fmt: skip
VERSIONS = ("0.8.5", "1.26.4", "2.6.0+cu124", "2.11.0", "4.57.1", "5.0.0rc1", "2.9.0.post1", "2024.6.1", "no version")
INTERPRETERS = (
    Interpreter("python", "3.9.18"), Interpreter("python", "3.11.7", machine="aarch64"),
    Interpreter("python", "3.14.0rc1"), Interpreter("python", "3.12.1", platform="darwin", machine="arm64"),
    Interpreter("python", "3.10.2", platform="win32", machine="AMD64"), Interpreter("python", "3.10.2", "pypy"),
)  # fmt: skip


def test_what_is_excluded_does_not_apply() -> None:
    excluded = 0
    for line in (*LINES, *ODD):
        if "extra" in line:
            continue
        requirement = parsed(line)
        assert not plainly_excluded(line, None)
        for each in INTERPRETERS:
            if plainly_excluded(line, each):
                assert requirement is None or not applies(requirement, each), (line, each)
                excluded += 1
    assert len(LINES) > 500
    assert excluded > 100


def test_what_is_satisfied_is() -> None:
    satisfied = 0
    for line in (*LINES, *ODD):
        requirement = parsed(line)
        for version in VERSIONS:
            if plainly_satisfied(line, version):
                fits = requirement is None or not requirement.specifier or satisfies(version, requirement.specifier)
                assert fits, (line, version)
                satisfied += 1
    assert satisfied > 1000


@pytest.mark.parametrize("every", ["release", "minor"])
def test_neighbours_of_a_release_are_those_that_packaging_orders(every: str) -> None:
    read = {"versions": ["0.7.0", "0.8.0", "0.8.5", "0.10.2", "1.0", "1.2.3"], "every": every}
    asked = ["0.6", "0.7", "0.8.5", "0.8.5+cu1", "0.9", "0.9.1", "0.10.3", "1.1.0", "1.2.3", "1.2.4", "2", "x"]
    odd = {**read, "versions": [*read["versions"], "1.3.0rc1"]}
    for version in asked:
        plain, ordered = refusals._neighbours(read, version), refusals._neighbours(odd, version)
        newer = version != "x" and Version(version) > Version("1.2.3")
        assert newer or plain == ordered, version
    assert refusals._neighbours(odd, "1.3.0rc1") == (6,)
