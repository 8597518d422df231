# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Sourced by scripts/gpu-check: its steps. They share $bin, $out, $device, $examples, $minutes,
# $emulated, $emulator.

no_gpu='' failed=0 last='' steps='' time_for_all=$((SECONDS + minutes * 60 - 20))

# step <name> <seconds> <command>...: output to <name>.log; says how it went and goes on. Nothing is
# begun, and nothing goes on, when the time for all of them is up.
step() {
  local name=$1 limit=$2 start=$SECONDS status=0
  shift 2
  [ $((start + limit)) -le "$time_for_all" ] || limit=$((time_for_all - start))
  if [ "$limit" -le 0 ]; then
    last='no time left' failed=1
    note "$name" "$last" 0
    return
  fi
  timeout --kill-after=10 "$limit" "$@" > "$out/$name.log" 2>&1 < /dev/null || status=$?
  case $status in
    0) last=ok ;;
    124 | 137) last="over its $limit s" ;;
    *) last="failed with $status" ;;
  esac
  [ "$last" = ok ] || failed=1
  note "$name" "$last" $((SECONDS - start))
}

# note <name> <how it went> <seconds>
note() {
  printf '%s%-28s %-18s %4s s\n' "$no_gpu" "$1" "$2" "$3" >&2
  steps+="${steps:+,}
  {\"step\": \"$1\", \"result\": \"$2\", \"seconds\": $3}"
}

# A step whose tool this machine lacks: said loudly, and no failure.
absent() { note "$1" "ABSENT: $2" 0; }

# The JSON that a step's program printed, between whatever else it said.
keep_json() { sed -n '/^[[{]$/,/^[]}]$/p' "$out/$1.log" > "$out/$1.json"; }

# Suites that ask the emulator what happened mean nothing on a GPU.
on_any_device='*Device*-*Mutants*:*Emulat*:DeviceBackend.*:DeviceLibraries.*:DeviceTuning.*:*OneBinary*'
# Some of them, for whatever is slow.
few_kernels='*DeviceSamples*_0*-*Mutants*'
sanitized_kernels=$few_kernels

# What the device's architecture does not have is left out.
choose_suites() {
  local arch
  arch=$(sed -n 's/.*"arch": "sm_\([0-9]*\)".*/\1/p' "$out/device.json")
  [ "${arch:-0}" = 90 ] || on_any_device+=':DeviceHopper.*'
  [ "${arch:-0}" -ge 90 ] || on_any_device+=':*DeviceSplit*:*DeviceNorm*/cluster'
}

# kernels_in <name> <seconds> <gtest filter>: the tests' programs, with a record of every result.
# shellcheck disable=SC2016
kernels_in() { step "$1" "$2" bash -c 'in_processes "$@"' _ "$bin/emulator_tests" "$out/$1.records" "$3"; }

# in_processes <program> <records> <gtest filter>: four at once, as most of the time goes into compiling
# on one core each.
in_processes() {
  local number status=0 processes=''
  rm -f "$2" "$2".?
  export GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX FUSEPLAN_DEVICE_RECORD
  for number in 0 1 2 3; do
    GTEST_SHARD_INDEX=$number FUSEPLAN_DEVICE_RECORD=$2.$number
    "$1" --gtest_brief=1 --gtest_filter="$3" &
    processes+=" $!"
  done
  for number in $processes; do wait "$number" || status=1; done
  cat "$2".? > "$2"
  rm -f "$2".?
  return $status
}
export -f in_processes

check_kernels() {
  kernels_in kernels 120 "$on_any_device"
  if ! command -v c++ > /dev/null; then
    absent emulated_kernels "no c++, with which the emulator compiles kernels"
    return
  fi
  (
    unset FUSEPLAN_TEST_DEVICE
    export FUSEPLAN_LIB_CUDA=$emulator FUSEPLAN_LIB_NVRTC=$emulator
    kernels_in emulated_kernels 150 "$few_kernels"
    printf '%s\n' "$steps" > "$out/emulated.steps"
    exit $failed
  ) || failed=1
  steps=$(cat "$out/emulated.steps")
  # shellcheck disable=SC2016
  step emulated_results 10 bash -c 'compare_records "$@"' _ "$out/emulated_kernels.records" "$out/kernels.records"
}

# compare_records <expected> <found>: every problem of the first must be in the second. Results need
# not agree to the bit where functions such as exp are another library's; the reference judges those.
compare_records() {
  awk -F'|' '
    { key = $1 "|" $2 "|" $3 "|" $4 "|" $5 }
    NR == FNR { expected[key] = $6; next }
    { found[key] = $6 }
    END {
      for (key in expected) {
        all++
        if (!(key in found)) { missing++; print "missing: " key }
        else if (found[key] == expected[key]) equal++
        else print "other bits: " key
      }
      printf "%d of %d results agree to the bit, %d are missing\n", equal, all, missing
      exit missing > 0 || all == 0
    }' "$1" "$2"
}
export -f compare_records

check_examples() {
  local name
  for name in $examples; do
    step "example_$name" 60 "$bin/$name" --device "$device"
  done
}

check_sanitizers() {
  local tool sanitizer=''
  for tool in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer; do
    [ -n "$sanitizer" ] || sanitizer=$(command -v "$tool") || true
  done
  for tool in memcheck racecheck synccheck; do
    if [ -z "$sanitizer" ]; then
      absent "$tool" "no compute-sanitizer"
    else
      step "$tool" 60 "$sanitizer" --tool "$tool" --error-exitcode 9 \
        "$bin/emulator_tests" --gtest_brief=1 --gtest_filter="$sanitized_kernels"
    fi
  done
}

latency_problem='f16:1x64x56x56:nhwc;conv(f16:64x64x3x3:nhwc,pad=1x1);bias(f32:1x64x1x1);norm(spatial,f32:1x64x1x1);activation(relu)'

# Building a plan and executing it for the first time, each in a process of its own: without a cache,
# filling it, and from it.
measure_latency() {
  local way
  rm -rf "$FUSEPLAN_CACHE_DIR"
  for way in cold warm; do
    step "latency_$way" 60 "$bin/fuseplan-driver" run --device "$device" --json --no-unfused -i 1 "$latency_problem"
    keep_json "latency_$way"
  done
}

# cuDNN where the loader does not look: in a toolkit, and where pip puts it.
find_cudnn() {
  local file
  [ -z "${FUSEPLAN_LIB_CUDNN:-}" ] || return 0
  for file in /usr/local/cuda/lib64/libcudnn.so.9 "$(python3 -c \
      'import nvidia.cudnn as c; print(c.__path__[0])' 2> /dev/null)/lib/libcudnn.so.9"; do
    if [ -e "$file" ]; then
      export FUSEPLAN_LIB_CUDNN=$file
      return 0
    fi
  done
}

# bench <name> <seconds> <argument>...
bench() {
  local name=bench_$1 limit=$2
  shift 2
  step "$name" "$limit" "$bin/fuseplan-driver" bench --device "$device" --peer cudnn,unfused \
    --json "$out/$name.json" "$@"
  grep -s -m 1 'PEER ABSENT' "$out/$name.log" >&2 || true
}

measure_lists() {
  local type batch
  # One layer in a process of its own, with no plan in any cache: what the first plan costs both.
  rm -rf "$FUSEPLAN_CACHE_DIR"
  bench first_plan 30 --list resnet50.csv --rows res2_3x3 --dtype f16 --batch 256 --time 0.1
  # What is wanted most comes first: the time may not reach the rest. A step that is stopped leaves
  # the rows that it had measured.
  for batch in 256 64; do
    for type in f16 bf16 tf32 f32; do
      measure_type "$type" "$batch"
    done
  done
}

# measure_type <type> <batch>: f32, or tf32 for its products on tensor cores, which both may use then.
measure_type() {
  local all=(--dtype "${1/tf32/f32}" --batch "$2" --time 0.1) name="$1_$2" list
  [ "$1" != tf32 ] || all+=(--options=--tf32=1)
  bench "resnet50_$name" 90 --list resnet50.csv "${all[@]}"
  bench "resnet50_nchw_$name" 90 --list resnet50.csv --layout nchw "${all[@]}"
  for list in vgg16 miopen-docs-cba; do
    bench "${list}_$name" 40 --list "$list.csv" "${all[@]}"
  done
  [ "$1" != tf32 ] || return 0
  bench "norm_$name" 30 --list miopen-docs-na.csv "${all[@]}"
  bench "training_$name" 30 --list miopen-docs-na.csv "${all[@]}" --chain 'norm_training;activation(relu)'
}

# json_of <name>: a step's JSON, or null.
json_of() { if [ -s "$out/$1.json" ]; then cat "$out/$1.json"; else echo null; fi; }

write_report() {
  local file name comma='' report=$out/gpu-check.report
  {
    printf '{"date": "%s", "revision": "%s", "emulated": %s, "host": "%s",\n' "$(date -u +%FT%TZ)" \
      "$(git rev-parse --short HEAD 2> /dev/null)" "$([ "$emulated" = 1 ] && echo true || echo false)" "$(uname -rm)"
    printf '"nvidia_smi": "%s",\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1)"
    printf '"steps": [%s],\n"device": ' "$steps"
    json_of device
    printf ',\n"latency_cold": ' && json_of latency_cold
    printf ',\n"latency_warm": ' && json_of latency_warm
    printf ',\n"bench": {'
    for file in "$out"/bench_*.json; do
      [ -s "$file" ] || continue
      name=$(basename "$file" .json)
      printf '%s\n"%s": ' "$comma" "${name#bench_}" && cat "$file"
      comma=,
    done
    printf '}}\n'
  } > "$report"
  mv "$report" "$out/gpu-check.json"
  printf '\nreport: %s\n' "$out/gpu-check.json" >&2
}
