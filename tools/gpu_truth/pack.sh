#!/usr/bin/env bash
# Fetches the few wheels that a plain image with torch, Transformers, Accelerate and PEFT lacks into wheels/ (ignored by
# git), for Python 3.12 on x86-64: TRL, datasets and what they import, and what the doctor itself needs. 64 MiB at most.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$here/wheels"
platforms=()
for each in manylinux_2_28 manylinux_2_27 manylinux_2_24 manylinux_2_17 manylinux2014 manylinux1; do
  platforms+=(--platform "${each}_x86_64")
done
fetch() {
  python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp "${platforms[@]}" \
    -d "$here/wheels" "$@"
}
fetch trl==1.16.0 datasets==5.2.0 'dill<0.5' multiprocess xxhash
fetch rich ruamel.yaml ahocorasick_rs click psutil nvidia-ml-py packaging markdown-it-py mdurl pygments
size=$(du -sm "$here/wheels" | cut -f1)
echo "$(ls "$here/wheels" | wc -l) wheels, $size MiB in $here/wheels"
[[ $size -lt 64 ]] || { echo "more than 64 MiB: too much to be carried" >&2; exit 1; }
