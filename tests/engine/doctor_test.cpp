// What `annulus doctor` says: each check against stated facts, the reading of this machine, with
// libibverbs' stand-in for its fabric, and the report with its exit code.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/doctor/checks.h"
#include "engine/doctor/report.h"
#include "tests/comm/ibverbs_stand_in.h"

namespace annulus::doctor {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}
const Environment kNothingSet = variables({});

// The finding of this name, or one that no check makes.
Finding find(const std::vector<Finding>& findings, const std::string& name) {
  for (const Finding& finding : findings)
    if (finding.name == name) return finding;
  return {.name = "", .fact = "no finding " + name};
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
}

// --- devices ---

DeviceFacts gpus(int count) {
  DeviceFacts facts{.visible = {.count = count, .driver_version = 12040, .runtime_version = 12040},
                    .nvidia_driver = true};
  cudaDeviceProp properties{.totalGlobalMem = std::size_t{80} << 30, .major = 9};
  std::strcpy(properties.name, "NVIDIA H100");
  facts.devices.assign(static_cast<std::size_t>(count), properties);
  return facts;
}

// What CUDA says where there is none: visible_devices_test.
TEST(Devices, ADriverThatIsTooOldIsAnError) {
  DeviceFacts facts = gpus(0);
  facts.visible.status = cudaErrorInsufficientDriver;
  facts.visible.driver_version = 12020;
  const auto findings = check_devices(facts, 2, kNothingSet);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].name, "driver");
  EXPECT_EQ(findings[0].state, State::error);
  EXPECT_EQ(findings[0].code, ExitCode::device);
  expect_words(findings[0].fact, {"too old", "12.2 (12020)", "12.4 (12040)"});
}

TEST(Devices, AnOlderDriverThatCudaTakesIsAWarning) {
  DeviceFacts facts = gpus(1);
  facts.visible.driver_version = 12020;
  const Finding finding = find(check_devices(facts, 2, kNothingSet), "driver");
  EXPECT_EQ(finding.state, State::warning);
  expect_words(finding.fact, {"12020", "12040"});
}

TEST(Devices, GpusByName) {
  const auto findings = check_devices(gpus(2), 2, kNothingSet);
  EXPECT_EQ(find(findings, "GPU 1").fact, "NVIDIA H100, 80 GiB, compute capability 9.0");
  EXPECT_EQ(find(findings, "driver").state, State::ok);
}

TEST(Devices, NoneIsAWarningThatSaysWhy) {
  DeviceFacts facts = gpus(0);
  facts.visible.status = cudaErrorNoDevice;
  const auto findings = check_devices(facts, 2, variables({{"CUDA_VISIBLE_DEVICES", "-1"}}));
  const Finding finding = find(findings, "devices");
  EXPECT_EQ(finding.state, State::warning);
  expect_words(finding.fact, {"CUDA_VISIBLE_DEVICES='-1'"});
}

TEST(Devices, VisibleDevicesAreShownAsTheyAre) {
  for (const char* visible : {"GPU-8932f937-d72c", "MIG-GPU-8932f937/1/2", "", "-1"}) {
    const auto findings = check_devices(gpus(1), 2, variables({{"CUDA_VISIBLE_DEVICES", visible}}));
    EXPECT_EQ(find(findings, "CUDA_VISIBLE_DEVICES").fact, "'" + std::string(visible) + "'");
    EXPECT_NE(find(findings, "GPU 0").name, "") << "the count is CUDA's";
  }
}

TEST(Devices, ThisMachinesCpuDevice) {
  const DeviceFacts facts = read_devices();
  EXPECT_FALSE(facts.on_gpus());
  const Finding finding = find(check_devices(facts, 3, kNothingSet), "CPU device");
  EXPECT_EQ(finding.state, State::ok);
  expect_words(finding.fact, {"1 in place of a GPU", "GiB", "threads: up to 3"});
}

// --- network ---

const std::vector<Interface> kHost = {
    {.name = "lo", .addresses = {"127.0.0.1"}, .up = true, .loopback = true},
    {.name = "eth0", .addresses = {"10.0.0.7"}, .up = true}};

TEST(Network, AFilterThatMatchesNothingIsAWrongSetting) {
  const auto findings = check_network(kHost, variables({{"NCCL_SOCKET_IFNAME", "net"}}));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].state, State::error);
  EXPECT_EQ(findings[0].code, ExitCode::usage);
  expect_words(findings[0].fact, {"'net'", "have lo, eth0"});
  EXPECT_FALSE(findings[0].fix.empty());
}

TEST(Network, LoopbackWorksOnOneHostOnly) {
  const auto findings = check_network(kHost, variables({{"NCCL_SOCKET_IFNAME", "lo"}}));
  EXPECT_EQ(findings.at(0).state, State::warning);
  expect_words(findings[0].fact, {"lo (127.0.0.1)", "this host only"});
  EXPECT_EQ(check_network(kHost, kNothingSet).at(0).state, State::ok);
  // The bootstrap takes the first that is left.
  EXPECT_EQ(check_network(kHost, variables({{"NCCL_SOCKET_IFNAME", "^docker"}})).at(0).state,
            State::warning);
}

