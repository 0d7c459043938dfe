// See world.h.
#include "engine/world.h"

#include "engine/outcome.h"

namespace annulus {

void World::leave_for_this_exception() const {
  const Outcome outcome = outcome_of(std::current_exception());
  control->leave(outcome.code, outcome.message);
}

}  // namespace annulus
