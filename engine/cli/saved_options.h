// --config and --resume: options from the config.json of a run. Invariant: what the command line or
// the environment says stays; the file fills in the rest, so that `annulus train --config
// runs/X/config.json` repeats a run and a resumed run goes on as it was. Called by main, between
// parsing and running.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/cli/cli11.h"
#include "engine/cli/options.h"

namespace annulus {

// What --resume names.
struct ResumeTarget {
  std::filesystem::path run;         // its folder; with `auto` it need not be there yet
  std::filesystem::path checkpoint;  // one file of it; empty: its newest
};

// Throws UserError (usage) where there is no such run.
std::optional<ResumeTarget> resume_target(const TrainCommand& command);

// Fills in what `app` was not told, from --config's file or the resumed run's. A resumed run goes
// on in its folder unless --out names another.
void take_saved_options(CLI::App& app, TrainCommand& command);

}  // namespace annulus
