// Writes the inputs that fuzzing starts from: valid files of every format, small. A seed that its
// reader refuses is an error, so that seeds cannot fall behind the formats.
// usage: fuzz_seeds FOLDER
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/control_messages.h"
#include "comm/hostfile.h"
#include "comm/pod_name.h"
#include "comm/resolv_conf.h"
#include "comm/tf_config.h"
#include "comm/topology.h"
#include "data/checksum.h"
#include "data/cifar_pickle.h"
#include "data/idx.h"
#include "data/pickle.h"
#include "data/pickle_writer.h"
#include "data/tar.h"
#include "engine/checkpoint.h"
#include "engine/k8s/lint.h"
#include "tests/data/made_files.h"
#include "tests/engine/files.h"

namespace {

namespace fs = std::filesystem;

using namespace annulus;
using test::Bytes;

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void write(const std::string& target, const Bytes& bytes) {
    const fs::path folder = folder_ / target;
    fs::create_directories(folder);
    std::ofstream(folder / std::to_string(count_++), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  fs::path folder_;
  int count_ = 0;
};

void pickles(Seeds& seeds) {
  const Bytes planes(kCifarPixels, 200);
  for (const test::Dialect dialect : test::kDialects)
    for (const Cifar* cifar : {&kCifar10, &kCifar100}) {
      test::CifarDictionary dictionary(dialect);
      if (cifar == &kCifar10)
        dictionary.labels("labels", {7});
      else
        dictionary.labels("fine_labels", {99}).labels("coarse_labels", {19});
      const Bytes bytes = dictionary.array("data", 1, kCifarPixels, planes).finished();
      Dataset dataset = empty_cifar(*cifar);
      append_cifar_pickle(*cifar, "seed", bytes, dataset);
      seeds.write("pickle", bytes);
    }
  // Small ones, which change fast: pickles, though not CIFAR's.
  for (const test::Dialect dialect : test::kDialects) {
    const Bytes bytes = test::CifarDictionary(dialect)
                            .labels("labels", {1, 300})
                            .array("data", 1, 2, {3, 4})
                            .finished();
    static_cast<void>(Pickle("seed", bytes).root());
    seeds.write("pickle", bytes);
  }
  PickleWriter meta;
  seeds.write("pickle", meta.begin_dict().string("label_names").strings({"a", "b"}).end_dict());
}

void records(Seeds& seeds) {
  for (const Cifar* cifar : {&kCifar10, &kCifar100}) {
    const Bytes bytes(2 * cifar->record(), 3);
    Dataset dataset = empty_cifar(*cifar);
    append_cifar_records(*cifar, "seed", bytes, dataset);
    seeds.write("cifar", bytes);
  }
}

void idx_files(Seeds& seeds) {
  const Bytes images = test::idx_images(2, 3, 4), labels = test::idx_labels({1, 9});
  for (const bool packed : {false, true}) {
    const Bytes i = packed ? test::gzip(images) : images, l = packed ? test::gzip(labels) : labels;
    Dataset dataset;
    dataset.classes = 10;
    append_idx({"seed", i}, {"seed", l}, dataset);
    seeds.write("idx", test::joined({{static_cast<std::uint8_t>(l.size())}, l, i}));
  }
}

void archives(Seeds& seeds) {
  const Bytes tar = test::tar({
      test::tar_member("folder/", {}, '5'),
      test::tar_member("file", {1, 2, 3}, '0', "prefix"),
      test::tar_member("long", test::bytes_of(std::string(120, 'n')), 'L'),
      test::tar_member("file", {4}),
      test::tar_member("pax", test::bytes_of("12 path=abc\n10 size=2\n"), 'x'),
      test::tar_member("file", {5, 6}),
  });
  MemorySource source(tar);
  const fs::path path = "seed";
  TarReader reader(path, source);
  while (reader.next()) {
  }
  seeds.write("tar", tar);
  seeds.write("tar", test::gzip(tar));
  // A few bytes that unpack to a member larger than is read.
  const Bytes zeros(std::size_t{3} << 19);
  seeds.write("tar", test::gzip(test::tar({test::tar_member("zeros", zeros)})));
}

void containers(Seeds& seeds) {
  const std::vector<float> values = {1.f, 2.f, 3.f, 4.f};
  std::vector<Tensor> tensors = {float_tensor("a", {2, 2}, values), float_tensor("b", {4}, values)};
  const Bytes weights = tensor_file_bytes({{"model", "mlp"}}, tensors);
  parse_tensor_file("seed", weights);
  seeds.write("safetensors", weights);

  const Bytes blank(64);
  tensors.push_back({.name = "sha256", .type = "U8", .shape = {64}, .bytes = blank});
  RunState state;
  state.global_batch = state.rate_batch = 64;
  Bytes checkpoint = tensor_file_bytes({{"annulus-checkpoint-1", text_of(state)}}, tensors);
  Sha256 sum;
  sum.add(std::span(checkpoint).first(checkpoint.size() - blank.size()));
  const std::string digest = sum.finish();
  std::copy(digest.begin(), digest.end(), checkpoint.end() - 64);
  parse_checkpoint("seed", checkpoint);
  seeds.write("checkpoint", checkpoint);
}

void resolver_settings(Seeds& seeds) {
  const std::string kubelet =
      "search ml.svc.cluster.local svc.cluster.local cluster.local\n"
      "nameserver 10.96.0.10\noptions ndots:5\n";
  if (!parse_resolv_conf(kubelet).cluster()) throw std::runtime_error("resolv.conf: no cluster");
  for (const char* host : {"cifar-worker-0", "cifar-node-0-0.cifar", "a.b.svc", "Head.example."})
    seeds.write("resolv_conf", test::bytes_of(kubelet + host));
}

// A frame of each type behind the size of the pieces in which it comes.
void frames(Seeds& seeds) {
  using namespace control;
  Hello hello{.job = "job", .generation = "1", .rank = 1, .world = 4, .node = 0, .local_ranks = 2};
  hello.host = "host";
  hello.facts = {{"model", "mlp"}, {"device", "0", Fact::Rule::must_differ}};
  const Frame contribution = Contribution{.call = "gather", .text = "x"}.frame();
  const std::vector<Frame> all = {hello.frame(),
                                  contribution,
                                  Leave{ExitCode::data, "reason", {}}.frame(),
                                  Proof{"proof"}.frame(),
                                  Heartbeat{{"step", 12, 3}}.frame(),
                                  Welcome{"host", "1", "proof"}.frame(),
                                  Refusal{ExitCode::refused, "reason"}.frame(),
                                  Result{{"a", "b"}}.frame(),
                                  loss_frame({1, ExitCode::peer_lost, "message"}),
                                  Challenge{"challenge"}.frame(),
                                  Waiting{"words"}.frame(),
                                  {FrameType::farewell, ""}};
  std::string together;
  for (const Frame& frame : all) {
    const std::string bytes = encode(frame);
    together += bytes;
    seeds.write("control", test::bytes_of("\xff" + bytes));
  }
  seeds.write("control", test::bytes_of("\x07" + together));
}

void write_text(Seeds& seeds, const std::string& target, const std::string& text) {
  seeds.write(target, test::bytes_of(text));
}

void clusters(Seeds& seeds) {
  for (const bool chief : {false, true}) {
    Topology topology;
    topology.workers = {{"h0", 1}, {"fd00::7", 2}, {"h2.job.ns.svc", 3}};
    topology.chief = chief;
    topology.index = 1;
    const std::string text = tf_config_text(topology);
    static_cast<void>(parse_tf_config(text));
    write_text(seeds, "tf_config", text);
  }
  write_text(seeds, "tf_config", R"({"task": {"type": "evaluator", "index": 0}, "cluster": {}})");
  write_text(seeds, "tf_config", R"({"cluster": {"worker": {"1": "h:1"}}, "task": {"index": 1}})");
  for (const char* text : {"a slots=8\nb\n# c\n", "a:8\nb:2\n", "fd00::7 slots=2 max_slots=4"}) {
    static_cast<void>(parse_hostfile("seed", text));
    write_text(seeds, "hostfile", text);
  }
}

void host_names(Seeds& seeds) {
  for (const char* name : {"a-node-0-1-node-0-12", "a-node-3-0", "a-worker-1", "a-ps-0.b"}) {
    static_cast<void>(parse_pod_name(name));
    write_text(seeds, "pod_name", name);
  }
  for (const char* name : {"a-node-0-0-7lbsc", "a-node-0--1", "-node-0-1"})
    write_text(seeds, "pod_name", name);
  write_text(seeds, "pod_name", std::string(60, 'x') + "-no");
}

// Those that break the rules of the lint, and those that keep them.
void manifests(Seeds& seeds) {
  for (const auto& entry : fs::directory_iterator(ANNULUS_LINT_MANIFESTS)) {
    const std::string text = test::slurp(entry.path());
    if (!k8s::lint({{"seed", text}}, {}).faults.empty()) throw std::runtime_error(entry.path());
    write_text(seeds, "k8s_manifest", text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} FOLDER\n", argv[0]);
    return 2;
  }
  try {
    Seeds seeds(argv[1]);
    pickles(seeds);
    records(seeds);
    idx_files(seeds);
    archives(seeds);
    containers(seeds);
    clusters(seeds);
    host_names(seeds);
    resolver_settings(seeds);
    frames(seeds);
    manifests(seeds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fuzz_seeds: {}\n", error.what());
    return 1;
  }
  return 0;
}
