# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Sourced by scripts/test: `place_nvrtc` puts NVIDIA's runtime compiler, which needs no GPU, into
# build/nvrtc if it can be had within two minutes. Sets nvrtc_missing to the reason if it cannot.

nvrtc_version=12.9.86
nvrtc_missing=

place_nvrtc() {
  local at=build/nvrtc log=build/nvrtc.log
  [ -e "$at/libnvrtc.so.12" ] && return
  mkdir -p "$at"
  if ! python3 -m pip --version > "$log" 2>&1; then
    timeout 120 bash -c "$(declare -f as_root apt_install); apt_install python3-pip" >> "$log" 2>&1 || true
  fi
  if ! timeout 120 python3 -m pip download --quiet --no-deps --only-binary :all: --retries 1 \
      --timeout 10 --dest "$at" "nvidia-cuda-nvrtc-cu12==$nvrtc_version" < /dev/null >> "$log" 2>&1; then
    nvrtc_missing="pip could not fetch nvidia-cuda-nvrtc-cu12 $nvrtc_version; see $log"
    return
  fi
  python3 -m zipfile -e "$at"/*.whl "$at/package" >> "$log" 2>&1 &&
    mv "$at"/package/nvidia/cuda_nvrtc/lib/libnvrtc{,-builtins}.so.12* "$at" &&
    rm -rf "$at/package" "$at"/*.whl ||
    nvrtc_missing="the package of NVRTC $nvrtc_version is not as expected; see $log"
}
