// The renderings of a topology: exact bytes, and what our own reader of TF_CONFIG makes of them.
#include "comm/topology.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "comm/hostfile.h"
#include "comm/tf_config.h"

namespace annulus {
namespace {

Topology two_workers() {
  Topology topology;
  for (const char* index : {"0", "1"})
    topology.workers.push_back({std::string("tf-distributed-training-node-0-") + index +
                                    ".tf-distributed-training.ml.svc.cluster.local",
                                12345});
  topology.index = 1;
  return topology;
}

Topology with_chief(int index) {
  Topology topology;
  topology.workers = {{"c", 1}, {"w0", 1}, {"w1", 1}};
  topology.chief = true;
  topology.index = index;
  return topology;
}

TEST(Topology, TfConfigOfWorkers) {
  EXPECT_EQ(
      tf_config_text(two_workers()),
      R"({"cluster": {"worker": [)"
      R"("tf-distributed-training-node-0-0.tf-distributed-training.ml.svc.cluster.local:12345", )"
      R"("tf-distributed-training-node-0-1.tf-distributed-training.ml.svc.cluster.local:12345"]}, )"
      R"("task": {"type": "worker", "index": 1}})");
}

TEST(Topology, TfConfigWithAChief) {
  EXPECT_EQ(tf_config_text(with_chief(0)),
            R"({"cluster": {"chief": ["c:1"], "worker": ["w0:1", "w1:1"]}, )"
            R"("task": {"type": "chief", "index": 0}})");
  EXPECT_EQ(tf_config_text(with_chief(2)),
            R"({"cluster": {"chief": ["c:1"], "worker": ["w0:1", "w1:1"]}, )"
            R"("task": {"type": "worker", "index": 1}})");
  Topology alone = with_chief(0);
  alone.workers.resize(1);
  EXPECT_EQ(tf_config_text(alone),
            R"({"cluster": {"chief": ["c:1"]}, "task": {"type": "chief", "index": 0}})");
}

TEST(Topology, TfConfigIsReadAsItWasWritten) {
  for (const Topology& topology : {two_workers(), with_chief(0), with_chief(1), with_chief(2)}) {
    const TfConfig read = parse_tf_config(tf_config_text(topology));
    EXPECT_EQ(read.workers, topology.workers);
    EXPECT_EQ(read.index, topology.index);
    EXPECT_EQ(read.chief, topology.chief);
  }
}

TEST(Topology, TfConfigHasTheBytesOfPython) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3 here";
  Topology odd;
  odd.workers = {{"fd00::7", 12345}, {"h\xc3\xa9\"\\\x7f/\x01", 1}};
  for (const Topology& topology : {two_workers(), with_chief(0), with_chief(2), odd}) {
    const std::string text = tf_config_text(topology);
    setenv("WRITTEN", text.c_str(), 1);
    FILE* pipe = popen(
        "python3 -c 'import json, os; print(json.dumps(json.loads(os.environ[\"WRITTEN\"])), "
        "end=\"\")'",
        "r");
    std::array<char, 1 << 12> printed{};
    const std::size_t size = fread(printed.data(), 1, printed.size(), pipe);
    EXPECT_EQ(pclose(pipe), 0);
    EXPECT_EQ(text, std::string(printed.data(), size));
  }
}

TEST(Topology, VariablesOfTorchrun) {
  Topology topology = two_workers();
  topology.local_ranks = 8;
  const std::vector<std::pair<std::string, std::string>> expected{
      {"MASTER_ADDR", topology.workers[0].host},
      {"MASTER_PORT", "12345"},
      {"RANK", "11"},
      {"WORLD_SIZE", "16"},
      {"LOCAL_RANK", "3"},
      {"LOCAL_WORLD_SIZE", "8"},
      {"GROUP_RANK", "1"}};
  EXPECT_EQ(torchrun_variables(topology, 3), expected);
}

TEST(Topology, SettingsOfTorchrun) {
  Topology topology = with_chief(1);
  topology.local_ranks = 8;
  EXPECT_EQ(torchrun_text(topology),
            "PET_MASTER_ADDR=c\nPET_MASTER_PORT=1\nPET_NNODES=3\nPET_NODE_RANK=1\n"
            "PET_NPROC_PER_NODE=8\n");
}

TEST(Topology, HostfileOfMpi) {
  Topology topology = with_chief(0);
  topology.local_ranks = 8;
  EXPECT_EQ(hostfile_text(topology), "c slots=8\nw0 slots=8\nw1 slots=8\n");
  EXPECT_EQ(parse_hostfile("hosts", hostfile_text(topology)).size(), 3U);
}

}  // namespace
}  // namespace annulus
