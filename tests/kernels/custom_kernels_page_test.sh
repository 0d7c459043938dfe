#!/bin/bash
# docs/custom-kernels.md shows example_kernel_test.cu from its third line on: the code that is
# compiled and tested is the code that is read.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
shown=$(sed -n '/^```cpp$/,/^```$/p' "$root/docs/custom-kernels.md" | sed '1d;$d')
tested=$(tail -n +3 "$root/tests/kernels/example_kernel_test.cu")
diff <(echo "$shown") <(echo "$tested") ||
  { echo "docs/custom-kernels.md differs from tests/kernels/example_kernel_test.cu: copy one"; exit 1; }
