#!/usr/bin/env bash
# The environment of tests/real: TRL, DeepSpeed and Accelerate on a CPU, and vLLM 0.8.5.post1 without its kernels in a
# folder of its own (TRL would take it for its generation engine). About 1.8 GB. Leaves a complete one as it is.
#   tools/make_real_stack.sh [FOLDER]        .venv-real by default
set -euo pipefail
folder=$(realpath -m "${1:-.venv-real}")
complete="$folder/complete-1" # counted up when what is installed below changes
if [[ -e $complete ]]; then exit 0; fi
python3 -m venv "$folder"
install() { "$folder/bin/python" -m pip install -q "$@"; }

install torch==2.13.0 # first, so that a CPU build of the index stays
install trl==1.16.0 transformers==5.23.0 accelerate==1.15.0 peft==0.21.2 datasets==5.2.0
install 'setuptools>=77' setuptools-scm wheel ninja cmake jinja2 packaging py-cpuinfo hjson einops msgpack uv
DS_BUILD_OPS=0 DS_ACCELERATOR=cpu install --no-build-isolation deepspeed==0.19.8
# the collective for shared memory that every run of two ranks loads: compiled once, one to two minutes
PATH="$folder/bin:$PATH" DS_ACCELERATOR=cpu TORCH_EXTENSIONS_DIR="$folder/torch_extensions" python -c \
  'from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder; ShareMemCommBuilder().load()' >/dev/null
# what vLLM 0.8.5.post1 imports before it looks for a device
install cachetools cloudpickle pyzmq msgspec pillow blake3 fastapi==0.165.0 uvicorn==0.54.0 openai aiohttp watchfiles \
  prometheus_client requests depyf gguf
# pip refuses this source distribution (the build adds +empty to its version), uv takes it
VLLM_TARGET_DEVICE=empty "$folder/bin/uv" pip install -q --python "$folder/bin/python" --no-deps --no-build-isolation \
  --no-binary vllm --target "$folder/vllm-0.8.5" vllm==0.8.5.post1
touch "$complete"
