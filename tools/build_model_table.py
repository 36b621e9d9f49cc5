"""Make doctor/data/models.jsonl: what public sources say of models that people post-train.

    python tools/build_model_table.py --mirrors DIR          make the file
    python tools/build_model_table.py --mirrors DIR --check  say whether the shipped one is what they give

DIR holds one clone a repository, bare or not, `owner+name` (or `owner+name/repo`), with the commits that
No network is used. A dtype is only what a source states; where sources differ, the key is left out and named on stderr.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomllib

sys.path.insert(0, str(Path(__file__).resolve().parent))

from modeldata.agree import RETYPED, Flat, agreed, flat, nested
from modeldata.forms import rows

from doctor.sizing.architecture import UnreadableConfigError, shape_of

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "doctor" / "data" / "models.jsonl"
SCHEMA = "doctor-models/1"
#: without these nothing can be judged
_NEEDED = ("num_hidden_layers", "hidden_size", "num_attention_heads")


class Mirrors:
    """Clones of the sources."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _git(self, repository: str, *words: str) -> str:
        base = self._folder / repository.replace("/", "+")
        place = next(each for each in (base / "repo", base / ".git", base) if each.exists())
        command = ["git", f"--git-dir={place}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    def paths(self, source: Mapping[str, Any]) -> list[str]:
        """Files of the source's folder at its commit."""
        if "folder" not in source:
            return [source["file"]]
        listed = self._git(source["repository"], "ls-tree", "-r", "--name-only", source["commit"], source["folder"])
        return [each for each in listed.splitlines() if each.endswith((".json", ".yaml", ".sh"))]

    def text(self, source: Mapping[str, Any], path: str) -> str:
        """Content of a file at the source's commit."""
        return self._git(source["repository"], "show", f"{source['commit']}:{path}")


def table(mirrors: Mirrors, plan: Mapping[str, Any]) -> str:
    """The file's text: a line of the header, then one line a model, sorted by name."""
    said: dict[str, list[tuple[str, Flat, str]]] = defaultdict(list)
    for source in plan["source"]:
        base = f"https://github.com/{source['repository']}/blob/{source['commit']}"
        found = rows(source, mirrors.paths(source), lambda path, source=source: mirrors.text(source, path))
        for name, config, path in found:
            said[plan["same"].get(name, name)].append((source["form"], flat(config), f"{base}/{path}"))
    said.update({name: said[same] for name, same in plan["same"].items() if same in said})
    addresses = sorted({address for each in said.values() for _, _, address in each})
    lines = [_line(name, said[name], plan["model_types"], addresses) for name in sorted(said, key=str.casefold)]
    header = {"schema": SCHEMA, "made_by": "tools/build_model_table.py", "sources": addresses}
    return "\n".join([json.dumps(header), *filter(None, lines)]) + "\n"


def _line(
    name: str, said: list[tuple[str, Flat, str]], model_types: Mapping[str, str], addresses: list[str]
) -> str | None:
    values, disputed = agreed([(form, flat_values) for form, flat_values, _ in said])
    if disputed:
        print(f"{name}: the sources differ over {', '.join(disputed)}", file=sys.stderr)
    by_name = next((kind for pattern, kind in model_types.items() if re.match(pattern, name)), None)
    if by_name and values.setdefault("model_type", by_name) != by_name:
        print(f"{name}: `model_type` is {values['model_type']}, by its name {by_name}", file=sys.stderr)
    gated = values.pop("gated", None)
    if not all(any(key in values for key in (each, f"text_config.{each}")) for each in _NEEDED):
        return None
    config = nested(values)
    entry = {"id": name, "config": config, **({"gated": True} if gated else {})}
    parameters = _parameters(config)
    if parameters is not None:
        entry["parameters"] = parameters
    ordered = sorted(said, key=lambda each: (each[0] in RETYPED, "torch_dtype" not in each[1], each[2]))
    entry["sources"] = list(dict.fromkeys(addresses.index(address) for _, _, address in ordered))
    return json.dumps(entry, separators=(",", ":"))


def _parameters(config: Mapping[str, Any]) -> int | None:
    """Counted from the configuration; None where a number is missing or the tie of the embeddings is not stated."""
    text = config.get("text_config") or {}
    if "tie_word_embeddings" not in config and "tie_word_embeddings" not in text:
        return None
    try:
        shape = shape_of(config)
    except (UnreadableConfigError, KeyError, TypeError, ZeroDivisionError):
        return None
    return shape.parameters if shape.exact else None


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True, metavar="DIR")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    plan = tomllib.loads((HERE / "modeldata" / "sources.toml").read_text(encoding="utf-8"))
    made = table(Mirrors(options.mirrors), plan)
    if options.check:
        same = TABLE.read_text(encoding="utf-8") == made
        print("the same" if same else f"{TABLE.name} is not what the sources give")
        return 0 if same else 1
    TABLE.write_text(made, encoding="utf-8")
    print(f"{len(made.splitlines()) - 1} models, {len(made) // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
