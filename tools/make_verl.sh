#!/usr/bin/env bash
# The environment of tests/verl/test_witness.py: veRL's own driver with Ray and torch for a CPU, without an engine, whose
# part the test plays. 2 GB, one to three minutes. Leaves a complete one as it is.
#   tools/make_verl.sh [FOLDER]        .venv-verl by default
set -euo pipefail
folder=$(realpath -m "${1:-.venv-verl}")
complete="$folder/complete-1" # counted up when what is installed below changes
if [[ -e $complete ]]; then exit 0; fi
python3 -m venv "$folder"
python="$folder/bin/python"
install() { "$python" -m pip install -q "$@"; }

install torch==2.13.0 # first, so that a CPU build of the index stays
build=$("$python" -c 'import importlib.metadata as m; print(m.version("torch"))')
echo "torch==$build" >"$folder/constraints.txt"
install -c "$folder/constraints.txt" ray==2.60.0 hydra-core==1.3.8 omegaconf==2.3.1 tensordict==0.11.0 \
  codetiming==1.4.0 torchdata==0.11.0 TransferQueue==0.1.11 transformers==5.23.0 accelerate==1.15.0 peft==0.21.2 \
  datasets==5.2.0 pillow cachetools uvicorn fastapi
install --no-deps verl==0.9.1 # which wants a tensordict and a Transformers that are older than what is tested here
touch "$complete"
