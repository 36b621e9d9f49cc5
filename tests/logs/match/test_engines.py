"""The three engines give the same answer on whatever a log may hold."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.logs.match import engine_cache
from doctor.logs.match.literal_engines import AHO_CORASICK, ENGINES, HYPERSCAN, SHAPES, EngineMissing, make_engine
from doctor.logs.match.matcher import LINE_KEPT, Matcher, RawHits, scan_text
from doctor.logs.read.blocks import SIZE
from doctor.logs.read.streams import open_stream
from tests.logs.log_helpers import INSTALLED, OWN, ROWS, by_all_engines, slowly, told

compiled = engine_cache._made
MATCHERS = {engine: Matcher(OWN, engine=engine) for engine in INSTALLED}
SAMPLE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def test_all_three_are_compared() -> None:
    if importlib.util.find_spec("hyperscan") is None:
        pytest.skip("hyperscan is not installed: it has no wheel for this platform")
    assert set(INSTALLED) == set(ENGINES) == {HYPERSCAN, AHO_CORASICK, SHAPES}


def _agreed(data: bytes, portion: int = SIZE) -> RawHits:
    """Every hit as every engine gives it: place, text and groups."""
    results = [
        scan_text(matcher, (data[at : at + portion] for at in range(0, len(data), portion)))
        for matcher in MATCHERS.values()
    ]
    for each in results[1:]:
        assert list(each) == list(results[0])
        assert {number: kept.count for number, kept in each.hits.items()} == {
            number: kept.count for number, kept in results[0].hits.items()
        }
        assert (each.lines, each.total_bytes, each.index) == (
            results[0].lines,
            results[0].total_bytes,
            results[0].index,
        )
    return results[0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "filler", ["x" * 99 + "\n", " 42%|####      | 42/100 [00:12<00:20,  3.1it/s]\r", "words of a model "]
)
def test_a_literal_across_the_border_of_blocks_is_found_once(end, filler) -> None:
    for shift in (-len(SAMPLE) - 1, -len(SAMPLE), -40, -12, -1, 0, 1):
        head = (filler * (SIZE // len(filler) + 1))[: SIZE + shift - 1]
        # a line of 64 KiB is searched in windows, which the slow way does not know: end it before
        head = head if "\n" in filler or "\r" in filler else head[:-1] + "\n"
        data = f"{head}\n{SAMPLE}{end}{filler * 20}{end}[rank1]: {SAMPLE}".encode()
        assert told(_agreed(data)) == slowly(data)


broken = st.lists(
    st.one_of(
        st.sampled_from([b"\0", b"\0\0\0\0", b"\xff", b"\x80\xbf", b"\xe6\x98", b"\x1b[31m", b"\x1b[0m", b"\x1b", b"\x1b]0;title\x07",
                         b"\x1b]8;;http://x\x1b\\", b"\r", b"\n", b"\r\n", b"\x07", b"\x0b", b"\x0c", b"\xc2\x85", b"\xe2\x80\xa8"]),
        st.binary(min_size=1, max_size=4),
    ),
    max_size=4,
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(ROWS), broken, st.lists(st.integers(0, 80), min_size=4, max_size=4)), max_size=8),
       st.sampled_from([1, 7, 64, 1000, SIZE]))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_broken_bytes_inside_messages(lines, portion) -> None:
    out = []
    for row, pieces, places in lines:
        text = row.sample.encode()
        for piece, place in zip(pieces, places, strict=False):
            text = text[:place] + piece + text[place:]
        out.append(text)
    _agreed(b"\n".join(out), portion)


def test_colours_inside_a_literal_do_not_hide_it() -> None:
    data = b"torch.OutOfMemory\x1b[1;31mError: CUDA out of\x1b[0m memory. Tried to \x1b[4mallocate\x1b[24m 2.00 GiB.\n"
    (hit,) = _agreed(data)
    assert hit.raw == SAMPLE


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-16-le", b""), ("utf-8", b"\xef\xbb\xbf"), ("gbk", b"")],
)  # fmt: skip
@pytest.mark.parametrize("engine", INSTALLED)
def test_other_encodings_give_the_hits_of_utf_8(tmp_path, engine, encoding, mark) -> None:
    text = "".join(
        f"第 {number} 步:训练正常进行,损失 0.5\n{f'[rank3]: {SAMPLE}' if number % 500 == 7 else 'step'}\r\n"
        for number in range(2000)
    )
    plain, other = tmp_path / "plain.log", tmp_path / "other.log"
    plain.write_bytes(text.encode())
    other.write_bytes(mark + text.encode(encoding))
    hits = [MATCHERS[engine].scan(open_stream(each)) for each in (plain, other)]
    assert len(list(hits[0])) == 4
    assert list(hits[0]) == list(hits[1])
    assert hits[1].encoding == encoding


@pytest.mark.parametrize("at", [0, 100, 1 << 16, 3_000_000])
def test_lines_of_megabytes(at) -> None:
    """The match is found wherever it stands, once, and only what surrounds it is kept."""
    line = b"y" * at + b" " + SAMPLE.encode() + b" " + b"z" * (4_000_000 - at)
    hits = _agreed(b"first\n" + line + b"\nlast: " + SAMPLE.encode() + b"\n")
    assert [(hit.line, hit.groups) for hit in hits] == [(2, {"size": "2.00 GiB"}), (3, {"size": "2.00 GiB"})]
    assert all(len(hit.raw) <= LINE_KEPT and "out of memory" in hit.text for hit in hits)


def test_a_log_of_zeros() -> None:
    assert list(_agreed(b"\0" * 300_000 + b"\n" + SAMPLE.encode() + b"\n" + b"\0" * 100_000)) != []


def test_the_corpus_of_the_repository(pytestconfig) -> None:
    logs = [
        each
        for each in (pytestconfig.rootpath / "tests" / "postmortem").rglob("*.txt")
        if each.stat().st_size < 1 << 20
    ]
    logs += [each for each in (pytestconfig.rootpath / "tests" / "healthy").rglob("*") if each.is_file()]
    assert len(logs) > 10
    for each in logs:
        _agreed(each.read_bytes())


def test_an_engine_that_is_not_installed_is_named(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    with pytest.raises(EngineMissing, match="hyperscan"):
        make_engine([b"literal"], HYPERSCAN)
    monkeypatch.setitem(__import__("sys").modules, "ahocorasick_rs", None)
    assert make_engine([b"literal"]).name == SHAPES


def test_the_helper_of_the_other_tests_compares_all() -> None:
    assert told(by_all_engines(f"{SAMPLE}\n".encode())) == slowly(f"{SAMPLE}\n".encode())


def test_a_database_that_was_kept_is_taken_when_it_is_sound_and_our_own(tmp_path, monkeypatch) -> None:
    hyperscan = pytest.importorskip("hyperscan")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    literals = [b"literal number %d of many" % each for each in range(300)]
    data = b"nothing\nliteral number 217 of many\n"
    said = make_engine(literals, HYPERSCAN).find(data)
    (kept,) = tmp_path.rglob("*.hsdb")
    assert (kept.parent.stat().st_mode & 0o777, len(said)) == (0o700, 1)
    made = []
    monkeypatch.setattr(engine_cache, "_made", lambda each: made.append(1) or compiled(each))
    assert make_engine(literals, HYPERSCAN).find(data) == said
    assert not made
    sound = kept.read_bytes()
    other = hyperscan.dumpb(compiled([b"another literal"]))
    changed = (sound[:500] + b"xyz!" + sound[504:], sound[:5000] + b"xyz!" + sound[5004:])
    for broken in (b"", sound[:-7], *changed, b"\0" * len(sound)):
        kept.write_bytes(broken)
        assert make_engine(literals, HYPERSCAN).find(data) == said
        assert kept.read_bytes() == sound
    assert len(made) == 5
    for foreign in (kept, kept.parent):  # a file that others may write could find anything
        kept.write_bytes(other)
        foreign.chmod(foreign.stat().st_mode | 0o022)
        assert make_engine(literals, HYPERSCAN).find(data) == said
        foreign.chmod(0o700)
    assert make_engine([*literals, b"one more literal"], HYPERSCAN).find(data) == said
    assert len(list(tmp_path.rglob("*.hsdb"))) == 2


def test_a_home_that_cannot_be_written_costs_only_the_cache(tmp_path, monkeypatch) -> None:
    pytest.importorskip("hyperscan")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    literals = [b"literal number %d of many" % each for each in range(300)]
    assert len(make_engine(literals, HYPERSCAN).find(b"literal number 5 of many")) == 1
