"""Archives of log folders are read as folders, within limits, and refused in words that say what to do."""

from __future__ import annotations

import gc
import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.cli.postmortem import command
from doctor.logs.gathered import LogNotReadable
from doctor.logs.postmortem import examine
from doctor.logs.read import tars, unpacked, zips
from doctor.logs.read.archives import ArchiveRefused, Opened, is_archive
from doctor.logs.read.layouts import NoLogs
from tests.prepared import prepared_once

PREPARED = prepared_once()
FAILURE = b"""Traceback (most recent call last):
  File "/home/me/train.py", line 3, in <module>
    main()
RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error.
"""
#: as in https://docs.github.com/en/actions/how-tos/monitor-workflows/use-workflow-run-logs: a file a job, one a step
STEP = b"".join(b"\xef\xbb\xbf" * (not number) + b"2026-03-04T05:06:07.1234567Z " + line + b"\n"
                for number, line in enumerate(FAILURE.splitlines()))  # fmt: skip
MEMBERS = {
    "run-7/job_123.out": b"loading\n" + FAILURE,
    "run-7/server.log": b"serving\n",
    "run-7/model.safetensors": b"\0" * 99,
}


def packed(path: Path, members: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path
    kind = path.suffix.removeprefix(".").replace("tgz", "gz").replace("txz", "xz")
    with tarfile.open(path, f"w:{kind.replace('tar', '')}") as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "a.tar.bz2", "A.ZIP"])
def test_an_archive_is_read_as_a_folder(name: str, tmp_path: Path) -> None:
    path = packed(tmp_path / name.lower(), MEMBERS).rename(tmp_path / name)
    found = examine([str(path)], prepared=PREPARED)
    first = found.ranked.findings[0]
    assert first.problem.id == "HST001"
    folder = Path(found.opened.paths[0]) if found.opened else Path()
    assert sorted(each.name for each in folder.rglob("*") if each.is_file()) == ["job_123.out", "server.log"]
    del found
    gc.collect()
    assert not folder.exists()


def test_the_report_names_the_archive(tmp_path: Path) -> None:
    path = packed(tmp_path / "logs.zip", {"0_train.txt": STEP, "train/4_Run it.txt": STEP})
    ran = CliRunner().invoke(command, [str(path), "--format", "json"])
    report = json.loads(ran.stdout)
    assert [each["id"] for each in report["findings"]] == ["HST001"]
    assert report["findings"][0]["where"]["file"] == str(path / "0_train.txt")
    assert "doctor-logs-" not in ran.stdout
    assert sorted(report["target"]["files"]) == [str(path / "0_train.txt"), str(path / "train/4_Run it.txt")]


def test_no_name_leaves_the_folder(tmp_path: Path) -> None:
    names = [
        "../../up.log",
        "/etc/root.log",
        "a/../../b.log",
        "c:\\d\\e.log",
        "x" * 400 + "/f.log",
        "g\n\x1b[31m.log",
        "..",
    ]
    members = dict.fromkeys(names, FAILURE)
    opened = Opened([str(packed(tmp_path / "a.tar", members)), str(packed(tmp_path / "b.zip", members))])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar", "b.zip"]
    for folder, _ in opened.names:
        files = [each for each in Path(folder).rglob("*") if each.is_file()]
        assert len(files) == 6
        assert all(each.resolve().is_relative_to(folder) for each in files)


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        for number, kind in enumerate(
            (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE)
        ):
            info = tarfile.TarInfo(f"{number}.log")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        info = tarfile.TarInfo("real.log")
        info.size = len(FAILURE)
        tar.addfile(info, io.BytesIO(FAILURE))
        tar.addfile(info, io.BytesIO(FAILURE))  # the same name twice
    opened = Opened([str(path)])
    assert sorted(each.name for each in Path(opened.paths[0]).iterdir()) == ["2~real.log", "real.log"]


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.tar.gz", "bomb.tar.xz"])
def test_a_bomb_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "RATIO_FROM_BYTES", 1 << 20)
    monkeypatch.setattr(tars, "RATIO_FROM_BYTES", 1 << 20)
    path = packed(tmp_path / name, {"a.log": b"\0" * (8 << 20), "b.log": FAILURE})
    try:
        opened = Opened([str(path)])
    except ArchiveRefused as error:
        assert "unpack it (" in str(error)  # noqa: PT017 - the other way is the one below
    else:
        assert "250 times its size" in " ".join(opened.notes)
        assert sum(each.stat().st_size for each in Path(opened.paths[0]).rglob("*")) < 4 << 20


