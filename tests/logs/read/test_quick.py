"""The compiled module gives what the plain functions give, whatever a log holds."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from array import array
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doctor.logs.read.quick as plain
from doctor.logs.read import figures

pytestmark = pytest.mark.process

SOURCES = [Path(plain.__file__).with_name(f"{name}.c") for name in ("_quick", "_figures", "_rows")]
#: whole codes, codes cut off anywhere, and codes at and beyond what is still taken for one
PARTS = (
    b"\x1b[36m", b"\x1b[0m", b"\x1b[1;31m", b"\x1b[2K", b"\x1b[?25l", b"\x1b[1 q", b"\x1b[", b"\x1b[3", b"\x1b[3 ", b"\x1b",
    b"\x1b]0;title\x07", b"\x1b]8;;x\x1b\\", b"\x1b]8;;x\x1b", b"\x1b]open", b"\x1b]", b"\x1bM", b"\x1b\\", b"\x1b^", b"\x1b_",
    b"\x1b@", b"\x1bZ", b"\x1b`", b"\x1b?", b"\x1b[" + b"1" * 63 + b"m", b"\x1b[" + b"1" * 64 + b"m", b"\x1b[" + b"1" * 65 + b"m",
    b"\x1b[" + b" " * 8 + b"@", b"\x1b[" + b" " * 9 + b"@", b"\x1b]" + b"t" * 2048 + b"\x07", b"\x1b]" + b"t" * 2049 + b"\x07",
    b"\x1b]" + b"t" * 2048 + b"\x1b\\", b"\n", b"\r", b"\r\n", b"\x00", b"word", b" ", b"m", b"[3", b"\\", b"\x07", b"\xff", b"\x80",
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=8)), max_size=40).map(b"".join)
PLACES = st.integers(0, 400)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module, compiled here with every warning an error."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    headers = sysconfig.get_path("include")
    if compiler is None or not Path(headers, "Python.h").is_file():
        pytest.skip("no C compiler, or Python's headers are not installed")
    library = tmp_path_factory.mktemp("quick") / "_quick.abi3.so"
    flags = ["-O3", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-std=c99", "-isystem", headers]
    subprocess.run([compiler, *flags, *map(str, SOURCES), "-o", str(library)], check=True)
    loader = importlib.machinery.ExtensionFileLoader("_quick", str(library))
    spec = importlib.util.spec_from_loader("_quick", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@given(TEXTS)
def test_codes_are_cut_alike(compiled: ModuleType, raw: bytes) -> None:
    assert compiled.cut_codes(raw) == plain.plain_cut_codes(raw) == plain.CODES.sub(b"", raw)


@given(TEXTS, PLACES, PLACES)
def test_lines_are_counted_and_found_alike(compiled: ModuleType, data: bytes, one: int, two: int) -> None:
    assert compiled.count_line_feeds(data, one, two) == plain.plain_count_line_feeds(data, one, two)
    assert compiled.behind_line_feeds(data, one, two) == plain.plain_behind_line_feeds(data, min(one, len(data)), two)


def test_many_line_feeds_together_are_counted(compiled: ModuleType) -> None:
    for count in (0, 1, 15, 16, 254, 255, 256, 510, 70_000):  # they are summed in bytes, of 255 at most
        assert compiled.count_line_feeds(b"\n" * count + b"end", 0, count + 3) == count
        assert compiled.behind_line_feeds(b"\n" * count + b"end", 0, count) == count


def test_a_text_without_codes_is_not_copied(compiled: ModuleType) -> None:
    for text in (b"plain", b"no code, \x1b. nor this"):
        before = sys.getrefcount(text)
        assert all(compiled.cut_codes(text) is text for _ in range(50))
        assert sys.getrefcount(text) == before
        assert plain.plain_cut_codes(text) == text


def test_what_is_no_text_or_place_is_refused(compiled: ModuleType) -> None:
    for call in compiled.count_line_feeds, compiled.behind_line_feeds:
        for wrong in (
            (),
            (b"",),
            (b"", 0),
            ("text", 0, 0),
            (b"", "0", 0),
            (b"", None, 0),
            (b"", 0, 0, 0),
            (b"", 0.5, 0),
        ):
            with pytest.raises(TypeError):
                call(*wrong)
        with pytest.raises(ValueError, match="not negative"):
            call(b"", -1, 0)
        with pytest.raises(OverflowError):
            call(b"", 0, 1 << 80)
    for wrong in ("text", None, bytearray(b"\x1b[0m"), memoryview(b"")):
        with pytest.raises(TypeError):
            compiled.cut_codes(wrong)


def test_without_the_module_the_plain_functions_are_taken() -> None:
    code = (
        "import sys; sys.modules['doctor.logs.read._quick'] = None; from doctor.logs.read import figures, quick; "
        "print(*(getattr(each, name[6:]) is getattr(each, name) for each in (figures, quick) for name in vars(each) "
        "if name.startswith('plain_') and name[6:] in each.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 10


#: values as they stand in lines of metrics, and what only looks like one
VALUES = (
    b"0.5", b"-1e-06", b"3", b"nan", b"-inf", b"None", b"", b"-", b"1.5.2", b"2e", b"x", b"1_0", b"+.5", b"1e400", b"0x1",
    b"12/100", b"12/", b"/3", b"1" * 18, b"1" * 19, b"np.float64(0.25)", b"np.float64(x)", b"np.float64(1", b"np.f()",
    b"np.float64", b"0.00", b"0.000000000", b"0.0000000000", b"0.001", b"'0.5'", b"'", b"a b", b"a:b", b"{", b"}", b"0.5)",
    b"\x00", b"\xff",
)  # fmt: skip
KINDS = b"vrso-"


@given(
    st.sampled_from((b"d", b"v")),
    st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(KINDS)), min_size=1, max_size=6),
    st.sampled_from((b"", b"\n", b" \r\n", b" x", b"}")),
    st.integers(0, 3),
)
def test_values_are_taken_alike(
    compiled: ModuleType, style: bytes, told: list[tuple[bytes, int]], rest: bytes, at: int
) -> None:
    words = [b", key%d: " % number if style == b"d" else b" - key%d:" % number for number in range(len(told))]
    words.append(b"}" if style == b"d" else b"")
    kinds = style + bytes(kind for _, kind in told)
    if kinds.count(b"s") + kinds.count(b"o") > 1:
        kinds = kinds.replace(b"s", b"-").replace(b"o", b"v")
    line = b"." * at + b"".join(word + value for word, (value, _) in zip(words, told, strict=False)) + words[-1] + rest
    given_ = line, at, tuple(words), kinds
    assert repr(compiled.values_of(*given_)) == repr(figures.plain_values_of(*given_))


def test_values_of_what_is_no_layout_are_refused(compiled: ModuleType) -> None:
    for wrong in (
        (),
        (b"", 0, (b"",)),
        ("", 0, (b"", b""), b"dv"),
        (b"", None, (b"", b""), b"dv"),
        (b"1", 0, (b"", ""), b"dv"),
    ):
        with pytest.raises(TypeError):
            compiled.values_of(*wrong)
    for wrong in (
        (b"", -1, (b"", b""), b"dv"),
        (b"", 0, (b"",), b"dv"),
        (b"", 1, (b"", b""), b"dv"),
        (b"", 0, (), b""),
    ):
        with pytest.raises(ValueError, match="a kind for each word"):
            compiled.values_of(*wrong)


def test_taking_values_leaks_nothing(compiled: ModuleType) -> None:
    words, kinds = (b"{a: ", b", b: ", b", s: ", b"}"), b"dvvs"
    before = [sys.getrefcount(each) for each in (None, *words)]
    for line in (b"{a: 1, b: 2, s: 3}", b"{a: 1, b: x, s: 3}", b"{a: 1, b: 2, s: 3} no", b""):
        for _ in range(200):
            compiled.values_of(line, 0, words, kinds)
    after = [sys.getrefcount(each) for each in (None, *words)]
    assert all(abs(one - two) < 20 for one, two in zip(before, after, strict=True))


#: figures of every length and power, at and beyond what is read off at once
FIGURES = st.one_of(
    st.from_regex(rb"\A-?[0-9]{0,17}(\.[0-9]{0,17})?([eE][+-]?[0-9]{1,3})?\Z"),
    st.floats().map(lambda each: repr(each).encode()),
    st.floats(allow_nan=False).map(lambda each: b"%.4g" % each),
    st.sampled_from((b"1e22", b"1e23", b"9007199254740993", b"999999999999999e22", b"-0.0", b"-", b".", b"-.5e-07")),
)


@given(FIGURES)
def test_figures_are_the_nearest_doubles(compiled: ModuleType, figure: bytes) -> None:
    line, words, kinds = b"a:" + figure, (b"a:", b""), b"vv"
    try:
        told = array("d", [float(figure)]).tobytes()
    except ValueError:
        told = None
    found = compiled.values_of(line, 0, words, kinds)
    assert found == figures.plain_values_of(line, 0, words, kinds)
    assert told is None if found is None else found == (None, told)


@given(st.integers(1 << 50, 10**19 - 1), st.integers(0, 19), st.sampled_from(("", "-")))
def test_long_figures_are_the_nearest_doubles(compiled: ModuleType, whole: int, decimals: int, sign: str) -> None:
    """Of more digits than a double holds: halfway between two of them, and next to it, the even one is right."""
    for near in (whole, whole & ~1023 | 512, (whole & ~1023 | 512) + 1, (whole & ~2047 | 1024) - 1):
        digits = str(min(near, 10**19 - 1)).rjust(decimals + 1, "0")
        figure = f"{sign}{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}"
        found = compiled.values_of(b"a:" + figure.encode(), 0, (b"a:", b""), b"vv")
        assert found == (None, array("d", [float(figure)]).tobytes()), figure


@given(TEXTS, PLACES)
def test_pieces_are_bounded_alike(compiled: ModuleType, data: bytes, at: int) -> None:
    at = min(at, len(data))
    start, end = compiled.piece_around(data, at)
    assert (start, end) == plain.plain_piece_around(data, at)
    assert not any(each in b"\r\n" for each in data[start:end])


def spread(*parts: bytes) -> st.SearchStrategy[bytes]:
    return st.sampled_from(parts)


#: what bars are made of, at and beyond what is still taken for one
BARS = st.tuples(
    spread(b"", b"Train: ", b"x" * 80, b"x" * 81, b" \t", b"12", b"\n", b"|"), spread(b"", b"   ", b"    "),
    spread(b"5", b"100", b"1000", b"", b"x"), spread(b"%|", b"|", b"% |", b"%"),
    spread(b"", "█#".encode(), b"#" * 400, b"#" * 401, b"\r"), spread(b"|", b"", b"| |"), spread(b" ", b"", b"  "),
    spread(b"3", b"1" * 12, b"1" * 13, b""), spread(b"/", b"//"), spread(b"40", b"1" * 12, b"1" * 13, b""),
    spread(b" [", b"[", b" "), spread(b"", b"00:01<00:02, ", b"x" * 200, b"\n", b"]", b"1.2.3it/s", b"it/s, 3it/s"),
    spread(b"2.5it/s", b"12.00s/it", b"?it/s", b"0it/s", b"..s/it", b"1234567890123.5s/it", b""), spread(b"]", b"", b"] x"),
).map(b"".join)  # fmt: skip


@given(st.one_of(BARS, st.lists(BARS, max_size=3).map(b"\r".join), TEXTS), PLACES, PLACES)
def test_bars_are_read_alike(compiled: ModuleType, data: bytes, start: int, end: int) -> None:
    for bounds in (0, len(data)), (start, end):
        assert repr(compiled.bar_of(data, *bounds)) == repr(figures.plain_bar_of(data, *bounds))


def test_a_bar_is_read(compiled: ModuleType) -> None:
    bar = b"\nTrain:  12%|#  | 3/40 [00:01<00:02,  2.00it/s]\n"
    assert compiled.bar_of(bar, 0, len(bar)) == figures.plain_bar_of(bar, 0, len(bar)) == (b"Train:", 3, 40, 0.5)


#: what stands before and behind the metric line, and before its metrics
AROUND = st.lists(
    st.one_of(
        BARS, spread(b"\n", b"\r", b"\n{'", b"{'a': 1}", b"x" * 400, b"  7%|#  | 3/40 [00:01<00:02,  2.00it/s]"),
    ), max_size=4,
).map(b"".join)  # fmt: skip
HEADS = spread(
    b"", b"[rank1]: ", b"it's ", b"step: ", b"x", b"(T pid=1) ", b"{", b"tps: ", b"| Step: ", b"\t", b"h" * 400 + b" "
)
LAYOUTS = [
    ((b"{'a': ", b", 'b': ", b"}"), b"dvv", ("a", "b"), b"{'", False),
    ((b"{'a': ", b", 's': ", b"}"), b"dvs", ("a",), b"{'", True),
    ((b"step:", b" - a:", b" - b:", b""), b"vsv-", ("a",), b"step:", False),
]


@given(
    AROUND, HEADS, st.sampled_from(LAYOUTS), st.lists(st.sampled_from(VALUES), min_size=3, max_size=3), AROUND,
    st.sampled_from((0, 30, 300)), st.sampled_from((0, 30, 1000)),
)  # fmt: skip
def test_rows_are_read_alike(
    compiled: ModuleType, ahead: bytes, head: bytes, layout: tuple[object, ...], told: list[bytes], rest: bytes,
    before: int, behind: int,
) -> None:  # fmt: skip
    words: tuple[bytes, ...] = layout[0]  # type: ignore[assignment]
    line = head + b"".join(word + value for word, value in zip(words, told, strict=False)) + words[-1]
    data = ahead + b"\n" + line + b"\n" + rest
    start = len(ahead) + 1
    place = 7, data, start, start + len(line), LAYOUTS, before, behind
    assert repr(compiled.row_at(*place)) == repr(figures.plain_row_at(*place))


def test_a_row_is_read_with_its_bars(compiled: ModuleType) -> None:
    bar, row = b"\r 7%|# | 3/40 [2.00it/s]\r", b"log {'a': 1.5, 's': '3'}"
    data = b"x\n" + bar + row + b"\n" + bar.replace(b"3/", b"4/")
    place = 9, data, 2 + len(bar), 2 + len(bar) + len(row), LAYOUTS[:2], 300, 1000
    told = 9, 3, ("a",), array("d", [1.5]).tobytes(), b"log ", (3, 40, 0.5), None, False
    assert compiled.row_at(*place) == figures.plain_row_at(*place) == told
    unplaced = (*place[:4], [((b"{'a': ", b", 's': ", b"}"), b"dvv", ("a", "b"), b"{'", False)], *place[5:])
    assert compiled.row_at(*unplaced) == figures.plain_row_at(*unplaced)
    assert compiled.row_at(*unplaced)[-2:] == ((4, 40, 0.5), False)


@given(st.lists(st.floats(), max_size=40), st.integers(1, 5), st.integers(0, 4))
def test_columns_are_made_alike(compiled: ModuleType, values: list[float], width: int, place: int) -> None:
    doubles, place = array("d", values[: len(values) // width * width]).tobytes(), place % width
    assert repr(compiled.column_of(doubles, place, width)) == repr(figures.plain_column_of(doubles, place, width))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40), st.integers(0, 45), st.integers(1, 9))
def test_buckets_are_filled_alike(compiled: ModuleType, values: list[float], start: int, width: int) -> None:
    places = list(range(5, 5 + len(values)))
    found = compiled.buckets_of(places, values, start, width)
    assert repr(found) == repr(figures.plain_buckets_of(places, values, start, width))
    assert all(each[3] <= each[1] <= each[5] for each in found)


def test_what_is_no_row_column_or_bucket_is_refused(compiled: ModuleType) -> None:
    layout = (b"a", b""), b"vv", (), b"a", False
    for call, wrong in (
        (compiled.row_at, ()), (compiled.row_at, (1, "", 0, 0, [], 0, 0)), (compiled.row_at, (1, b"", 0, 0, (), 0, 0)),
        (compiled.row_at, (1, b"", None, 0, [], 0, 0)), (compiled.row_at, (1, b"a1", 0, 2, [("a", *layout[1:])], 0, 0)),
        (compiled.column_of, (b"", 0)), (compiled.column_of, ("", 0, 1)), (compiled.buckets_of, ([], (), 0, 1)),
        (compiled.buckets_of, ([1], ["x"], 0, 1)),
    ):  # fmt: skip
        with pytest.raises((TypeError, SystemError)):
            call(*wrong)
    for call, wrong in (
        (compiled.row_at, (1, b"", 0, 1, [], 0, 0)), (compiled.row_at, (1, b"aa", 2, 1, [], 0, 0)),
        (compiled.row_at, (1, b"", 0, 0, [], -1, 0)), (compiled.row_at, (1, b"", 0, 0, [((), *layout[1:])], 0, 0)),
        (compiled.column_of, (b"", 1, 1)), (compiled.column_of, (b"", -1, 1)), (compiled.buckets_of, ([], [], 0, 0)),
    ):  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011 - each its own
            call(*wrong)
    with pytest.raises(IndexError):
        compiled.row_at(1, b"", 0, 0, [()], 0, 0)
    with pytest.raises(IndexError):
        compiled.buckets_of([1], [1.0, 2.0], 0, 1)


def test_rows_columns_and_buckets_leak_nothing(compiled: ModuleType) -> None:
    number, place, value = 100_000, 100_001, 0.123
    data = b" 7%|# | 3/40 [2.00it/s]\nhead {'a': 1.5, 'b': 2}\n 7%|# | 3/40 [2.00it/s]"
    start, end = data.index(b"head"), data.index(b"}") + 1
    held = (number, place, value, data, LAYOUTS[0], LAYOUTS[0][2], None, False, True)
    before = [sys.getrefcount(each) for each in held]
    for _ in range(200):
        compiled.row_at(number, data, start, end, LAYOUTS, 300, 1000)
        compiled.row_at(number, data, start, end - 1, LAYOUTS, 300, 1000)
        compiled.column_of(b"\0" * 64, 0, 2)
        compiled.buckets_of([place, place], [value, value], 0, 1)
    after = [sys.getrefcount(each) for each in held]
    assert all(abs(one - two) < 20 for one, two in zip(before, after, strict=True))


@given(st.binary(max_size=30), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 31)), max_size=8))
def test_literals_are_noted_alike(compiled: ModuleType, data: bytes, told: list[tuple[int, int]]) -> None:
    beginnings = (
        (3, (7,), ()),
        (2, (0, 1), (data[4:9], data[4:6] + b"x")),
        (0, (2,), (b"",)),
        (5, (3,), (data[-3:],)),
    )
    noted: list[list[tuple[int, int]]] = [[], []]
    for found, make in zip(noted, (compiled.literal_noter, plain.plain_literal_noter), strict=True):
        note = make(data, found, beginnings)
        for beginning, end in told:
            if end >= beginnings[beginning][0]:
                note(beginning, 0, end, 0, None)
    assert noted[0] == noted[1]


def test_what_is_no_bar_or_literal_is_refused(compiled: ModuleType) -> None:
    for call, wrong in (
        (compiled.bar_of, (b"", 0)), (compiled.bar_of, ("", 0, 0)), (compiled.piece_around, (b"",)),
        (compiled.piece_around, ("", 0)), (compiled.literal_noter, (b"", [])), (compiled.literal_noter, ("", [], ())),
        (compiled.literal_noter(b"", [], ()), (0, 0, 0)), (compiled.literal_noter(b"", [], ((0, (1,), ("",)),)), (0, 0, 0, 0, 0)),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call(*wrong)
    with pytest.raises(IndexError):
        compiled.literal_noter(b"", [], ())(0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="not negative"):
        compiled.piece_around(b"", -1)


def test_bars_and_literals_leak_nothing(compiled: ModuleType) -> None:
    data, bar, numbers = b"x" * 1000 + b"abc", b" 5%|# | 3/40 [2.00it/s]", (100_000, 100_001)
    beginnings = ((2, numbers, (b"abc", b"abd")), (3, numbers[:1], ()))
    held = (data, bar, beginnings, None, *numbers)
    before = [sys.getrefcount(each) for each in held]
    for _ in range(200):
        found: list[tuple[int, int]] = []
        note = compiled.literal_noter(data, found, beginnings)
        note(0, 0, 1002, 0, None)
        note(1, 0, 1003, 0, None)
        assert found == [(100_000, 1001), (100_000, 1002)]
        compiled.bar_of(bar, 0, len(bar))
        compiled.piece_around(data, 3)
    del found, note
    after = [sys.getrefcount(each) for each in held]
    assert all(abs(one - two) < 20 for one, two in zip(before, after, strict=True))
