"""`within` answers as `packaging` does, and seldom needs it."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.base.ranges import numbers, order, within

VERSIONS = (
    "0", "0.0", "1", "1.0", "1.0.0", "1.0.1", "1.1", "1.10", "2", "2.0.0", "2.9.0", "2.9.1", "2.9.1+cu128",
    "2.9.1+computecanada", "2.9.1+a.1", "2.9.1+a-b", "02.9", " 2.9 ", "v2.9", "1!2.9", "2.9rc1", "2.9.0.dev20250101",
    "2.9.post1", "2.9a0+git1", "10.0",
)  # fmt: skip
BOUNDS = ("0", "1", "1.0", "1.0.1", "2", "2.9", "2.9.0", "2.9.1", "2.9rc1", "2.9.post1", "10", "1!2")
RELATIONS = (">=", "<=", "==", "!=", ">", "<")
RANGES = (
    "", ",", ">=1,<3", ">=1 , <2.9.1,", ">1,!=2.9", "!=2.*", "==2.9.*", "==2.0.*", "!=1.0.0.*", "==1.*,!=1.0.*",
    "~=2.9.0", "~=2.0", "~= 1.0.0", "===2.9.1", "==2.9.1+cu128", "!=2.9.1+cu128",
    *map("".join, itertools.product(RELATIONS, ("", " "), BOUNDS)),
)  # fmt: skip
WRONG_VERSIONS = ("", "+", "1.", ".1", "1..2", "one", "1+", "1+.", "1+a..b", "1_0", "1 .0", "²", "１")
WRONG_RANGES = (">=3.6.*", "~=1", "~=1.*", ">=", "1.0", "=>1", ">=1;<2", ">=1+cu128", ">=a", ">= 1 0")


def test_it_answers_as_packaging_does() -> None:
    differ = [
        (version, text)
        for version, text in itertools.product(VERSIONS, RANGES)
        if within(version, text) != SpecifierSet(text).contains(Version(Version(version).public), prereleases=True)
    ]
    assert not differ


@pytest.mark.parametrize("version", WRONG_VERSIONS)
def test_what_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="Invalid version"):
        within(version, ">=1")


@pytest.mark.parametrize("text", WRONG_RANGES)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid specifier"):
        within("1.0", text)


def test_versions_stand_in_order_as_with_packaging() -> None:
    public = {each: Version(Version(each).public) for each in VERSIONS}
    for one, other in itertools.product(VERSIONS, VERSIONS):
        assert (order(one, other) > 0, order(one, other) < 0) == (
            public[one] > public[other], public[one] < public[other]
        ), (one, other)  # fmt: skip
    with pytest.raises(ValueError, match="Invalid version"):
        order("1.0", "one")


def test_zeros_at_the_end_are_no_difference() -> None:
    assert numbers("2.0.0+cu128") == numbers("2") == (2,)
    assert numbers("0.0") == (0,)
    assert numbers("2.0rc1") is None


@pytest.mark.process
def test_releases_of_numbers_alone_need_no_packaging() -> None:
    code = (
        "import sys; from doctor.base.ranges import within; assert within('2.9.1+cu128', '>=2.6,<3,!=2.8'); "
        "print('packaging' in sys.modules); within('2.9rc1', '>=2.6'); print('packaging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
