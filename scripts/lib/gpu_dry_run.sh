# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by scripts/gpu-check --emulated, behind gpu_steps.sh: the device becomes the tests' emulator,
# NVIDIA's tools become stand-ins, and what is large becomes small. The steps and their commands stay.

begin_dry_run() {
  no_gpu='[no GPU] '
  printf 'gpu-check: DRY RUN WITHOUT A GPU. The emulator stands in for it: no result is of a device.\n' >&2
  export FUSEPLAN_LIB_CUDA=$emulator FUSEPLAN_LIB_NVRTC=$emulator
  few_kernels='*DeviceSamples*gpu_pointwise_0*:*DeviceSamples*gpu_conv_0*-*Mutants*'
  sanitized_kernels='*DeviceSamples*gpu_pointwise_0*-*Mutants*'
  latency_problem=${latency_problem//64/8} latency_problem=${latency_problem//56/6}
  printf 'name,n,c,h,w\ntiny,2,8,4,4\n' > "$out/tiny.csv"
  make_stand_ins
}

end_dry_run() {
  printf 'gpu-check: that was a DRY RUN WITHOUT A GPU.\n' >&2
}

make_stand_ins() {
  mkdir -p "$out/stand_ins"
  export PATH=$out/stand_ins:$PATH
  cat > "$out/stand_ins/compute-sanitizer" << 'END'
#!/bin/sh
# Takes the arguments that the real one is given here, and runs the program.
case "$1 $2 $3 $4" in
  "--tool memcheck --error-exitcode 9" | "--tool racecheck --error-exitcode 9" | \
    "--tool synccheck --error-exitcode 9") shift 4 && exec "$@" ;;
esac
echo "not called as compute-sanitizer is: $*" >&2
exit 2
END
  printf '#!/bin/sh\necho "no GPU: a stand-in, 0"\n' > "$out/stand_ins/nvidia-smi"
  chmod +x "$out"/stand_ins/*
}

# The tests of all kernels, chosen as on a GPU; run are a few of them.
kernels_in() {
  local chosen
  chosen=$("$bin/emulator_tests" --gtest_list_tests --gtest_filter="$3" | grep -c '^  ')
  if [ "$chosen" -lt 2 ]; then
    note "$1" "the filter chooses $chosen" 0
    failed=1
    return
  fi
  # shellcheck disable=SC2016
  step "$1" "$2" bash -c 'in_processes "$@"' _ "$bin/emulator_tests" "$out/$1.records" "$few_kernels"
}

# The driver reads everything of the real command but finds no row to measure, and says so; then the
# shortest rows of one list of each kind are measured.
bench() {
  local name=bench_$1 limit=$2 small
  local -a real=() arguments=() list=()
  shift 2
  case $name in
    *resnet50_f16_256) small='smallest.csv --rows 1x1' ;;
    *norm_f32_256 | *training_bf16_256) small=$out/tiny.csv ;;
    *) small='' ;;
  esac
  read -ra list <<< "$small"
  while [ $# -gt 0 ]; do
    case $1 in
      --*=*) real+=("$1") arguments+=("$1") && shift && continue ;;
      --rows) ;;
      --list) real+=("$1" "$2") arguments+=(--list "${list[@]}") ;;
      --batch) real+=("$1" "$2") arguments+=(--batch 2) ;;
      --time) real+=("$1" "$2") arguments+=(--time 0.001) ;;
      *) real+=("$1" "$2") arguments+=("$1" "$2") ;;
    esac
    shift 2
  done
  # shellcheck disable=SC2016
  step "$name" "$limit" bash -c '"$@" && exit 1; "$@" 2>&1 | grep "has none of that name"' _ \
    "$bin/fuseplan-driver" bench --device "$device" --peer cudnn,unfused --json "$out/$name.json" \
    "${real[@]}" --rows no_such_row
  [ -n "$small" ] || return 0
  step "${name}_small" 60 "$bin/fuseplan-driver" bench --device "$device" --peer cudnn,unfused \
    --json "$out/$name.json" "${arguments[@]}"
  grep -m 1 'PEER ABSENT' "$out/${name}_small.log" >&2 || true
}