def test_what_takes_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "a.zip", MEMBERS)
    with monkeypatch.context() as patched:
        patched.setattr(unpacked, "MOST_BYTES", 50)
        with pytest.raises(ArchiveRefused, match=r"more than the .* that there is room for; unpack it \(`unzip"):
            Opened([str(path)])
    with monkeypatch.context() as patched:
        patched.setattr(unpacked, "_MOST_MEMBERS", 2)
        with pytest.raises(ArchiveRefused, match="more than 2 members"):
            Opened([str(path)])
    monkeypatch.setattr(zips, "_MOST_DIRECTORY_BYTES", 10)
    with pytest.raises(ArchiveRefused, match="more members than are read"):
        Opened([str(path)])


def test_a_password_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.zip", {"a.log": FAILURE})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark) + at
        data[place : place + 2] = struct.pack("<H", struct.unpack("<H", data[place : place + 2])[0] | 1)
    path.write_bytes(data)
    with pytest.raises(LogNotReadable, match=r"protected by a password; unpack it"):
        examine([str(path)], prepared=PREPARED)


def test_a_zip_of_a_later_version_is_refused_in_words(tmp_path: Path) -> None:
    path = packed(tmp_path / "later.zip", {"a.log": FAILURE})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x03\x04") + 4] = content[content.index(b"PK\x01\x02") + 6] = 180  # needs version 18.0
    path.write_bytes(content)
    with pytest.raises(LogNotReadable, match=r"cannot be unpacked .*18\.0.*; unpack it"):
        examine([str(path)], prepared=PREPARED)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar"])
def test_what_is_cut_off_is_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    path = packed(tmp_path / name, {"a.log": FAILURE, "b.log": bytes(range(256)) * 400})
    path.write_bytes(path.read_bytes()[: -len(path.read_bytes()) // 3])
    if name.endswith("zip"):  # its table of contents stands at the end
        with pytest.raises(LogNotReadable, match=r"cannot be unpacked .*; unpack it"):
            examine([str(path)], prepared=PREPARED)
        return
    found = examine([str(path)], prepared=PREPARED)
    assert found.ranked.findings[0].problem.id == "HST001"
    assert any(
        "cut off" in each.reason or "ends in the middle" in each.reason for each in found.diagnosis.outcome.skipped
    )


def test_what_holds_no_log_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "weights.zip", {"model.safetensors": b"\0", "data.bin": b"\0"})
    with pytest.raises(LogNotReadable, match="holds no file that could be a log"):
        examine([str(path)], prepared=PREPARED)
    with pytest.raises(NoLogs, match=r"archives are opened where they are named themselves: `.*weights\.zip`"):
        examine([str(tmp_path)], prepared=PREPARED)


def test_what_is_only_called_so_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log.zip"
    path.write_bytes(FAILURE)
    assert not is_archive(str(path))
    assert examine([str(path)], prepared=PREPARED).ranked.findings[0].problem.id == "HST001"


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_bytes_break_it(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("a")
    path = packed(folder / data.draw(st.sampled_from(["a.zip", "a.tar", "a.tar.gz", "a.tar.xz", "a.tar.bz2"])), MEMBERS)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(1, len(raw)))])
    try:
        opened = Opened([str(path)])
    except ArchiveRefused as error:
        assert str(path) in str(error)  # noqa: PT017 - either is right
    else:
        assert opened.paths
