// See metrics_page.h.
#include "engine/observe/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/build_info.h"

namespace annulus {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kMillisecond = 1e-3;

class Page {
 public:
  void gauge(const char* name, const char* help, std::optional<double> value) {
    if (!value) return;
    ClientMetric metric;
    metric.gauge.value = *value;
    add(name, help, MetricType::Gauge).metric.push_back(metric);
  }

  void counter(const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.counter.value = value;
    add(name, help, MetricType::Counter).metric.push_back(metric);
  }

  void info(const char* name, const char* help, std::vector<ClientMetric::Label> labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = 1;
    add(name, help, MetricType::Gauge).metric.push_back(metric);
  }

  MetricFamily& add(const char* name, const char* help, MetricType type) {
    return families_.emplace_back(MetricFamily{name, help, type, {}});
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

void add_steps(Page& page, const RunSnapshot& run) {
  ClientMetric metric;
  metric.histogram.sample_count = run.steps;
  metric.histogram.sample_sum = run.step_seconds;
  for (std::size_t i = 0; i < RunSnapshot::kStepBounds.size(); ++i)
    metric.histogram.bucket.push_back({run.steps_within[i], RunSnapshot::kStepBounds[i]});
  metric.histogram.bucket.push_back({run.steps, std::numeric_limits<double>::infinity()});
  page.add("annulus_step_seconds", "Training steps by their length on this rank's device.",
           MetricType::Histogram)
      .metric.push_back(metric);
}

void add_progress(Page& page, const RunSnapshot& run) {
  page.gauge("annulus_updates_done", "Updates of the weights since the run began, resumed or not.",
             double(run.updates));
  page.gauge("annulus_updates_planned", "Updates of the whole run.", double(run.planned_updates));
  page.gauge("annulus_epochs_done", "Epochs that are trained and evaluated.", double(run.epochs));
  page.counter("annulus_images_total", "Images that all ranks trained on since this start.",
               double(run.images));
  page.gauge("annulus_images_per_second", "Of all ranks, in the epoch under way.",
             run.images_per_second);
  page.gauge("annulus_loss", "Of the training images of the epoch so far.", run.loss);
  page.gauge("annulus_accuracy", "Of the training images of the epoch so far.", run.accuracy);
  page.gauge("annulus_loss_scale", "What the loss is multiplied with, in fp16.", run.loss_scale);
  page.gauge("annulus_remaining_seconds", "Until the run's end, by its pace so far.",
             run.seconds_left);
}

void add_evaluation(Page& page, const EpochMetrics& epoch) {
  page.gauge("annulus_validation_loss", "After the last epoch, on the test images.",
             epoch.validation.loss);
  page.gauge("annulus_validation_accuracy", "After the last epoch, on the test images.",
             epoch.validation.accuracy);
  page.gauge("annulus_learning_rate", "Of the last epoch's last update.", epoch.learning_rate);
  page.gauge("annulus_evaluation_seconds", "Of the last epoch's evaluation.",
             epoch.evaluation_seconds);
}

// Means of the last epoch over its latest steps and all ranks.
void add_communication(Page& page, const OverlapReport& report, int ranks) {
  page.gauge("annulus_overlap_ratio", "Share of communication that is behind compute.",
             report.overlap);
  page.gauge("annulus_exposed_seconds", "Communication in a step behind which nothing is computed.",
             kMillisecond * report.exposed);
  page.gauge("annulus_waiting_seconds", "In a step for slower ranks, with nothing to compute.",
             kMillisecond * report.waiting);
  if (std::isfinite(report.interference))
    page.gauge("annulus_interference_ratio", "How much longer layers take beside communication.",
               report.interference);
  MetricFamily& busbw =
      page.add("annulus_bucket_bus_bytes_per_second",
               "Bus bandwidth of a gradient bucket's all-reduce, as nccl-tests count it.",
               MetricType::Gauge);
  std::vector<ClientMetric> exposed;
  for (std::size_t b = 0; b < report.buckets.size(); ++b) {
    const BucketReport& bucket = report.buckets[b];
    ClientMetric metric;
    metric.label = {{"bucket", std::to_string(b)}};
    metric.gauge.value = bus_bandwidth(bucket, std::size_t(ranks));
    busbw.metric.push_back(metric);
    metric.gauge.value = kMillisecond * bucket.exposed;
    exposed.push_back(metric);
  }
  page.add("annulus_bucket_exposed_seconds",
           "Of a bucket's all-reduce in a step, behind which nothing is computed.",
           MetricType::Gauge)
      .metric = std::move(exposed);
}

}  // namespace

std::string metrics_page(const RunSnapshot& run) {
  Page page;
  page.info("annulus_run_info", "What runs here; always 1.",
            {{"version", std::string(build_info().version)},
             {"model", run.model},
             {"rank", std::to_string(run.rank)}});
  page.gauge("annulus_ranks", "Ranks of the run.", run.ranks);
  page.gauge("annulus_peers_alive", "Other ranks that have come and are not lost.",
             run.peers_alive);
  page.gauge("annulus_discovery_seconds", "Until the nodes of the run were known.",
             run.discovery_seconds);
  if (run.planned_updates) add_progress(page, run);
  if (run.steps) add_steps(page, run);
  if (run.last) add_evaluation(page, *run.last);
  if (run.last && run.last->overlap && run.last->overlap->steps)
    add_communication(page, *run.last->overlap, run.ranks);
  return page.text();
}

}  // namespace annulus
