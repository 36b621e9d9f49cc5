"""Collects the fact `dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doctor.base.fact import NO_COMMAND, Context, DoesNotApply, Unavailable, fact
from doctor.facts.dataset import Dataset
from doctor.facts.launch import Launch
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig
from doctor.readers.command import swift

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
_FILES = 16


@fact(about="command")
def collect(
    context: Context,
    launch: Launch | None,
    training: Training | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Dataset:
    """Look into the training data, at most 64 MB and 1.5 s of it.

    Raises:
        Unavailable: the command names no dataset, or it is no local file.

    """
    named, column, processed = _named(training, verl_config, trinity_config)
    if named is None and launch is not None and swift.is_swift(launch):
        named = _of_swift(launch)
    if launch is not None and not launch.trains:
        raise DoesNotApply("the command starts no training")
    if named is None:
        raise Unavailable(NO_COMMAND if not context.argv else "the command names no dataset that can be determined")
    files = _files(named, Path(launch.folder) if launch is not None and launch.folder else context.cwd)
    if not files:
        raise Unavailable(f"dataset `{_shown(named)}` is not a local file")
    from doctor.readers.files import dataset_files

    return dataset_files.read(files, column, processed=processed)


def _named(
    training: Training | None, verl_config: VerlConfig | None, trinity_config: TrinityConfig | None
) -> tuple[Any, str, bool]:
    """What the command calls its training data, the prompt's column, and whether the rows are changed on the way."""
    if training is not None and training.dataset is not None and training.dataset.known:
        return training.dataset.value, "prompt", training.dataset_processed
    if verl_config is not None and (setting := verl_config.get("data.train_files")) is not None:
        key = verl_config.get("data.prompt_key")
        column = key.value if key is not None and isinstance(key.value, str) else "prompt"
        return setting.value, column, False
    if trinity_config is not None:
        path = trinity_config.settings.get("buffer.explorer_input.taskset.path")
        key = trinity_config.settings.get("buffer.explorer_input.taskset.format.prompt_key")
        column = key.value if key is not None and isinstance(key.value, str) else "prompt"
        return (path.value if path is not None and path.known else None), column, False
    return None, "prompt", True


def _of_swift(launch: Launch) -> list[str] | None:
    """The words of `--dataset`, without the number of rows that may stand behind each: `rows.jsonl#1000`.

    https://swift.readthedocs.io/en/latest/Instruction/Command-line-parameters.html
    """
    setting = swift.settings_of(launch).get("dataset")
    if setting is None or not setting.known:
        return None
    words = setting.value if isinstance(setting.value, (list, tuple)) else [setting.value]
    return [str(each).partition("#")[0] for each in words]


def _shown(named: Any) -> str:
    from doctor.base.redact import redact_text

    if isinstance(named, (list, tuple)) and named:
        named = named[0]
    if isinstance(named, dict):
        named = next(iter(named.values()), "")
    return redact_text(str(named))


def _files(named: Any, cwd: Path) -> list[Path]:
    """Local files of a dataset: a path, a list, a pattern, a folder, or `{"train": ...}`; at most 16."""
    if isinstance(named, dict):
        named = named.get("train", next(iter(named.values()), None))
    if isinstance(named, (list, tuple)):
        return [path for each in named[:_FILES] for path in _files(each, cwd)][:_FILES]
    if not isinstance(named, str) or not named or "://" in named or "\0" in named:
        return []
    if named.startswith("~/"):
        return []  # nobody expands it: the libraries look for a folder of that name
    path = cwd / named
    try:
        if path.is_dir():
            return _in_folder(path)
        if path.is_file():
            return [path] if _is_data(path) else []
        return sorted(each for each in _globbed(cwd, named) if _is_data(each))[:_FILES]
    except (OSError, ValueError, NotImplementedError):
        return []


def _globbed(cwd: Path, pattern: str) -> list[Path]:
    if not any(each in pattern for each in "*?["):
        return []
    path = Path(pattern)
    base = Path(path.anchor) if path.is_absolute() else cwd
    relative = pattern[len(path.anchor) :] if path.is_absolute() else pattern
    found: list[Path] = []
    for each in base.glob(relative):
        found.append(each)
        if len(found) > _FILES:
            break
    return found


def _in_folder(folder: Path) -> list[Path]:
    """Data files of a folder; those named `train` when there are such, as `load_dataset` takes them."""
    found = sorted(each for each in folder.iterdir() if each.is_file() and _is_data(each))[:256]
    found = found or sorted(each for each in (folder / "data").glob("*") if each.is_file() and _is_data(each))[:256]
    train = [each for each in found if "train" in each.name.lower()]
    return (train or found)[:_FILES]


def _is_data(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(_SUFFIXES) and not name.endswith(("dataset_infos.json", "state.json", "dataset_info.json"))
