// Puts calls, limits and cuDNN's word together.
#include "engine/forecast/forecast.h"

#include <fmt/format.h>

#include "kernels/check.h"
#include "kernels/conv_graph.h"
#include "kernels/cudnn_device.h"

namespace annulus::forecast {
namespace {

void require_precision(const Gpu& gpu, const Precision& precision) {
  const std::string name(precision.name);
  if (gpu.peak_flops.contains(name)) return;
  std::string others;
  for (const auto& [other, peak] : gpu.peak_flops) others += (others.empty() ? "" : ", ") + other;
  throw UserError(
      ExitCode::usage,
      fmt::format("--precision {}: {} does not compute in it; it has {}", name, gpu.name, others));
}

// cuDNN's heuristics also answer for GPUs whose kernels the library no longer holds.
void require_kernels(const Gpu& gpu) {
  if (!gpu.last_cudnn || cudnnGetVersion() <= *gpu.last_cudnn) return;
  const auto version = [](std::size_t v) {
    return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  };
  throw UserError(ExitCode::device,
                  fmt::format("cuDNN {} holds no kernels for {}: the last that does is {}",
                              version(cudnnGetVersion()), gpu.name, version(*gpu.last_cudnn)));
}

// The graph that cuDNN is asked for; empty where it computes nothing.
std::vector<cudnn_graph::Descriptor> operations_of(const StepCall& call, Element element) {
  if (call.convolution)
    return conv_operations(call.convolution->shape, call.convolution->kind, element);
  if (call.batchnorm)
    return batchnorm_operations(call.batchnorm->shape, call.batchnorm->pass, element);
  return {};
}

void ask_cudnn(Forecast& forecast) {
  const auto device = cudnn_graph::described_device(forecast.gpu.cudnn_properties);
  require_kernels(forecast.gpu);
  for (Row& row : forecast.rows) {
    const auto operations = operations_of(row.call, forecast.precision.element);
    if (!operations.empty())
      row.engines = cudnn_graph::engines_for(device, operations,
                                             {.reduced_inputs = forecast.precision.reduced_inputs});
  }
}

template <class Value>
double sum(const std::vector<Row>& rows, Value&& value) {
  double total = 0;
  for (const Row& row : rows) total += value(row);
  return total;
}

}  // namespace

double Forecast::seconds() const {
  return sum(rows, [](const Row& row) { return row.seconds(); });
}
double Forecast::memory_bound_seconds() const {
  return sum(rows, [](const Row& row) { return row.memory_bound() ? row.seconds() : 0; });
}
double Forecast::flops() const {
  return sum(rows, [](const Row& row) { return row.call.flops; });
}
double Forecast::bytes() const {
  return sum(rows, [](const Row& row) { return row.call.bytes; });
}

Forecast make_forecast(const Model& model, const Gpu& gpu, int images, const Precision& precision) {
  require_precision(gpu, precision);
  Forecast forecast{.model = model.name(),
                    .gpu = gpu,
                    .precision = precision,
                    .images = images,
                    .rows = {},
                    .not_asked = {}};
  for (StepCall& call : step_calls(model, images, precision)) {
    const double compute = call.flops / forecast.peak();
    const double memory = call.bytes / gpu.bytes_per_second;
    forecast.rows.push_back({std::move(call), compute, memory, {}});
  }
  try {
    ask_cudnn(forecast);
  } catch (const UserError& error) {
    forecast.not_asked = error.what();
  } catch (const DeviceError& error) {
    forecast.not_asked = error.what();
  }
  return forecast;
}

}  // namespace annulus::forecast
