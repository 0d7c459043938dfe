// See data.h. What is shown is what training would see: both come from load_datasets.
#include "engine/cli/data.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "comm/console.h"
#include "data/convert.h"
#include "data/dataset.h"

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::size_t> class_counts(const Dataset& dataset) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(dataset.classes));
  for (const std::uint8_t label : dataset.labels) ++counts[label];
  return counts;
}

Json info_json(const Datasets& data) {
  const ImageShape& image = data.train.image;
  const std::vector<std::size_t> train = class_counts(data.train), test = class_counts(data.test);
  Json classes = Json::array();
  for (std::size_t i = 0; i < train.size(); ++i)
    classes.push_back(
        {{"name", data.train.class_names[i]}, {"train", train[i]}, {"test", test[i]}});
  const auto channels = [&](const std::array<float, 4>& values) {
    return std::vector<float>(values.begin(), values.begin() + image.channels);
  };
  return {{"name", data.train.name},         {"format", data.format},
          {"source", data.source},           {"train_images", data.train.size()},
          {"test_images", data.test.size()}, {"image", {image.height, image.width, image.channels}},
          {"mean", channels(data.mean)},     {"std_dev", channels(data.std_dev)},
          {"sha256", data.checksum},         {"classes", classes}};
}

std::string channel_values(const std::array<float, 4>& values, int channels) {
  std::string text;
  for (int c = 0; c < channels; ++c) text += fmt::format("{}{:.2f}", c == 0 ? "" : "  ", values[c]);
  return text;
}

std::string info_text(const Datasets& data) {
  const ImageShape& image = data.train.image;
  const std::vector<std::size_t> train = class_counts(data.train), test = class_counts(data.test);
  std::size_t width = 0;  // of the longest class name
  for (const std::string& name : data.train.class_names) width = std::max(width, name.size());
  std::string text = fmt::format(
      "name     {}\n"
      "format   {}\n"
      "source   {}\n"
      "images   {} training, {} test\n"
      "shape    {} x {} x {} (height, width, channels), values 0 to 255\n"
      "mean     {}    per channel of the training images\n"
      "std      {}\n"
      "sha256   {}    of images and labels, the same in every layout\n"
      "\n"
      "{:{}}  training     test\n",
      data.train.name, data.format, data.source, data.train.size(), data.test.size(), image.height,
      image.width, image.channels, channel_values(data.mean, image.channels),
      channel_values(data.std_dev, image.channels), data.checksum, "class", width + 5);
  for (std::size_t i = 0; i < train.size(); ++i)
    text += fmt::format("{:3}  {:{}}  {:8}  {:7}\n", i, data.train.class_names[i], width, train[i],
                        test[i]);
  text.pop_back();  // print_line ends the last line
  return text;
}

void show_info(const DataInfoCommand& command) {
  const Datasets data = load_datasets({.spec = command.path});
  print_line(command.json ? info_json(data).dump() : info_text(data));
}

void run_convert(const DataConvertCommand& command) {
  const Datasets data = load_datasets({.spec = command.path});
  convert(data, command.to, command.out);
  print_line(fmt::format("{}: {} as {}, sha256 {}", command.out, data.train.name, command.to,
                         data.checksum));
}

}  // namespace

void add_data_options(CLI::App& app, DataCommand& command) {
  constexpr const char* path_help =
      "folder or .tar.gz of CIFAR-10, CIFAR-100, MNIST or Fashion-MNIST, or 'synthetic'";
  app.require_subcommand(1);
  app.footer("");  // not every option here has a twin in the environment
  CLI::App& info = *app.add_subcommand(
      "info", "What a data set is: format, counts per class, mean, std, checksum");
  info.add_option("PATH", command.info.path,
                  fmt::format("{} (default: $ANNULUS_DATA, else synthetic)", path_help))
      ->option_text("PATH|synthetic");
  info.add_flag("--json", command.info.json, "one JSON object, for programs");

  CLI::App& convert = *app.add_subcommand("convert", "Write a data set in another layout");
  convert.add_option("PATH", command.convert.path, path_help)
      ->option_text("PATH|synthetic")
      ->required();
  convert.add_option("OUT", command.convert.out, "the folder to make; it must not exist")
      ->option_text("FOLDER")
      ->required();
  convert
      .add_option("--to", command.convert.to,
                  "cifar-bin (records, read fastest), cifar-py (pickle, for Python) or idx (plain; "
                  "one channel)")
      ->required()
      ->check(CLI::IsMember(conversions()));
}

void run_data(const CLI::App& app, const DataCommand& command) {
  if (app.got_subcommand("info")) return show_info(command.info);
  run_convert(command.convert);
}

}  // namespace annulus
