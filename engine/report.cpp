// See report.h.
#include "engine/report.h"

#include <nlohmann/json.hpp>

#include "comm/console.h"
#include "engine/katib.h"

namespace annulus {
namespace {

const char* const kKatibFix = "choose a file in a folder that exists with --katib-metrics";

}  // namespace

void check_report_files(const TrainOptions& options) {
  if (!options.katib_metrics.empty())
    RecordFile(options.katib_metrics, RecordFile::Earlier::stays, kKatibFix);
}

Report::Report(const TrainOptions& options, const RunFolder& folder) : folder_(folder) {
  if (!options.katib_metrics.empty())
    katib_.emplace(options.katib_metrics, RecordFile::Earlier::goes, kKatibFix);
  if (options.tensorboard) tensorboard_.emplace(folder.path());
  for (const nlohmann::ordered_json& epoch : read_metrics(folder.metrics()).epochs)
    add_to_other_files(epoch);
}

void Report::epoch(const EpochMetrics& metrics) {
  const nlohmann::ordered_json json = epoch_json(metrics);
  print_line(epoch_line(metrics));
  folder_.append_metrics(json.dump());
  add_to_other_files(json);
}

void Report::add_to_other_files(const nlohmann::ordered_json& epoch) {
  if (katib_) katib_->append(katib_line(epoch) + '\n');
  if (tensorboard_) tensorboard_->add(epoch);
}

}  // namespace annulus
