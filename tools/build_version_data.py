"""Make doctor/data/*.json from the packages' own metadata and source, and the small files kept by hand.

    python tools/build_version_data.py --cache DIR               make all files (reads the package index through pip)
    python tools/build_version_data.py --cache DIR --only vllm   make one file
    python tools/build_version_data.py --cache DIR --check       compare the shipped files with the cache; offline
    python tools/build_version_data.py --cache DIR --refresh     look for new releases first

Needs pip, packaging and ruamel.yaml. Everything read is kept in the cache, so a second run takes about a minute and
needs no network; a first run reads about 1,300 metadata files and a few source files out of each wheel by range
requests (10 minutes, 300 MB). What cannot be read from a package lies in tools/versiondata/seed/ with the way it was
collected and its sources; its columns stop at the release up to which somebody looked. The output is a pure function of
the cache, those files and --built.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from versiondata import facts, keys, metadata, sglang, trl, vllm
from versiondata.dataclass_fields import Argument, all_fields, classes_of
from versiondata.history import argument_histories, column
from versiondata.index import Index, OfflineError

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "doctor" / "data"
SEED = HERE / "versiondata" / "seed"
SCHEMA = "doctor-data/1"
TRAINING_FILES = ["transformers/training_args.py", "transformers/trainer.py"]
LORA_FILES = ["peft/tuners/lora/config.py", "peft/config.py"]
REPOSITORIES = {
    "trl": "https://github.com/huggingface/trl",
    "transformers": "https://github.com/huggingface/transformers",
    "peft": "https://github.com/huggingface/peft",
    "vllm": "https://github.com/vllm-project/vllm",
    "torch": "https://github.com/pytorch/pytorch",
    "deepspeed": "https://github.com/deepspeedai/DeepSpeed",
    "verl": "https://github.com/volcengine/verl",
    "trinity-rft": "https://github.com/modelscope/Trinity-RFT",
}


class Builder:
    """Computes the content of each file from the index (or its cache) and the files kept by hand."""

    def __init__(self, index: Index, built: str) -> None:
        self._index = index
        self._built = built
        self._notes = seed("argument_notes")
        self._training: dict[str, Any] | None = None

    def files(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """Name of every shipped file and what makes its content (without the header)."""
        return {
            "meta": lambda: {"sources": sorted(REPOSITORIES.values())},
            "releases": self.releases,
            "vllm": lambda: self.fact_table("vllm"),
            "torch": lambda: self.fact_table("torch"),
            "trl": lambda: self.fact_table("trl"),
            "deepspeed": lambda: self.fact_table("deepspeed"),
            "trl_args": self.trl_arguments,
            "training_arguments": self.training_arguments,
            "lora_config": self.lora_arguments,
            "vllm_args": self.vllm_arguments,
            "sglang_args": self.sglang_arguments,
            "verl_keys": self.verl_keys,
            "trinity_keys": self.trinity_keys,
            "overlay": self.overlay,
        }

    def header(self) -> dict[str, Any]:
        """What every file begins with."""
        newest = {name: str(self._index.versions(name, since)[-1]) for name, since in sorted(metadata.PACKAGES.items())}
        return {"schema": SCHEMA, "built": self._built, "newest": newest, "made_by": "tools/build_version_data.py"}

    def releases(self) -> dict[str, Any]:
        """releases.json."""
        return {
            "sources": sorted(REPOSITORIES.values()),
            "packages": {name: self._package(name) for name in metadata.PACKAGES},
        }

    def _package(self, name: str) -> dict[str, Any]:
        versions = self._index.versions(name, metadata.PACKAGES[name])
        texts = {str(version): self._index.metadata(name, version) for version in versions}
        stated = {str(v): metadata.requires_python(texts[str(v)]) or self._python_of(name, v) for v in versions}
        listed = {v: metadata.of_interest(metadata.requirements(t)) if t else None for v, t in texts.items()}
        return {
            "versions": list(texts),
            "dates": {str(version): self._index.uploaded(name, version) for version in versions},
            "yanked": [str(version) for version in versions if self._index.yanked(name, version)],
            "requires_python": column(stated.items()),
            "requires": column(listed.items()),
        }

    def _python_of(self, name: str, version: Any) -> str | None:
        return self._index.best_file(name, version).requires_python

    def fact_table(self, package: str) -> dict[str, Any]:
        """vllm.json, torch.json, trl.json and deepspeed.json."""
        versions = self._index.versions(package, metadata.PACKAGES[package])
        texts = {str(version): self._index.metadata(package, version) for version in versions}
        hand = seed(package)
        sources = [REPOSITORIES[package], *hand["sources"]]
        return {"sources": sources, "by_hand": hand["how"], **facts.fact_table(package, texts, hand)}

    def _sources(self, package: str, wanted: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """Texts of the wanted files per release, oldest first; releases without a wheel are left out."""
        for version in self._index.versions(package, metadata.PACKAGES[package]):
            if self._index.best_file(package, version).is_wheel:
                yield str(version), self._index.read(package, version, wanted)

    def trl_arguments(self) -> dict[str, Any]:
        """trl_args.json."""
        fields = frozenset(self.training_arguments()["classes"]["TrainingArguments"]["arguments"])
        read = {version: trl.TrlRelease(texts) for version, texts in self._sources("trl", [".py"])}
        content = trl.trl_arguments(read, self._notes["trl"], fields)
        return {"sources": [REPOSITORIES["trl"], *self._notes["sources"]], "by_hand": self._notes["how"], **content}

    def training_arguments(self) -> dict[str, Any]:
        """training_arguments.json."""
        if self._training is None:
            fields: dict[str, dict[str, Argument]] = {}
            trainer: dict[str, dict[str, Argument]] = {}
            for version, texts in self._sources("transformers", TRAINING_FILES):
                classes = classes_of(texts)
                fields[version] = all_fields(classes, "TrainingArguments")
                trainer[version] = classes["Trainer"][0].parameters
            notes = self._notes["transformers"]
            self._training = {
                "sources": [REPOSITORIES["transformers"], *self._notes["sources"]],
                "by_hand": self._notes["how"],
                "versions": list(fields),
                "classes": {
                    "TrainingArguments": {"arguments": argument_histories(fields, notes.get("TrainingArguments", {}))},
                    "Trainer": {"arguments": argument_histories(trainer, notes.get("Trainer", {}))},
                },
            }
        return self._training

    def lora_arguments(self) -> dict[str, Any]:
        """lora_config.json."""
        read = {v: all_fields(classes_of(texts), "LoraConfig") for v, texts in self._sources("peft", LORA_FILES)}
        return {
            "sources": [REPOSITORIES["peft"]],
            "versions": list(read),
            "classes": {"LoraConfig": {"arguments": argument_histories(read, {})}},
        }

    def vllm_arguments(self) -> dict[str, Any]:
        """vllm_args.json."""
        content = vllm.vllm_arguments(dict(self._sources("vllm", vllm.FILES)))
        return {"sources": [REPOSITORIES["vllm"]], **content}

    def sglang_arguments(self) -> dict[str, Any]:
        """sglang_args.json."""
        found = {}
        for version in self._index.versions("sglang", metadata.PACKAGES["sglang"]):
            names = [name for name in self._index.names("sglang", version) if sglang.is_wanted(name)]
            if sglang.SERVER in names:
                found[str(version)] = self._index.read("sglang", version, names)
        return {"sources": [sglang.SOURCE], **sglang.sglang_arguments(found)}

    def verl_keys(self) -> dict[str, Any]:
        """verl_keys.json."""
        folders = {version: keys.HydraFolder(texts) for version, texts in self._sources("verl", [".yaml"])}
        return {"sources": [REPOSITORIES["verl"]], **keys.verl_keys(folders)}

    def trinity_keys(self) -> dict[str, Any]:
        """trinity_keys.json."""
        texts = {v: found[keys.TRINITY_FILE] for v, found in self._sources("trinity-rft", [keys.TRINITY_FILE])}
        return {"sources": [REPOSITORIES["trinity-rft"]], **keys.trinity_keys(texts)}

    def overlay(self) -> dict[str, Any]:
        """overlay.json."""
        hand = seed("overlay")
        links = sorted({link for rule in hand["rules"] for link in rule["links"]})
        return {"sources": links, "by_hand": hand["how"], "rules": hand["rules"]}


def seed(name: str) -> dict[str, Any]:
    """A file kept by hand."""
    content: dict[str, Any] = json.loads((SEED / f"{name}.json").read_text(encoding="utf-8"))
    return content


def text_of(content: dict[str, Any]) -> str:
    """JSON as shipped: compact, one line for each entry of the second level, so that a change shows as a small diff."""
    lines = []
    for key, value in content.items():
        if isinstance(value, dict) and value and key != "newest":
            inner = ",\n".join(f"{json.dumps(name)}:{_compact(each)}" for name, each in value.items())
            lines.append(f"{json.dumps(key)}:{{\n{inner}}}")
        else:
            lines.append(f"{json.dumps(key)}:{_compact(value)}")
    return "{" + ",\n".join(lines) + "}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="directory that keeps everything read")
    parser.add_argument("--only", metavar="NAME", help="make or check one file, such as vllm or trl_args")
    parser.add_argument(
        "--check", action="store_true", help="compare with the shipped files instead of writing; offline"
    )
    parser.add_argument("--offline", action="store_true", help="use the cache alone")
    parser.add_argument("--refresh", action="store_true", help="read the lists of releases again")
    parser.add_argument("--built", type=date.fromisoformat, help="date to write into the files (default: today)")
    options = parser.parse_args(arguments)
    index = Index(options.cache, offline=options.offline or options.check, refresh=options.refresh)
    builder = Builder(index, str(options.built or _shipped_date(options.check)))
    if options.only and options.only not in builder.files():
        parser.error(f"no file {options.only!r}; there are {', '.join(builder.files())}")
    try:
        return _run(builder, options.only, options.check)
    except OfflineError as missing:
        print(f"error: {missing}; run once without --offline or --check", file=sys.stderr)
        return 2


def _shipped_date(check: bool) -> str:
    return (
        str(json.loads((DATA / "meta.json").read_text(encoding="utf-8"))["built"])
        if check
        else datetime.now(tz=timezone.utc).date().isoformat()
    )


def _run(builder: Builder, only: str | None, check: bool) -> int:
    header = builder.header()
    status = 0
    for name, make in builder.files().items():
        if only not in (None, name):
            continue
        text = text_of({**header, **make()})
        path = DATA / f"{name}.json"
        same = path.exists() and path.read_text(encoding="utf-8") == text
        if check and not same:
            print(f"{path.name}: differs from what the cache gives", file=sys.stderr)
            status = 1
        if not check and not same:
            path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {len(text.encode()):,} bytes{'' if same else ', differs' if check else ', written'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
