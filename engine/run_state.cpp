// See run_state.h.
#include "engine/run_state.h"

#include <nlohmann/json.hpp>

#include "data/data_error.h"

namespace annulus {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunState, updates, epoch, samples, global_batch, trained, loss,
                                   hits, seconds, schedule_begin, schedule_progress, rate_batch,
                                   model, optimizer, data_checksum, seed)

std::string text_of(const RunState& state) { return nlohmann::json(state).dump(); }

RunState run_state_of(const std::string& text, const std::string& where) try {
  return nlohmann::json::parse(text).get<RunState>();
} catch (const nlohmann::json::exception&) {
  throw_data_error(where, "its state is not one that this version wrote; resume from another file");
}

}  // namespace annulus
