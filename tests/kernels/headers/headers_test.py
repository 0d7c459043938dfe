"""The headers of the CPU device against NVIDIA's own: every name that ours declare must be there
with the same value, size, offsets, type and symbol. The toolkit is looked for in $CUDA_HOME,
$CUDA_PATH, /usr/local/cuda and beside the system's headers; without one the test is skipped (77).
Usage: headers_test.py. Called by ctest."""
from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile
import unittest

import asked
from asked import Side

SKIPPED = 77  # ctest's SKIP_RETURN_CODE here
HOUSE = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = (HOUSE / "kernels/cpu/include", HOUSE / "comm/cpu/include")

# File, what stands there, what is put there, and what must be said of it.
FAULTS = (
    ("driver_types.h", "cudaErrorNotReady = 600", "cudaErrorNotReady = 601",
     "enumerator cudaErrorNotReady: 601, the real header's 600"),
    ("driver_types.h", "cudaErrorUnknown = 999,", "cudaErrorUnknown = 999, cudaErrorOfOurs = 998,",
     "enumerator cudaErrorOfOurs: "),
    ("driver_types.h", "enum cudaMemcpyKind {", "enum cudaMemcpyKind : unsigned char {",
     "not understood: enum cudaMemcpyKind : unsigned char"),
    ("driver_types.h", "cudaMemoryTypeManaged = 3,", "cudaMemoryTypeManaged = 30000000000,",
     "enum cudaMemoryType: "),
    ("driver_types.h", "  int device;\n  void* devicePointer;",
     "  void* devicePointer;\n  int device;", "field cudaPointerAttributes::device: "),
    ("driver_types.h", "#define cudaStreamNonBlocking 0x01", "#define cudaStreamNonBlocking 0x02",
     "macro cudaStreamNonBlocking: 2, the real header's 1"),
    ("driver_types.h", "cudaStreamLegacy ((cudaStream_t)0x1)",
     "cudaStreamLegacy ((cudaStream_t)0x4)", "macro cudaStreamLegacy: 4, the real header's 1"),
    ("driver_types.h", "typedef struct CUevent_st*", "typedef struct CUstream_st*",
     "type cudaEvent_t: "),
    ("driver_types.h", "typedef enum cudaError cudaError_t;",
     "typedef enum cudaError cudaError_t;\nclass Ours;", "not understood: class Ours"),
    ("vector_types.h", "struct alignas(16) float4", "struct alignas(8) float4", "struct float4: "),
    ("vector_types.h", "  constexpr dim3(uint3 v)",
     "  dim3(const char*, int);\n  constexpr dim3(uint3 v)",
     "constructor dim3(std::declval<const char*>(), std::declval<int>()): "),
    ("cuda_fp16.h", "operator float() const {",
     "operator const char*() const;\n  operator float() const {",
     "conversion __half to const char*: "),
    ("cuda_fp16.h", "  unsigned short __x;", "  unsigned int __x;", "struct __half: "),
    ("cuda_runtime_api.h", "cudaMemset(void* devPtr, int value",
     "cudaMemset(void* devPtr, unsigned value", "function cudaMemset: "),
    ("cuda_runtime_api.h", "cudaError_t cudaGetLastError()", "int cudaGetLastError()",
     "function cudaGetLastError: "),
    ("cuda_runtime_api.h", "cudaStreamSynchronize(cudaStream_t stream)",
     "cudaStreamSynchronize(cudaStream_t stream = nullptr)", "call cudaStreamSynchronize(): "),
    ("cuda_runtime.h", "cudaMalloc(T** devPtr, size_t size)", "cudaMalloc(T** devPtr, int size)",
     "function cudaMalloc: "),
    ("cublas_v2.h", "#define cublasDestroy cublasDestroy_v2",
     "#define cublasDestroy cublasCreate_v2",
     "macro cublasDestroy: cublasCreate_v2, the real header's cublasDestroy_v2"),
    ("cublas_v2.h", "CUBLAS_COMPUTE_32F_FAST_TF32 = 77", "CUBLAS_COMPUTE_32F_FAST_TF32 = 75",
     "enumerator CUBLAS_COMPUTE_32F_FAST_TF32: 75, the real header's 77"),
    ("library_types.h", "CUDA_R_16BF = 14", "CUDA_R_16BF = 15",
     "enumerator CUDA_R_16BF: 15, the real header's 14"),
    ("cudnn.h", "typedef void* cudnnBackendDescriptor_t", "typedef int* cudnnBackendDescriptor_t",
     "type cudnnBackendDescriptor_t: int*, the real header's void*"),
    ("nccl.h", "#define NCCL_UNIQUE_ID_BYTES 128", "#define NCCL_UNIQUE_ID_BYTES 64",
     "struct ncclUniqueId: 64 1 1, the real header's 128 1 1"),
    ("nccl.h", "(X)*10000", "(X)*1000", "macro NCCL_VERSION(9, 10, 11): "),
    ("driver_types.h", "unused_limits[64]", "unused_limits[56]", "field cudaDeviceProp::major: "),
    ("nccl.h", "0xcafebeef", "0xcafebeee", "macro NCCL_CONFIG_INITIALIZER: "),
)


class HeadersTest(unittest.TestCase):
    """Against the toolkit that main() has found."""

    real: Side
    maxDiff = None

    def test_ours_declare_nothing_else_than_the_real_ones(self) -> None:
        self.assertEqual(asked.differences(Side(FOLDERS), self.real), [])

    def test_each_planted_fault_is_told(self) -> None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="annulus-headers-"))
        self.addCleanup(shutil.rmtree, folder)
        for source in FOLDERS:
            shutil.copytree(source, folder, dirs_exist_ok=True)
        for file, right, wrong, _ in FAULTS:
            text = (folder / file).read_text("utf-8")
            self.assertEqual(text.count(right), 1, f"{file} has no longer once: {right}")
            (folder / file).write_text(text.replace(right, wrong), "utf-8")
        told = asked.differences(Side((folder,)), self.real)
        for *_, words in FAULTS:
            self.assertTrue(any(words in line for line in told), f"{words}\n" + "\n".join(told))

    def test_another_symbol_is_told(self) -> None:
        per_thread = Side(self.real.folders, ("-DCUDA_API_PER_THREAD_DEFAULT_STREAM",))
        self.assertIn("symbol cudaMemcpyAsync: the real header's is another",
                      asked.differences(Side(FOLDERS), per_thread))


def main() -> int:
    """As ctest wants it."""
    folders = asked.toolkit()
    if folders is None:
        print("skipped: no CUDA toolkit with cuDNN and NCCL (CUDA_HOME)")
        return SKIPPED
    HeadersTest.real = Side(folders)
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
