#!/usr/bin/env bash
# The environment of tests/real: TRL, DeepSpeed and Accelerate on a CPU, and vLLM 0.8.5.post1 without its kernels in a
# folder of its own (TRL would take it for its generation engine), and an old TRL in another. About 1.9 GB. Leaves a
# complete one as it is.
#   tools/make_real_stack.sh [FOLDER]        .venv-real by default
set -euo pipefail
folder=$(realpath -m "${1:-.venv-real}")
complete="$folder/complete-4" # counted up when what is installed below changes
if [[ -e $complete ]]; then exit 0; fi
python3 -m venv "$folder"
install() { "$folder/bin/python" -m pip install -q "$@"; }

install torch==2.13.0 # first, so that a CPU build of the index stays
install trl==1.16.0 transformers==5.23.0 accelerate==1.15.0 peft==0.21.2 datasets==5.2.0
install 'setuptools>=77' setuptools-scm wheel ninja cmake jinja2 packaging py-cpuinfo hjson einops msgpack uv
DS_BUILD_OPS=0 DS_ACCELERATOR=cpu install --no-build-isolation deepspeed==0.19.8
# what vLLM imports before it looks for a device, and what builds it
install cachetools cloudpickle pyzmq msgspec pillow blake3 fastapi==0.165.0 uvicorn==0.54.0 openai aiohttp watchfiles \
  prometheus_client requests depyf gguf setuptools-rust==1.13.0

# from here on every part has a folder of its own: they are made side by side, for each waits for the network or the disk
parts=()
part() { "$@" & parts+=($!); }

collective() { # the one for shared memory that every run of two ranks loads: compiled once, one to two minutes
  PATH="$folder/bin:$PATH" DS_ACCELERATOR=cpu TORCH_EXTENSIONS_DIR="$folder/torch_extensions" python -c \
    'from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder; ShareMemCommBuilder().load()' >/dev/null
}
build() { # FOLDER RELEASE NEEDS...: pip refuses these source distributions (the build adds +empty to the version), uv takes them
  VLLM_TARGET_DEVICE=empty "$folder/bin/uv" pip install -q --python "$folder/bin/python" --no-deps --no-build-isolation \
    --no-binary vllm --target "$folder/$1" "vllm==$2" "${@:3}"
}
vllm() { # RELEASE NEEDS...: what `doctor serve` is tried with; a build "for a CPU" has a platform
  build "vllm-$1" "$@"
  sed -i 's/^\(Version: .*\)+empty/\1+cpu/' "$folder/vllm-$1"/vllm-*.dist-info/METADATA
}
all_vllm() { # one after another: releases of a package share uv's cache of sources
  build vllm-0.8.5 0.8.5.post1
  vllm 0.8.4
  vllm 0.9.2 pybase64==1.5.1 # runs with the transformers of trl-0.17
  vllm 0.33.0 pybase64==1.5.1 cbor2==6.2.1 openai-harmony==0.0.8 uvloop==0.23.0 xgrammar==0.2.8 \
    apache-tvm-ffi==0.1.15.post2 llguidance==1.9.1 partial-json-parser==0.2.1.1.post7
}
beside() { install --target "$folder/$1" --upgrade --no-deps "${@:2}"; } # FOLDER PACKAGES...

part collective
part all_vllm
# old pairs that the guard is tested with, beside the same torch; what else they need is installed above
part beside trl-0.14 trl==0.14.0 transformers==4.46.3 accelerate==1.2.1 datasets==3.2.0 peft==0.14.0 \
  'huggingface-hub<0.28' 'tokenizers<0.21' 'fsspec<=2024.9.0' 'dill<0.3.9' 'multiprocess<0.70.17'
part beside trl-0.17 trl==0.17.0 transformers==4.51.3 accelerate==1.6.0 datasets==3.5.1 peft==0.15.2 \
  'huggingface-hub<1' 'tokenizers<0.22' 'fsspec<=2025.3.0' 'dill<0.3.9' 'multiprocess<0.70.17'
for each in "${parts[@]}"; do wait "$each"; done
touch "$complete"
