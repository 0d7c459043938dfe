# What the house builds on. Rooms link annulus_cuda_api (CUDA runtime, cuDNN, cuBLAS) and annulus_nccl_api (NCCL), or,
# where they only name types, annulus_cuda_headers. In the cpu presets these are the CPU device; in the cuda preset they
# are NVIDIA's libraries, linked shared, so that the loader can put the CPU device in their place (kernels/cpu/shared).
add_library(annulus_cuda_headers INTERFACE)
add_library(annulus_cuda_api INTERFACE)
add_library(annulus_nccl_api INTERFACE)
target_include_directories(annulus_cuda_headers INTERFACE ${CMAKE_SOURCE_DIR})
target_link_libraries(annulus_cuda_api INTERFACE annulus_cuda_headers)
target_link_libraries(annulus_nccl_api INTERFACE annulus_cuda_headers)
if(NOT ANNULUS_CUDA)
  target_include_directories(annulus_cuda_headers INTERFACE ${CMAKE_SOURCE_DIR}/kernels/cpu/include
                             ${CMAKE_SOURCE_DIR}/comm/cpu/include)
  target_link_libraries(annulus_cuda_api INTERFACE annulus_cpu_device)
  target_link_libraries(annulus_nccl_api INTERFACE annulus_nccl)
  return()
endif()

find_package(CUDAToolkit 12 REQUIRED)
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
# 70 is V100, 75 T4, 80 A100, 86 RTX 30, 89 L4, 90 H200, 100 B200, 120 RTX 50; the newest also as PTX, for cards to come.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
  elseif(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 70-real 75-real 80-real 86-real 89-real 90-real 100-real 120)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 70-real 75-real 80-real 86-real 89-real 90)
  endif()
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know it of nvcc
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# Products and sums are rounded one by one, as -ffp-contract=off does: a kernel gives the bits of its g++ build where
# it uses IEEE operations alone. 554: Span<const T> needs no conversion to itself.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--diag-suppress=554;-Xcompiler=-march=x86-64-v3>")

find_package(cudnn 9 REQUIRED)
find_package(nccl 2.18 REQUIRED)
target_include_directories(annulus_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS} ${cudnn_INCLUDE_DIR}
                           ${nccl_INCLUDE_DIR})
target_link_libraries(annulus_cuda_api INTERFACE annulus_cpu_device_link CUDA::cudart CUDA::cublas cudnn::cudnn)
target_link_libraries(annulus_nccl_api INTERFACE annulus_cpu_device_link nccl::nccl)

# The CPU device becomes a shared library. Its thread-local variables, with a kernel's shared memory among them, are read
# in inner loops; it is always loaded at start, so they may have a fixed place.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(ANNULUS_SHARED_LIBRARY_OPTIONS -ftls-model=initial-exec -fno-semantic-interposition)
set(ANNULUS_CPU_DEVICE_FOLDER lib/annulus/cpu-device)  # below the build folder
list(APPEND ANNULUS_TEST_ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/${ANNULUS_CPU_DEVICE_FOLDER}")
add_link_options(-Wl,--enable-new-dtags)  # LD_LIBRARY_PATH beats the folders of NVIDIA's libraries
