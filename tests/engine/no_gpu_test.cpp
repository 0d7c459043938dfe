// The cuda preset's program with NVIDIA's own runtime before a driver that is too old, or that
// shows no device: one line and code 4, and never silently the CPU (cases G01, G02, G04). The
// driver is driver_stand_in.cpp; the words alone: visible_devices_test.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;

const std::string kTrain = "train --model mlp --data synthetic --max-steps 1 --out run ";

class NoGpu : public annulus::test::Program {
 protected:
  Outcome before_driver(const std::string& version, const std::string& arguments,
                        const std::string& environment = "") const {
    return run(arguments, "-u CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH=" STAND_IN_FOLDER
                          " STAND_IN_DRIVER_VERSION=" +
                              version + " " + environment);
  }
};

TEST_F(NoGpu, ForADriverOfAnOlderCuda) {
  for (const char* device : {"cuda", "auto"})
    expect_no_device(
        before_driver("11080", kTrain + "--device " + device),
        "the NVIDIA driver is too old: the driver serves CUDA 11.8 (11080), the program "
        "is of CUDA 1");
}

TEST_F(NoGpu, InAContainerWithoutOne) {
  for (const char* device : {"cuda", "auto"})
    expect_no_device(before_driver("99990", kTrain + "--device " + device),
                     "no GPU is visible; give the container one");
}

TEST_F(NoGpu, ForAListThatNamesNone) {
  for (const std::string list : {"", "-1", "GPU-8932f937", "MIG-GPU-8932f937/1/2"})
    expect_no_device(before_driver("99990", kTrain, "CUDA_VISIBLE_DEVICES='" + list + "'"),
                     "no GPU is visible: CUDA_VISIBLE_DEVICES='" + list + "' names none of them");
}

TEST_F(NoGpu, IsNoHindranceToTheCpuDevice) {
  const Outcome outcome = before_driver("11080", kTrain + "--device cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(NoGpu, DoctorSaysTheSame) {
  const Outcome old = before_driver("11080", "doctor");
  EXPECT_EQ(old.code, 4);
  EXPECT_NE(old.out.find("the driver serves CUDA 11.8 (11080)"), std::string::npos) << old.out;
  const Outcome hidden = before_driver("99990", "doctor", "CUDA_VISIBLE_DEVICES=-1");
  EXPECT_NE(hidden.out.find("CUDA_VISIBLE_DEVICES='-1' names none"), std::string::npos);
}

}  // namespace
