// See plan.h.
#include "engine/cli/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "comm/console.h"
#include "engine/cli/add_option.h"
#include "engine/cli/option_facts.h"
#include "engine/cli/options.h"
#include "engine/forecast/forecast.h"
#include "engine/model/models.h"
#include "engine/precision.h"
#include "kernels/check.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

constexpr int kLargestSide = 4096, kMostChannels = 4096;

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : models()) names.push_back(entry.name);
  return names;
}

// "h200|…|FILE": what the option takes, for help and completions.
std::string device_choices() {
  std::string choices;
  for (const forecast::KnownGpu& known : forecast::known_gpus())
    choices += std::string(known.name) + "|";
  return choices + "FILE";
}

ImageShape image_shape(const std::string& text) {
  ImageShape shape{};
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%5dx%5dx%5d%n", &shape.height, &shape.width,
                               &shape.channels, &end);
  const auto within = [](int value, int most) { return value >= 1 && value <= most; };
  if (read != 3 || std::size_t(end) != text.size() || !within(shape.height, kLargestSide) ||
      !within(shape.width, kLargestSide) || !within(shape.channels, kMostChannels))
    throw UserError(
        ExitCode::usage,
        fmt::format("--image {}: give height, width and channels, as in 28x28x1", printable(text)));
  return shape;
}

}  // namespace

void add_plan_options(CLI::App& app, PlanCommand& command) {
  const std::vector<std::string> names = model_names();
  app.add_option("model", command.model, "the network")
      ->option_text(joined(names, "|"))
      ->check(CLI::IsMember(names))
      ->required();
  const char* group = "What to look at";
  app.add_option(
         "--device", command.device,
         "the GPU: one that is built in, or a JSON file; its variable is $ANNULUS_PLAN_DEVICE")
      ->envname("ANNULUS_PLAN_DEVICE")  // ANNULUS_DEVICE says where to compute
      ->option_text(device_choices())
      ->group(group)
      ->capture_default_str();
  add(app, group, "--batch-size", command.batch_size, "images per rank and update")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_precision_option(app, group, command.precision);
  add(app, group, "--image", command.image, "height, width and channels of an image")
      ->option_text("HxWxC")
      ->capture_default_str();
  add_replace_option(app, group, command.replace);
  app.add_flag("--json", command.json, "one JSON object instead of the table")
      ->envname("ANNULUS_JSON")
      ->group(group);
}

void run_plan(const PlanCommand& command) {
  const Precision precision = parse_precision(command.precision);
  const Model model = find_model(command.model)
                          .build({.image = image_shape(command.image),
                                  .replacements = parse_replacements(command.replace)});
  const forecast::Forecast result = forecast::make_forecast(
      model, forecast::find_gpu(command.device), command.batch_size, precision);
  print_line(command.json ? forecast::to_json(result) : forecast::to_text(result));
}

}  // namespace annulus
