// Learning rate as a function of the update: constant, warm-up, one-cycle, cosine. Pure; called by
// the trainer once a step.
#pragma once

#include <cstddef>
#include <string>

namespace annulus {

enum class ScheduleKind {
  constant,   // the peak, always
  warm_up,    // linear from 0 to the peak, then the peak
  one_cycle,  // linear up, then linear down to 0 (Smith & Topin 2017, arXiv:1708.07120)
  cosine,     // linear up, then half a cosine down to 0 (Loshchilov & Hutter, arXiv:1608.03983)
};

// Throws UserError (usage) that lists the names.
ScheduleKind parse_schedule(const std::string& name);

struct Schedule {
  ScheduleKind kind = ScheduleKind::one_cycle;
  double peak = 0.1;
  double warmup = 0.2;      // share of all updates, [0,1)
  std::size_t updates = 1;  // in the whole run

  // A run that goes on at another global batch has another number of updates left for the rest of
  // its schedule: from update `begin` on, at which the share `progress` of it was done, they are
  // spread evenly over what is left.
  std::size_t begin = 0;
  double progress = 0;

  // Rate of update `update` (from 0), taken at its middle, so that neither the first nor the last
  // update is wasted on 0.
  double rate(std::size_t update) const;
};

}  // namespace annulus
