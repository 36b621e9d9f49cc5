#!/usr/bin/env bash
# Measures on this machine's GPU what the docs claim of GPUs. Nothing from outside is needed: Python 3.12 with torch,
# Transformers, Accelerate and PEFT, and the wheels that pack.sh has put beside this file (TRL and what it imports).
#   tools/gpu_truth/run.sh [RESULTS] [--only STEP ...] [--again] [--stand-in]
# Steps are done in order of value, each under its own limit; a call that is cut short goes on where it was. At the end
# of each call RESULTS.tar.gz holds everything; tools/gpu_truth/report.py makes docs/gpu-truth.md of it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${DOCTOR_GPU_PYTHON:-python3}
site=${DOCTOR_GPU_SITE:-${TMPDIR:-/tmp}/doctor-gpu-truth-site}

if compgen -G "$here/wheels/*.whl" >/dev/null && [[ ! -e $site/complete ]]; then
  "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$site" "$here"/wheels/*.whl
  touch "$site/complete"
fi
export PYTHONPATH="$here/../..:$site${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 DOCTOR_LANG=en
exec "$python" "$here/drive.py" "$@"
