"""Variables of a dotenv file: one line changes or goes, whatever its line ends and comments are."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.plan import EditFile, SetEnv
from doctor.facts.environment import Environment
from doctor.mend.variables import changed

NAME = "NCCL_DEBUG"


def after(folder: Path, text: str, value: str | None) -> str | None:
    """The file once the variable, which is INFO, has been changed or taken out; None where nothing is to be done."""
    path = folder / ".env"
    path.write_bytes(text.encode())
    steps = changed([], None, Environment(variables={NAME: "INFO"}), NAME, value)
    if not steps:
        return None
    (step,) = steps
    assert isinstance(step, SetEnv if value else EditFile)
    return step.content(path.read_bytes()).decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("front", ["", "export ", "  "])
@pytest.mark.parametrize("written", ["INFO", "'INFO'", '"INFO"'])
@pytest.mark.parametrize("behind", ["", "  # loud", " #c"])
@pytest.mark.parametrize("last", [False, True])
def test_one_line_goes_or_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, front: str, written: str, behind: str, *, last: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    before, line = f"# größe{end}A=1 # x{end}", f"{front}{NAME}={written}{behind}"
    rest = "" if last else f"{end}B='INFO'{end}"
    assert after(tmp_path, before + line + rest, None) == before + rest.removeprefix(end)
    assert after(tmp_path, before + line + rest, "WARN") == f"{before}{front}{NAME}=WARN{behind}{rest}"


@pytest.mark.parametrize(
    "text", ["NCCL_DEBUG=WARN\n", "NCCL_DEBUG=INFO\nNCCL_DEBUG=TRACE\n", "X_NCCL_DEBUG=INFO\n", ""]
)
def test_what_is_not_in_force_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert after(tmp_path, text, "WARN") is None
    assert after(tmp_path, text, None) is None
