"""Versions that a project's files pin, where the environment that is meant is not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.readers.files.pinned import pins_of


def pinned(folder: Path, **files: str) -> dict[str, str]:
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_x_", "-")).write_text(text)
    return {name: pin.version for name, pin in pins_of(folder).items()}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "requirements__txt",
            "trl==0.19.1 # why\npeft>=0.1\nvllm[audio]==0.9.0\nray==2.*\n# torch==1\n",
            {"trl": "0.19.1", "vllm": "0.9.0"},
        ),
        ("uv__lock", '[[package]]\nname = "trl"\nversion = "0.19.1"\n', {"trl": "0.19.1"}),
        (
            "uv__lock",
            '[[package]]\nname = "torch"\nversion = "2.6.0"\n[[package]]\nname = "torch"\nversion = "2.7.0"\n',
            {},
        ),
        ("pyproject__toml", '[project]\ndependencies = [\n "trl[vllm]==0.19.1",\n "torch>=2",\n]\n', {"trl": "0.19.1"}),
        ("pyproject__toml", '[tool.poetry.dependencies]\ntrl = "0.19.1"\npeft = "^0.15"\n', {"trl": "0.19.1"}),
        (
            "environment__yml",
            "dependencies:\n  - pytorch=2.6.0\n  - pip:\n    - trl==0.19.1\n",
            {"torch": "2.6.0", "trl": "0.19.1"},
        ),
        (
            "Dockerfile",
            "FROM x\nRUN pip install \\\n    trl==0.19.1 \\\n    vllm==0.9.0\nRUN echo a==1\n",
            {"trl": "0.19.1", "vllm": "0.9.0"},
        ),
    ],
)
def test_a_file_pins(tmp_path: Path, name: str, text: str, wanted: dict[str, str]) -> None:
    assert pinned(tmp_path, **{name: text}) == wanted


def test_a_lock_file_counts_before_requirements_and_files_are_followed(tmp_path: Path) -> None:
    lock = '[[package]]\nname = "trl"\nversion = "0.19.1"\n'
    found = pinned(tmp_path, uv__lock=lock, requirements__txt="trl==0.18.0\n-r more.txt\n", more__txt="peft==0.15.0\n")
    assert found == {"trl": "0.19.1", "peft": "0.15.0"}


def test_files_of_the_folder_above_a_script_count_where_its_own_has_none(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.19.1\n")
    (tmp_path / "src").mkdir()
    found = pins_of(tmp_path / "src", str(tmp_path / "src" / "train.py"))
    assert found["trl"].version == "0.19.1"
    assert found["trl"].place.line == 1