TEST(Network, AFamilyThatNcclDoesNotKnow) {
  const auto findings = check_network(kHost, variables({{"NCCL_SOCKET_FAMILY", "ipv4"}}));
  EXPECT_EQ(find(findings, "NCCL_SOCKET_FAMILY").state, State::warning);
}

// --- fabric ---

std::vector<Finding> fabric_of(std::vector<stand_in::DeviceRow> rows,
                               const Environment& environment = kNothingSet) {
  stand_in::devices() = std::move(rows);
  return check_fabric(read_fabric(false), environment);
}

const std::vector<stand_in::DeviceRow> kFabric = {
    stand_in::infiniband_device(), stand_in::roce_device(), stand_in::device_without_cable()};

// Lowers the soft limit, which a process may raise again.
class LockedMemoryLimit {
 public:
  explicit LockedMemoryLimit(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit lowered{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &lowered);
  }
  ~LockedMemoryLimit() { setrlimit(RLIMIT_MEMLOCK, &before_); }
  LockedMemoryLimit(const LockedMemoryLimit&) = delete;
  LockedMemoryLimit& operator=(const LockedMemoryLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Fabric, TheRightDeviceGidIndexAndAdvice) {
  const auto findings = fabric_of(kFabric);
  expect_words(find(findings, "mlx5_0:1").fact, {"InfiniBand, active, 200 Gb/s"});
  expect_words(find(findings, "mlx5_1:1").fact, {"RoCE, active, 100 Gb/s"});
  EXPECT_EQ(find(findings, "mlx5_1:1 GID 4").fact, "RoCE v1 10.1.2.3");
  EXPECT_EQ(find(findings, "mlx5_1:1 GID 5").fact, "RoCE v2 10.1.2.3, the one to use");
  EXPECT_EQ(find(findings, "to use InfiniBand").fix, "set NCCL_IB_HCA=mlx5_0:1");
  EXPECT_EQ(find(findings, "to use RoCE").fix, "set NCCL_IB_HCA=mlx5_1:1 NCCL_IB_GID_INDEX=5");
  const Finding down = find(findings, "mlx5_2:1");
  EXPECT_EQ(down.state, State::warning);
  expect_words(down.fact + down.fix, {"down: no signal", "cable"});
}

TEST(Fabric, ALowLockedMemoryLimitIsAWarning) {
  const LockedMemoryLimit limit(65536);
  const Finding low = find(fabric_of(kFabric), "locked memory");
  EXPECT_EQ(low.state, State::warning);
  expect_words(low.fact + low.fix, {"64 KiB", "IPC_LOCK"});

  const Environment enabled = variables({{"NCCL_IB_DISABLE", "0"}});
  EXPECT_EQ(find(fabric_of({}, enabled), "locked memory").state, State::warning)
      << "InfiniBand is asked for";
  EXPECT_EQ(find(fabric_of({}), "locked memory").name, "") << "and nobody needs it here";
  const Environment disabled = variables({{"NCCL_IB_DISABLE", "1"}});
  EXPECT_EQ(find(fabric_of(kFabric, disabled), "locked memory").name, "");
}

TEST(RdmaMemory, EnoughLockedMemoryIsFine) {
  EXPECT_EQ(find(check_rdma_memory({}), "locked memory").fact, "no limit");
  const Finding enough = find(check_rdma_memory({.lockable = 64 << 20}), "locked memory");
  EXPECT_EQ(enough.state, State::ok);
}

TEST(Fabric, SettingsThatFitNoPort) {
  const Finding hca =
      find(fabric_of(kFabric, variables({{"NCCL_IB_HCA", "=mlx5_2"}})), "NCCL_IB_HCA");
  EXPECT_EQ(hca.state, State::error);
  EXPECT_EQ(hca.code, ExitCode::usage);
  expect_words(hca.fact, {"have mlx5_0:1, mlx5_1:1"});

  auto with_gid = [](const char* index) {
    return find(fabric_of(kFabric, variables({{"NCCL_IB_GID_INDEX", index}})), "NCCL_IB_GID_INDEX");
  };
  EXPECT_EQ(with_gid("5").name, "");
  EXPECT_EQ(with_gid("6").name, "") << "routed too";
  EXPECT_EQ(with_gid("-1").name, "") << "NCCL chooses";
  EXPECT_EQ(with_gid("0").state, State::warning);
  expect_words(with_gid("2").fact + with_gid("2").fix, {"link-local", "set it to 5"});
  EXPECT_EQ(with_gid("3").state, State::error);
  const auto ib_only = variables({{"NCCL_IB_GID_INDEX", "3"}, {"NCCL_IB_HCA", "mlx5_0"}});
  EXPECT_EQ(find(fabric_of(kFabric, ib_only), "NCCL_IB_GID_INDEX").name, "");
}

TEST(RdmaMemory, GpuDirect) {
  auto direct = [](const RdmaMemoryFacts& facts) {
    return find(check_rdma_memory(facts), "GPUDirect RDMA");
  };
  EXPECT_EQ(direct({.on_gpus = true}).state, State::warning);
  expect_words(direct({.dma_buf = true, .on_gpus = true}).fact, {"dma-buf"});
  expect_words(direct({.peer_memory_module = true, .on_gpus = true}).fact, {"nvidia_peermem"});
  EXPECT_EQ(direct({}).state, State::note);
}

TEST(Fabric, NoAdapterIsANote) {
  const auto findings = fabric_of({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].state, State::note);
}

// --- host ---

TEST(Host, FreeSpaceIsJudgedNotSize) {
  SharedMemoryFacts facts{.path = "/dev/shm", .free = 100 << 10, .size = 1 << 30};
  const Finding finding = check_shared_memory(facts, 8, true).at(0);
  EXPECT_EQ(finding.state, State::error);
  EXPECT_EQ(finding.code, ExitCode::device);
  expect_words(finding.fact,
               {"100 KiB free of 1 GiB", "NCCL needs 160 MiB for 8 ranks", "10 MB a peer"});
  expect_words(finding.fix, {"emptyDir", "medium: Memory"});
  EXPECT_EQ(check_shared_memory(facts, 8, false).at(0).state, State::warning);
  EXPECT_EQ(check_shared_memory(facts, 1, true).at(0).state, State::ok);
  facts.free = 160 << 20;
  EXPECT_EQ(check_shared_memory(facts, 8, true).at(0).state, State::ok);
}

TEST(Host, LeftOverSegmentsAreNamed) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("annulus-doctor-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "nccl-AbCdEf") << std::string(900 << 10, 'x');
  std::ofstream(folder / "other") << "x";
  const auto findings = check_shared_memory(read_shared_memory(folder), 2, true);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].name, "nccl-AbCdEf");
  EXPECT_EQ(findings[1].state, State::warning);
  expect_words(findings[1].fact, {"900 KiB"});
  EXPECT_EQ(check_shared_memory(read_shared_memory(folder), 2, true).at(0).state, State::error);
}

