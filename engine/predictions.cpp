// See predictions.h.
#include "engine/predictions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

namespace annulus {

std::string prediction_lines(const Dataset& data, const std::vector<float>& logits) {
  const auto classes = static_cast<std::size_t>(data.classes);
  std::string lines;
  for (std::size_t image = 0; image < data.size(); ++image) {
    const std::span row = std::span(logits).subspan(image * classes, classes);
    const auto best = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    lines += nlohmann::ordered_json{{"image", image},
                                    {"label", data.labels[image]},
                                    {"class", best},
                                    {"name", data.class_names[best]},
                                    {"logits", std::vector<float>(row.begin(), row.end())}}
                 .dump() +
             "\n";
  }
  return lines;
}

}  // namespace annulus
