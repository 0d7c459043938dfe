// The program where there is no device that it can use: one line and code 4, in every command that
// computes (cases G01, G02, G04, G05). The CPU device plays the driver; NVIDIA's own runtime before
// a driver that is too old or shows nothing: no_gpu_test.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;

const std::string kTrain = "train --model mlp --data synthetic --max-steps 1 --out run";

class NoDevice : public annulus::test::Program {
 protected:
  void expect_refusal(const std::string& arguments, const std::string& environment,
                      const std::string& says) const {
    SCOPED_TRACE(arguments);
    expect_no_device(run(arguments, environment), says);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  }
};

TEST_F(NoDevice, IsOneLineInEveryCommandThatComputes) {
  const std::string old = "ANNULUS_CPU_DRIVER_VERSION=11080";
  for (const std::string& arguments :
       {kTrain, kTrain + " --device auto", kTrain + " --device cpu", kTrain + " --ranks auto",
        std::string("bench allreduce --ranks 1")})
    expect_refusal(arguments, old, "the NVIDIA driver is too old: the driver serves CUDA 11.8 ");
  expect_refusal(kTrain, "ANNULUS_CPU_DRIVER_VERSION=0", "there is no NVIDIA driver");
  expect_refusal(kTrain, "ANNULUS_CPU_DEVICES=0", "no device is visible: ANNULUS_CPU_DEVICES is 0");
}

TEST_F(NoDevice, IsFoundBeforeWeightsAreRead) {
  ASSERT_EQ(run(kTrain + "-before").code, 0);
  expect_refusal("eval --data synthetic --weights run-before", "ANNULUS_CPU_DEVICES=0",
                 "no device is visible");
}

// Older than the program within its major version: CUDA takes it.
TEST_F(NoDevice, IsNotSaidOfADriverThatCudaTakes) {
  EXPECT_EQ(run(kTrain, "ANNULUS_CPU_DRIVER_VERSION=99000").code, 0);
}

// A list for GPUs says nothing about the CPU device, whatever its entries look like.
TEST_F(NoDevice, IsNotSaidOfTheCpuDeviceForAListOfGpus) {
  for (const std::string list : {"", "-1", "GPU-8932f937", "MIG-GPU-8932f937/1/2"}) {
    const Outcome outcome = run(kTrain + " --device cpu", "CUDA_VISIBLE_DEVICES='" + list + "'");
    EXPECT_EQ(outcome.code, 0) << list << ": " << outcome.err;
    std::filesystem::remove_all(folder_ / "run");
  }
}

}  // namespace
