#!/usr/bin/env bash
# The program of the cuda preset, without a GPU: it finds the CPU device by itself, ends in the bits of the
# cpu preset's program, and says what is missing when GPUs are asked for.
# usage: same_program_test.sh PROGRAM CPU_PRESET_PROGRAM
set -uo pipefail
program=$1 other=$2
unset LD_LIBRARY_PATH  # as a user's shell has it, whatever the other tests need
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

fail() { echo "FAILED: $*" && failures=$((failures + 1)); }
train() { "$1" train --model "$2" --data synthetic --max-steps 5 --out "$box/$3" "${@:4}" >"$box/out" 2>"$box/err"; }

for library in libcudart.so libcudnn.so libcublas.so libnccl.so; do
  readelf -d "$program" | grep -q "NEEDED.*\[$library" || fail "$program is not linked with $library"
done

if ldconfig -p | grep -q 'libcuda\.so\.1 '; then
  echo "skipped: what is said without a driver: there is one"
else
  train "$program" mlp auto || fail "--device auto: $(cat "$box/err")"
  grep -q 'no NVIDIA driver here: computes on the CPU device' "$box/err" || fail "auto says: $(cat "$box/err")"
  train "$program" mlp cuda --device cuda
  [[ $? == 4 ]] || fail "--device cuda without a driver is no code 4"
  [[ $(wc -l <"$box/err") == 1 ]] && grep -q 'no NVIDIA driver' "$box/err" || fail "it says: $(cat "$box/err")"
fi

if [[ -x $other ]]; then
  for model in mlp seed-cnn mnist-cnn resnet-8; do
    train "$program" $model "$model-cuda" --device cpu || fail "$model: $(cat "$box/err")"
    train "$other" $model "$model-cpu" || fail "$model: $(cat "$box/err")"
    cmp "$box/$model-cuda/model.safetensors" "$box/$model-cpu/model.safetensors" || fail "$model: other bits"
  done
else
  echo "skipped: the bits of the cpu preset: $other is not built"
fi
exit $((failures > 0))
