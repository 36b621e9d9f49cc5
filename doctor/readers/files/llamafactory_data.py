"""Collects the fact `llamafactory_data`.

How names become files, and what an entry means:
https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.3/src/llamafactory/data/parser.py
https://github.com/hiyouga/LLaMA-Factory/blob/v0.9.3/src/llamafactory/data/loader.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from doctor.base.evidence import Place
from doctor.base.fact import Context, DoesNotApply, Unavailable, fact
from doctor.facts.framework_config import FrameworkConfig
from doctor.facts.launch import Launch
from doctor.facts.llamafactory_data import COLUMNS, MESSAGES, TAGS, Declared, LlamafactoryData

_INFO = "dataset_info.json"
_ELSEWHERE = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
_MOST, _MOST_ROWS = 16, 20


@fact(about="command")
def collect(context: Context, launch: Launch, framework_config: FrameworkConfig) -> LlamafactoryData:
    """Read `dataset_info.json` and the first rows of each local file that the command leads to.

    Raises:
        DoesNotApply: the command is none of LLaMA-Factory's, or names no dataset.
        Unavailable: the datasets are declared where this machine does not see it.

    """
    if framework_config.framework != "llamafactory":
        raise DoesNotApply("the command starts no framework of this kind")
    names = list(dict.fromkeys(_names(framework_config)))[:_MOST]
    folder = framework_config.settings.get("dataset_dir")
    if not names:
        raise DoesNotApply("the command names no dataset that can be determined")
    if folder is not None and (not isinstance(folder.value, str) or folder.value.startswith(("ONLINE", "REMOTE:"))):
        raise Unavailable("the datasets are declared on a hub")
    base = Path(launch.folder or str(context.cwd)) / (folder.value if folder is not None else "data")
    if launch.image is not None or launch.may_make(str(base / _INFO)):
        raise Unavailable(f"`{_INFO}` may come to be there when the command runs")
    from doctor.readers.files.settings import load_json

    located = load_json(str(base / _INFO))
    if located.broken is not None:
        return LlamafactoryData(str(base / _INFO), broken=located.broken)
    places = {
        name.partition(".")[0]: each.place for name, each in reversed(list(located.settings.items())) if each.place
    }
    declared = (_declared(name, located.document, base, places.get(name), launch) for name in names)
    return LlamafactoryData(str(base / _INFO), tuple(declared))


def _names(config: FrameworkConfig) -> Iterator[str]:
    for key in ("dataset", "eval_dataset"):
        setting = config.settings.get(key)
        value = setting.value if setting is not None and setting.known else None
        for each in value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ():
            if isinstance(each, str) and each.strip() and "$" not in each:
                yield each.strip()


def _declared(name: str, document: Mapping[str, Any], base: Path, place: Place | None, launch: Launch) -> Declared:
    entry = document.get(name)
    at = place or Place(str(base / _INFO))
    if not isinstance(entry, Mapping):
        return Declared(name, name in document, at)
    formatting = str(entry.get("formatting", "alpaca"))
    columns = _given(entry.get("columns"), MESSAGES if formatting != "alpaca" else COLUMNS)
    tags = _given(entry.get("tags"), TAGS)
    file = entry.get("file_name") if not any(each in entry for each in _ELSEWHERE) else None
    path = base / file if isinstance(file, str) and file else None
    rows = _rows(path)
    return Declared(
        name, True, at, formatting, entry.get("ranking") is True, columns, tags, str(path) if path else None,
        path is not None and not path.exists() and not launch.may_make(str(path)),
        tuple(dict.fromkeys(key for row in rows for key in row)), *_said_of_messages(rows, columns, tags),
        tuple(name for name in rows[0] if all(isinstance(row.get(name), (dict, int, float)) for row in rows))
        if rows else (),
    )  # fmt: skip


def _given(written: Any, default: Mapping[str, str]) -> dict[str, str]:
    """What counts: one that is written replaces all defaults, also of the names that it does not hold."""
    if not isinstance(written, Mapping):
        return dict(default)
    return {str(name): value for name, value in written.items() if isinstance(value, str) and value}


def _rows(path: Path | None) -> list[Mapping[str, Any]]:
    from doctor.readers.files.dataset_files import first_rows

    return first_rows(path, _MOST_ROWS) if path is not None and path.is_file() else []


def _said_of_messages(
    rows: list[Mapping[str, Any]], columns: Mapping[str, str], tags: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Roles and keys of the messages."""
    roles: dict[str, None] = {}
    keys: dict[str, None] = {}
    for row in rows:
        messages = row.get(columns.get("messages", ""))
        for each in messages if isinstance(messages, list) else ():
            if not isinstance(each, Mapping):
                continue
            keys |= dict.fromkeys(str(key) for key in each)
            if isinstance(role := each.get(tags.get("role_tag", "")), str):
                roles[role[:40]] = None
    return tuple(roles), tuple(keys)
