// The types of numbers that NVIDIA's libraries are told of, those that Annulus uses, with their
// real values. Read through cublas_v2.h.
#pragma once

typedef enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
} cudaDataType;
