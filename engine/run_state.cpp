// See run_state.h.
#include "engine/run_state.h"

#include <nlohmann/json.hpp>

#include "data/data_error.h"

namespace annulus {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunState, updates, epoch, samples, global_batch, trained, loss,
                                   hits, seconds, schedule_begin, schedule_progress, rate_batch,
                                   model, optimizer, data_checksum, seed)

std::string text_of(const RunState& state) { return nlohmann::json(state).dump(); }

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
  return state.get<RunState>();
} catch (const nlohmann::json::exception&) {
  throw_data_error(where, "its state is not one that this version wrote; resume from another file");
}

}  // namespace annulus
