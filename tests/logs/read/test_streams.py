from __future__ import annotations

import gzip
import io
import lzma
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.logs.read.encodings import transcode
from doctor.logs.read.inflate import Limits, inflate, kind_of
from doctor.logs.read.spool import Around, Spool
from doctor.logs.read.streams import StreamError, open_stream

TEXT = "".join(f"line {number}: 损失 loss={number / 7:.6f}\n" for number in range(20_000)).encode()


def _zst(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor().compress(data)


PACKERS = {"gz": gzip.compress, "xz": lzma.compress, "zst": _zst}


def _read(path, **options) -> tuple[bytes, object]:
    with open_stream(path, **options) as stream:
        return b"".join(stream), stream


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_logs_are_told_by_their_content(tmp_path, kind) -> None:
    path = tmp_path / "no-suffix"
    path.write_bytes(PACKERS[kind](TEXT))
    data, stream = _read(path)
    assert (data, stream.compression, stream.cut_off, stream.path) == (TEXT, kind, "", None)


@pytest.mark.parametrize("kind", PACKERS)
def test_several_members_are_one_log(tmp_path, kind) -> None:
    path = tmp_path / "log"
    path.write_bytes(PACKERS[kind](TEXT) + PACKERS[kind](b"the end\n"))
    assert _read(path)[0] == TEXT + b"the end\n"


@pytest.mark.parametrize("kind", ["gz", "xz"])
def test_a_torn_end_costs_only_what_is_missing(tmp_path, kind) -> None:
    packed = PACKERS[kind](TEXT)
    path = tmp_path / "torn.log.gz"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    data, stream = _read(path)
    assert TEXT.startswith(data)
    assert len(data) > len(TEXT) // 3 or kind == "xz"
    assert "ends in the middle" in stream.cut_off


def test_damage_is_told(tmp_path) -> None:
    packed = bytearray(gzip.compress(os.urandom(300_000).hex().encode()))
    packed[100_000:100_040] = b"\xff" * 40
    path = tmp_path / "damaged.gz"
    path.write_bytes(bytes(packed))
    data, stream = _read(path)
    assert "damaged" in stream.cut_off or "middle" in stream.cut_off
    assert data


def test_a_bomb_is_cut_off() -> None:
    packed = gzip.compress(b"\0" * 20_000_000)
    notes: list[str] = []
    limits = Limits(ratio=100, counts_from=1 << 20)
    size = sum(len(each) for each in inflate("gz", io.BytesIO(packed), limits, notes.append))
    assert size < 3_000_000
    assert "more than 100 times its size" in notes[0]


def test_an_ordinary_log_is_no_bomb(tmp_path) -> None:
    path = tmp_path / "same.gz"
    path.write_bytes(gzip.compress(b"the same warning once more\n" * 400_000))
    data, stream = _read(path)
    assert len(data) == 27 * 400_000
    assert stream.cut_off == ""


def test_an_xz_file_cannot_demand_memory(tmp_path) -> None:
    packed = bytearray(lzma.compress(TEXT, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    path = tmp_path / "greedy.xz"
    path.write_bytes(_with_dictionary(packed))
    data, stream = _read(path)
    assert data == b""
    assert "damaged" in stream.cut_off


def _with_dictionary(packed: bytearray) -> bytearray:
    """Write 2 GiB into the block header of an .xz file (12 bytes in: size, flags, filter, property size, property)."""
    import zlib

    size = (packed[12] + 1) * 4
    header = packed[12 : 12 + size - 4]
    assert header[2] == 0x21  # LZMA2
    header[4] = 38  # (2 | 0) << (38 // 2 + 11): 2 GiB, see section 5.3.1 of the .xz format
    return packed[:12] + header + zlib.crc32(header).to_bytes(4, "little") + packed[12 + size :]


@pytest.mark.parametrize(
    ("encoding", "mark", "told"),
    [
        ("utf-16-le", b"\xff\xfe", "utf-16-le"), ("utf-16-be", b"\xfe\xff", "utf-16-be"), ("utf-16-le", b"", "utf-16-le"),
        ("utf-16-be", b"", "utf-16-be"), ("gbk", b"", "gbk"), ("utf-8", b"\xef\xbb\xbf", "utf-8"), ("utf-8", b"", "utf-8"),
    ],
)  # fmt: skip
def test_encodings_are_recognised(tmp_path, encoding, mark, told) -> None:
    text = "2025-11-20 训练开始，请稍候。loss=0.5\nValueError: 显存不足：请减小批量大小\n" * 3000
    text = ("step 12: all is well, nothing to see here\n" * 20 + text) if encoding.startswith("utf-16") else text
    path = tmp_path / "log"
    path.write_bytes(mark + text.encode(encoding))
    data, stream = _read(path)
    assert data.decode() == text
    assert stream.encoding == told
    assert stream.path == (path if told == "utf-8" and not mark else None)


def test_gbk_that_begins_late_is_recognised() -> None:
    chunks = [
        b"plain ascii\n" * 100,
        "请减小批量大小，显存不足\n".encode("gbk"),
        "训练".encode("gbk")[:3],
        "训练".encode("gbk")[3:],
    ]
    told: list[str] = []
    text = b"".join(transcode(chunks, told.append)).decode()
    assert text == "plain ascii\n" * 100 + "请减小批量大小，显存不足\n训练"
    assert told == ["gbk"]


def test_utf8_with_broken_bytes_stays_as_it_is() -> None:
    data = ("损失 loss 训练开始\n" * 50).encode() + b"\xff\xfe broken \x80\n" + ("请减小批量大小\n" * 50).encode()
    told: list[str] = []
    assert b"".join(transcode([data], told.append)) == data
    assert told == []


def test_bars_and_latin_text_are_not_chinese() -> None:
    for data in (
        " 12%|█▌        | 3/25 [00:01<00:09, 2.2it/s]\r".encode() * 40,
        ("Größe über Maß, naïve café " * 30).encode("latin-1"),
    ):
        told: list[str] = []
        assert b"".join(transcode([data], told.append)) == data
        assert told == []


@given(st.binary(max_size=2000), st.integers(1, 50))
def test_any_bytes_pass_without_an_error(data, portion) -> None:
    b"".join(transcode([data[at : at + portion] for at in range(0, len(data), portion)], lambda _: None))
    list(inflate(kind_of(data) or "gz", io.BytesIO(data), Limits(), lambda _: None))


def test_only_logs_are_read(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, word in ((tmp_path, "folder"), ("/dev/zero", "device"), (tmp_path / "none", "does not exist")):
        with pytest.raises(StreamError, match=word):
            open_stream(path)
    with pytest.raises(StreamError, match="named pipe"):
        open_stream(pipe, explicit=False)


def test_a_named_pipe_that_was_asked_for_is_read(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    writer.start()
    data, stream = _read(pipe)
    writer.join()
    assert (data, stream.path) == (TEXT, None)


@pytest.mark.process
@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read(packed) -> None:
    code = "import sys\nfrom doctor.logs.read.streams import open_stream\nsys.stdout.buffer.write(b''.join(open_stream('-')))\n"
    done = subprocess.run(
        [sys.executable, "-c", code], input=gzip.compress(TEXT) if packed else TEXT, capture_output=True, check=True
    )
    assert done.stdout == TEXT


def test_what_is_written_after_opening_is_not_read(tmp_path) -> None:
    path = tmp_path / "log"
    path.write_bytes(TEXT)
    with open_stream(path) as stream:
        with path.open("ab") as file:
            file.write(b"later\n")
        assert b"".join(stream) == TEXT


def test_files_without_a_size_are_read() -> None:
    assert b"VmRSS" in _read("/proc/self/status")[0]


@pytest.mark.process
def test_a_missing_unpacker_is_told_in_words(tmp_path) -> None:
    path = tmp_path / "log.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    code = (
        "import sys\nsys.modules['zstandard'] = sys.modules['compression'] = None\n"
        "from doctor.logs.read.streams import open_stream, StreamError\n"
        f"try:\n    list(open_stream({str(path)!r}))\nexcept StreamError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PATH": ""}, capture_output=True, text=True, check=True
    )
    assert "zstandard" in done.stdout


@pytest.mark.process
@pytest.mark.skipif(
    not any(os.access(f"{each}/zstd", os.X_OK) for each in os.get_exec_path()), reason="no zstd program"
)
def test_the_zstd_program_unpacks_too(tmp_path) -> None:
    path = tmp_path / "log.zst"
    subprocess.run(["zstd", "-q", "-o", path, "-"], input=TEXT, check=True)
    code = (
        "import sys\nsys.modules['zstandard'] = sys.modules['compression'] = None\n"
        "from doctor.logs.read.streams import open_stream\n"
        f"stream = open_stream({str(path)!r})\nsys.stdout.buffer.write(b''.join(stream))\nassert not stream.cut_off\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == TEXT


def test_lines_around_a_place_in_a_file(tmp_path) -> None:
    path = tmp_path / "log"
    path.write_bytes(TEXT)
    with open_stream(path) as stream:
        around = stream.around
    at = TEXT.index(b"line 7000:")
    lines = around.lines(at, before=2, after=1)
    assert [line.split(b":")[0] for _, line in lines] == [b"line 6998", b"line 6999", b"line 7000", b"line 7001"]
    assert all(TEXT[offset:].startswith(line) for offset, line in lines)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=30), st.integers(0, 300), st.integers(1, 200))
def test_a_spool_keeps_the_beginning_and_the_end(parts, offset, size) -> None:
    data = b"".join(parts)
    spool = Spool(head_bytes=50, ring_bytes=100)
    for part in parts:
        spool.write(part)
    wanted = data[offset : offset + size]
    kept = spool.read(offset, size)
    spool.close()
    gap = range(50, max(50, len(data) - 100))
    whole = not any(at in gap for at in range(offset, min(offset + size, len(data))))
    assert wanted.startswith(kept)
    assert kept == wanted or not whole


def test_lines_around_a_place_in_a_packed_log(tmp_path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TEXT))
    spool = Spool(tmp_path)
    with open_stream(path, spool=spool) as stream:
        assert b"".join(stream) == TEXT
    lines = stream.around.lines(TEXT.index(b"line 19999:"), before=1)
    spool.close()
    assert [line.split(b":")[0] for _, line in lines] == [b"line 19998", b"line 19999"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_is_not_kept_any_more_gives_nothing() -> None:
    spool = Spool(head_bytes=1000, ring_bytes=1000)
    spool.write(TEXT)
    assert Around(spool).lines(len(TEXT) // 2) == []
    assert Around(spool).lines(10)[0] == (0, TEXT.splitlines()[0])
    spool.close()
