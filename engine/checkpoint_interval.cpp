// See checkpoint_interval.h.
#include "engine/checkpoint_interval.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "kernels/check.h"

namespace annulus {

CheckpointInterval parse_checkpoint_interval(const std::string& text) {
  CheckpointInterval interval;
  if (text == "never") return interval;
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, text.data() + text.size());
  const bool whole = number >= 1 && number < 1e15 && number == double(std::size_t(number));
  const auto count = static_cast<std::size_t>(whole ? number : 0);
  if (error == std::errc{} && whole && (unit.empty() || unit == "step" || unit == "steps"))
    interval.steps = count;
  else if (error == std::errc{} && whole && (unit == "epoch" || unit == "epochs"))
    interval.epochs = count;
  else if (error == std::errc{} && number > 0 && number < 1e9 && (unit == "min" || unit == "m"))
    interval.time = std::chrono::duration<double>(60 * number);
  else
    throw UserError(ExitCode::usage,
                    fmt::format("--checkpoint-every {}: say how often, such as 500steps, 10min, "
                                "1epoch or never",
                                text));
  return interval;
}

}  // namespace annulus