TEST(Host, Cores) {
  const Cores whole{.allowed = {0, 1, 2, 3}, .online = 4};
  EXPECT_EQ(check_cores(whole, 4).at(0).fact, "4 of 4 may be used");
  EXPECT_EQ(check_cores(whole, 4).at(0).state, State::ok);
  EXPECT_EQ(check_cores(whole, 5).at(0).state, State::warning);
  EXPECT_EQ(check_cores({.allowed = {2, 3}, .online = 4}, 1).at(0).fact,
            "2 of 4 may be used (affinity mask)");
  EXPECT_EQ(check_cores({.allowed = {0, 1, 2, 3}, .online = 4, .quota = 1.5}, 1).at(0).fact,
            "1 of 4 may be used (the cgroup's CPU quota: 1.5)");
}

// --- report ---

const std::vector<Group> kGroups = {
    {"network", {{.name = "eth", .fact = "up"}, {State::warning, "lo", "alone", "leave it"}}},
    {"host", {{State::error, "cores", "none", "", ExitCode::usage}}}};

TEST(Report, ALineEachAlignedAndColouredOnRequest) {
  EXPECT_EQ(to_text(kGroups, {}),
            "network\n"
            "  ok       eth: up\n"
            "  warning  lo:  alone; leave it\n"
            "\n"
            "host\n"
            "  error    cores: none\n"
            "\n"
            "1 error, 1 warning\n");
  expect_words(to_text(kGroups, {.coloured = true}),
               {"\x1b[33mwarning\x1b[0m", "\x1b[31merror  \x1b[0m"});
}

TEST(Report, LongLinesAreWrappedAtTheTerminalsWidth) {
  const std::vector<Group> groups = {
      {"host", {{.name = "cores", .fact = "one two three four", .fix = "five six seven"}}}};
  EXPECT_EQ(to_text(groups, {.columns = 40}),
            "host\n"
            "  ok       cores: one two three four;\n"
            "                  five six seven\n"
            "\n"
            "nothing to mend\n");
}

TEST(Report, JsonHasEveryFinding) {
  const auto array = nlohmann::json::parse(to_json(kGroups));
  ASSERT_EQ(array.size(), 3u);
  EXPECT_EQ(array[1]["group"], "network");
  EXPECT_EQ(array[1]["state"], "warning");
  EXPECT_EQ(array[1]["fix"], "leave it");
}

TEST(Report, TheFirstErrorDecidesTheExitCode) {
  EXPECT_EQ(exit_code(kGroups), ExitCode::usage);
  EXPECT_EQ(exit_code({kGroups[0]}), ExitCode::done);
}

}  // namespace
}  // namespace annulus::doctor
