"""Documents, notebooks and questions about something other than a failure: nobody is accused by their words.

Tried with 2,919 files of 24 public repositories (READMEs, documentation, courses, notebooks with what they printed).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.logs.lines.prose import is_document, is_said_by_program
from doctor.logs.postmortem import Prepared, examine, prepare


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


#: file name, text: what a person writes about a program that does as it should
WRITTEN = {
    "a list in a README": ("README.md", "# Training\n\nTrain the model:\n\n- Samples that are too long are skipped.\n"),
    "what is not supported": ("guide.md", "# Guide\n\nOne exception is that PPO is not supported by this trainer.\n"),
    "a skipped step of a template": ("t.md", "## Checks\n\nFor changes outside of training this step is skipped.\n"),
    "a comment in a configuration": ("x.txt", "model: a\nkernel: false # relu2 is not supported by this kernel\n"),
    "an empty list in code": ("notes.txt", "train the model\nrewards = []\nfor batch in data:\n"),
    "an empty object of JSON": ("notes.txt", '{"model": "a",\n"metadata": {},\n'),
    "what we do": ("mail.txt", "About the training: we do not support sequence packing, and our loss is not used.\n"),
    "who waits for whom": ("debugging.md", "# Hangs\n\nFind out which rank is waiting for whom\n"),
    "a sentence to classify": ("question.txt", "I've been waiting for a new model my whole life."),
    "expected notes": (
        "run.txt",
        "Some weights of the checkpoint at bert were not used when initializing BertModel: ['cls']\n- This IS expected",
    ),
    "a pinned release": ("REQUIRED.txt", "MODE=pinned_tag\nTAG=v0.6.1\nPIP_INSTALL=pip install verl==0.6.1\n"),
    "how to install": ("guide.txt", "To use adapters, run pip install peft before the training\n"),
    "a word alone": ("run.txt", "Loading the model\nSkipping\nSkipping\n"),
    "a bar that cannot be drawn": (
        "run.txt",
        "tqdm/auto.py:21: TqdmWarning: IProgress not found. Please update ipywidgets",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_accuses_nobody(prepared: Prepared, tmp_path: Path, name: str) -> None:
    file, text = WRITTEN[name]
    (tmp_path / file).write_text(text)
    findings = examine([str(tmp_path / file)], prepared=prepared).ranked.findings
    assert all(each.problem.id.startswith("UNK") for each in findings), findings[0].words().headline


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ('text = "I am waiting for a better answer"', []),
        ("model.train()", ["Skipping 3 layers of the model\n", "A tomato is a fruit that does not contain stones\n"]),
    ],
)
def test_code_and_answers_in_a_notebook_accuse_nobody(
    prepared: Prepared, tmp_path: Path, source: str, output: list[str]
) -> None:
    stream = [{"output_type": "stream", "name": "stdout", "text": output}] if output else []
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": [source], "outputs": stream}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    findings = examine([str(path)], prepared=prepared).ranked.findings
    assert all(each.problem.id.startswith("UNK") for each in findings), findings[0].words().headline


def test_what_a_program_says_is_heard_in_a_document_too(prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    path.write_text(
        "# Question\n\nIs this all right?\n\n## Log\n\nWARNING: tokenization mismatch: 12 vs. 14. (ignored)\n"
    )
    first = examine([str(path)], prepared=prepared).ranked.findings[0]
    assert first.problem.id == "LCH8772"


@pytest.mark.parametrize(
    ("path", "text", "document"),
    [
        ("a.md", "", True), ("a.IPYNB", "", True), ("a.log", "# Run\n# Result", True), ("a.log", "# Run\n# 1", False),
        ("a.log", "#SBATCH -N 1\n# GPU blocks: 7", False), ("a.txt", "loss 0.5", False),
    ],
)  # fmt: skip
def test_a_document_is_told_by_name_or_headings(path: str, text: str, *, document: bool) -> None:
    assert is_document(path, list(enumerate(text.split("\n"), 1))) is document


@pytest.mark.parametrize(
    ("text", "plain", "document"),
    [
        ("Skipping sample 3", True, False), ("we skip sample 3", False, False), ("WARNING skipping sample 3", True, True),
        ("[trainer] skipping sample 3", True, True), ("a.py:3: our sample is skipped", True, True),
        ("12:00:01 skipping", True, True), ("(Worker pid=3) skipping", True, True),
    ],
)  # fmt: skip
def test_a_line_of_a_program_looks_so(text: str, *, plain: bool, document: bool) -> None:
    assert is_said_by_program(text, in_document=False) is plain
    assert is_said_by_program(text, in_document=True) is document
