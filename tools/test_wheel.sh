#!/usr/bin/env bash
# Builds the sdist, the wheel from it, installs that wheel alone and uses it from a folder far from the source.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "${PYTHON:-.venv/bin/python}")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

"$python" -m build --outdir "$room/dist" . >"$room/build.log" 2>&1 || { tail -30 "$room/build.log"; exit 1; }
"$python" -m venv "$room/venv"
"$room/venv/bin/pip" install -q "$room"/dist/*.whl
mkdir -p "$room/elsewhere/tests"
cp -r tests/__init__.py tests/case_files.py tests/collected.py tests/each.py tests/checks "$room/elsewhere/tests/"
for folder in checks fixes monitors; do  # a user's own packages of those names, which must not be taken for ours
  mkdir "$room/elsewhere/$folder"
  echo 'raise SystemExit("a folder of the user was imported")' >"$room/elsewhere/$folder/__init__.py"
done
cd "$room/elsewhere"
export XDG_CACHE_HOME="$room/cache" XDG_STATE_HOME="$room/state"

"$room/venv/bin/python" - <<'PY'
import pathlib, doctor, doctor.checks, doctor.catalogue.index as index
assert "site-packages" in doctor.__file__, doctor.__file__
shipped = pathlib.Path(doctor.__file__).parent / "_index.json"
assert shipped.is_file(), "the wheel lacks the index of the catalogue"
assert shipped.with_name("_words.jsonl").is_file(), "the wheel lacks the words of the catalogue"
assert list((shipped.parent / "checks" / "vllm").rglob("*.toml")), "the wheel lacks the TOML of the catalogue"
assert list((shipped.parent / "checks" / "vllm").rglob("zh/*.toml")), "the wheel lacks its Chinese"
entries = index.load()
assert len(entries) >= 90, len(entries)
from doctor.catalogue.problem_files import declared
assert all(declared(each).problem.id == each.id for each in entries)
assert not index.cache_folder().exists(), "the shipped index was not used"
PY
if command -v gcc >/dev/null; then # without a compiler there is none, and everything goes on without it
  "$room/venv/bin/python" -c "import doctor.logs.read._quick"
fi
"$room/venv/bin/doctor" --version
"$room/venv/bin/doctor" list >/dev/null
"$room/venv/bin/doctor" explain VLL001 >/dev/null
"$room/venv/bin/doctor" explain VLL001 --lang zh >/dev/null
"$room/venv/bin/doctor" dev docs pages >/dev/null
"$room/venv/bin/grpo-doctor" check --format json >report.json || [[ $? -eq 1 ]]
"$room/venv/bin/pip" install -q pytest pytest-xdist pyyaml
"$room/venv/bin/python" -m pytest -q -p no:cacheprovider --import-mode=importlib -n 2 tests/checks
echo "wheel tested: $(ls "$room/dist")"
