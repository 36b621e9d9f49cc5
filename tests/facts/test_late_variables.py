"""Variables that a script sets when the library has read them already."""

from __future__ import annotations

import pytest

from doctor.readers.script.script import read_script

IMPORTS = "import os\nimport torch\nfrom transformers import AutoModel\nfrom datasets import load_dataset\n"


def told(text: str) -> tuple[dict[str, str], list[str]]:
    """(holes of the idiom, variables that count) of a script."""
    script = read_script("train.py", text.encode())
    met = script.idioms.get("variable_after_import")
    return (dict(met.value) if met is not None else {}), sorted(script.environment_set)


@pytest.mark.parametrize(
    ("line", "name", "package"),
    [
        ('os.environ["HF_ENDPOINT"] = "https://hf-mirror.com"', "HF_ENDPOINT", "transformers"),
        ('os.environ.setdefault("HF_HUB_OFFLINE", "1")', "HF_HUB_OFFLINE", "transformers"),
        ('os.environ.update(HF_HOME="/scratch/hf")', "HF_HOME", "transformers"),
        ('os.environ.update({"HF_DATASETS_CACHE": "/scratch/ds"})', "HF_DATASETS_CACHE", "datasets"),
        ('def main():\n    os.environ["HF_HOME"] = "/scratch"\nmain()', "HF_HOME", "transformers"),
    ],
)
def test_what_a_library_has_read_is_set_too_late(line: str, name: str, package: str) -> None:
    assert told(f"{IMPORTS}{line}\n") == ({"name": name, "package": package}, [])


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f'import os\nos.environ["HF_HOME"] = "/scratch"\n{IMPORTS}', ["HF_HOME"]),
        (f'{IMPORTS}os.environ["TOKENIZERS_PARALLELISM"] = "false"\n', ["TOKENIZERS_PARALLELISM"]),
        (f'{IMPORTS}os.environ["HF_TOKEN"] = token()\n', ["HF_TOKEN"]),  # read at each request
        ('import os\nimport huggingface_hub\nos.environ["HF_HOME"] = "/x"\n', ["HF_HOME"]),  # loads its parts later
        ('import os\nos.environ["HF_HOME"] = "/x"\ndef main():\n    import transformers\n', ["HF_HOME"]),
        (f'{IMPORTS}os.environ["HF_HOME"] = "/x"\nos.execv(sys.executable, sys.argv)\n', ["HF_HOME"]),
    ],
)
def test_what_is_read_later_counts(text: str, counts: list[str]) -> None:
    assert told(text) == ({}, counts)
