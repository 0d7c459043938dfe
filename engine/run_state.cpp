// See run_state.h.
#include "engine/run_state.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/data_error.h"

namespace annulus {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunState, updates, epoch, samples, global_batch, trained, loss,
                                   hits, seconds, loss_scale, good_steps, skipped, skipped_before,
                                   schedule_begin, schedule_progress, rate_batch, model, optimizer,
                                   data_checksum, seed)

std::string text_of(const RunState& state) { return nlohmann::json(state).dump(); }

namespace {

bool is_loss_scale(double factor) {
  int exponent = 0;
  const bool power_of_two = std::frexp(factor, &exponent) == 0.5;
  return power_of_two && factor >= kSmallestLossScale && factor <= kLargestLossScale;
}

// Counters of a run fit the device's 32 bits; sums are numbers; the schedule began before now.
bool can_be(const RunState& s) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  const auto fits = [](std::size_t count) { return count <= most; };
  return fits(s.updates) && fits(s.samples) && fits(s.trained) && fits(s.global_batch) &&
         fits(s.rate_batch) && s.global_batch > 0 && s.rate_batch > 0 && s.epoch <= 1'000'000 &&
         s.schedule_begin <= s.updates && s.schedule_progress >= 0 && s.schedule_progress <= 1 &&
         is_loss_scale(s.loss_scale) && s.good_steps < kLossScaleGrowthInterval &&
         s.skipped <= s.updates && s.skipped_before <= s.skipped && std::isfinite(s.loss) &&
         s.hits >= 0 && s.hits <= double(s.trained) && s.seconds >= 0;
}

}  // namespace

// A fraction for a whole number would be converted in silence, or not at all where it is too large:
// every value is of the kind that text_of writes.
RunState run_state_of(const std::string& text, const std::string& where) try {
  const nlohmann::json state = nlohmann::json::parse(text), written = RunState{};
  for (const auto& [name, like] : written.items())
    if (state.at(name).type() != like.type())
      throw_data_error(where,
                       "its state has a {} of another kind than is written; resume from "
                       "another file",
                       name);
  RunState found = state.get<RunState>();
  if (!can_be(found))
    throw_data_error(where, "its state holds numbers that no run has; resume from another file");
  return found;
} catch (const nlohmann::json::exception&) {
  throw_data_error(where, "its state is not one that this version wrote; resume from another file");
}

}  // namespace annulus
