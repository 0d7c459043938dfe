// The table of launchers and the rules between them. A row names four variables and says what else
// its launcher tells; a further launcher is a further row. Invariant: an identity that is returned
// fits together; an empty variable counts as unset, and a number is digits alone. The interface and
// who calls it: comm/identity.h.
#include "comm/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/launcher_environment.h"
#include "kernels/check.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

template <typename... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw UserError(ExitCode::usage, fmt::format(format, std::forward<Arguments>(arguments)...));
}

int parse_number(const char* name, const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0)
    refuse("{} '{}' is no whole number from 0 up: correct or unset it", name, text);
  return value;
}

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::string text(const char* name) const {
    const char* value = name ? environment_(name) : nullptr;
    return value ? value : "";
  }
  std::optional<int> number(const char* name) const {
    const std::string value = text(name);
    return value.empty() ? std::nullopt : std::optional(parse_number(name, value));
  }

 private:
  const Environment& environment_;
};

// A number with the flag or variable it came from, for messages.
struct Named {
  const char* name = "";
  std::optional<int> value;
};

struct Numbers {
  Named rank, world, local_rank, local_world;
};

// Where torchrun's own agent holds MASTER_PORT (its store), rank 0 listens on the next one.
int torchrun_port(const Variables& variables, int master_port) {
  if (variables.text("TORCHELASTIC_USE_AGENT_STORE") != "True") return master_port;
  return master_port < 65535 ? master_port + 1 : master_port - 1;
}

void complete_torchrun(const Variables& variables, Identity& identity) {
  // Older operators set the number of pods where torchrun will start several processes in each.
  const std::string per_node = variables.text("PET_NPROC_PER_NODE");
  const bool a_process = !variables.text("LOCAL_RANK").empty();
  if (!a_process && !per_node.empty() && std::isdigit(per_node.front()) && per_node != "1")
    refuse(
        "WORLD_SIZE {} counts nodes, {} x {} processes expected (PET_NPROC_PER_NODE): start "
        "annulus "
        "by torchrun, or give --rank and --world-size",
        identity.world, identity.world, per_node);

  identity.job = variables.text("TORCHELASTIC_RUN_ID");
  const std::string host = variables.text("MASTER_ADDR");
  const std::optional<int> port = variables.number("MASTER_PORT");
  if (host.empty() && !port) return;
  if (host.empty() || !port)
    refuse("{} missing: set MASTER_ADDR and MASTER_PORT, both or neither",
           host.empty() ? "MASTER_ADDR" : "MASTER_PORT");
  if (*port < 1 || *port > 65535) refuse("MASTER_PORT '{}': a port lies in 1 to 65535", *port);
  identity.rendezvous_host = host;
  identity.rendezvous_port = torchrun_port(variables, *port);
}

void complete_open_mpi(const Variables& variables, Identity& identity) {
  const std::optional<int> pmix_rank = variables.number("PMIX_RANK");
  if (pmix_rank && *pmix_rank != identity.rank)
    refuse("OMPI_COMM_WORLD_RANK {} but PMIX_RANK {}: unset the one that is left over",
           identity.rank, *pmix_rank);
  identity.job = variables.text("PMIX_NAMESPACE");
  if (identity.job.empty()) identity.job = variables.text("OMPI_MCA_ess_base_jobid");
}

void complete_annulus_launcher(const Variables& variables, Identity& identity) {
  identity.job = variables.text(launcher_environment::job);
  const std::string where = variables.text(launcher_environment::rendezvous);
  if (where.empty()) return;
  auto [host, port] = parse_endpoint(launcher_environment::rendezvous, where);
  identity.rendezvous_host = std::move(host);
  identity.rendezvous_port = port;
}

// A source of an inner level beats those of the outer ones: it started this very process.
enum class Level { annulus_launcher, processes };

struct Launcher {
  const char* name;
  Level level;
  const char *rank, *world, *local_rank, *local_world;  // null: this launcher has none
  void (*complete)(const Variables&, Identity&);        // rendezvous, job, further checks
};

constexpr std::array launchers{
    Launcher{"annulus launcher", Level::annulus_launcher, launcher_environment::rank,
             launcher_environment::ranks, launcher_environment::local_rank,
             launcher_environment::local_ranks, complete_annulus_launcher},
    Launcher{"torchrun", Level::processes, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
             complete_torchrun},
    Launcher{"Open MPI", Level::processes, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", complete_open_mpi},
};

DeclaredEnvironment::Table launcher_variables() {
  DeclaredEnvironment::Table table{"Launchers: who this rank is (flags beat them)", {}};
  for (const Launcher& launcher : launchers)
    for (const auto& [name, meaning] : {std::pair{launcher.rank, "rank"},
                                        {launcher.world, "ranks in all"},
                                        {launcher.local_rank, "rank on this host"},
                                        {launcher.local_world, "ranks on this host"}})
      if (name != nullptr && (launcher.rank != name || meaning == std::string_view("rank")))
        table.knobs.push_back({name, "", launcher.name, meaning});
  const std::initializer_list<EnvironmentKnob> others{
      {launcher_environment::rendezvous, "", "set by annulus", "where rank 0 listens"},
      {launcher_environment::listener, "", "set by annulus", "rank 0's open socket"},
      {launcher_environment::job, "", "set by annulus", "name of the run"},
      {"MASTER_ADDR", "", "set by torchrun", "host of rank 0"},
      {"MASTER_PORT", "", "set by torchrun", "its port; annulus listens beside it"},
      {"TORCHELASTIC_USE_AGENT_STORE", "", "set by torchrun",
       "True: MASTER_PORT is torchrun's own"},
      {"TORCHELASTIC_RUN_ID", "", "set by torchrun", "name of the run"},
      {"PET_NPROC_PER_NODE", "", "set by training operators",
       "processes that torchrun shall start"},
      {"PMIX_RANK", "", "set by Open MPI", "rank, compared with the above"},
      {"PMIX_NAMESPACE", "", "set by Open MPI", "name of the run"},
      {"OMPI_MCA_ess_base_jobid", "", "set by Open MPI", "name of the run"}};
  table.knobs.insert(table.knobs.end(), others);
  return table;
}

const DeclaredEnvironment kDeclared(launcher_variables());

void require_below(const Named& index, int value, const Named& count, int limit) {
  if (value >= limit)
    refuse("{} {} >= {} {}: ranks count from 0 to the size less one", index.name, value, count.name,
           limit);
}

// Numbers that fit together, or UserError. Without a local rank a process is alone on its host; a
// local size that nobody tells is at least what the local rank needs.
Identity checked(const Numbers& numbers) {
  const auto& [rank, world, local_rank, local_world] = numbers;
  if (!rank.value) refuse("{} missing beside {} {}", rank.name, world.name, *world.value);
  if (!world.value) refuse("{} missing beside {} {}", world.name, rank.name, *rank.value);
  if (*world.value == 0) refuse("{} 0: a run has at least one rank", world.name);

  Identity identity;
  identity.rank = *rank.value;
  identity.world = *world.value;
  identity.local_rank = local_rank.value.value_or(0);
  identity.local_world = local_world.value.value_or(identity.local_rank + 1);
  require_below(rank, identity.rank, world, identity.world);
  require_below(local_rank, identity.local_rank, world, identity.world);
  require_below(local_rank, identity.local_rank, local_world, identity.local_world);
  if (identity.local_world > identity.world)
    refuse("{} {} > {} {}: one host has more ranks than all together", local_world.name,
           identity.local_world, world.name, identity.world);
  return identity;
}

Numbers read_numbers(const Launcher& launcher, const Variables& variables) {
  const auto named = [&](const char* name) {
    return Named{name ? name : "", variables.number(name)};
  };
  return {named(launcher.rank), named(launcher.world), named(launcher.local_rank),
          named(launcher.local_world)};
}

std::optional<Identity> read_launcher(const Launcher& launcher, const Variables& variables) {
  const Numbers numbers = read_numbers(launcher, variables);
  if (!numbers.rank.value && !numbers.world.value) return std::nullopt;
  Identity identity = checked(numbers);
  identity.source = launcher.name;
  launcher.complete(variables, identity);
  return identity;
}

void require_agreement(const Identity& first, const Identity& second) {
  if (first.rank != second.rank || first.world != second.world)
    refuse(
        "{} says rank {} of {}, {} says rank {} of {}: unset the variables of one, or give --rank "
        "and --world-size",
        first.source, first.rank, first.world, second.source, second.rank, second.world);
}

std::optional<Identity> read_environment(const Variables& variables) {
  std::optional<Identity> found;
  Level level{};
  for (const Launcher& launcher : launchers) {
    if (found && launcher.level != level) break;
    const std::optional<Identity> identity = read_launcher(launcher, variables);
    if (!identity) continue;
    if (found)
      require_agreement(*found, *identity);
    else
      found = identity;
    level = launcher.level;
  }
  return found;
}

Named flag_or(const char* flag, const std::optional<int>& value, const std::optional<int>& other) {
  return {flag, value ? value : other};
}

// The flags over what the environment says, value by value.
Identity apply_flags(const IdentityFlags& flags, const std::optional<Identity>& found) {
  const auto known = [&](int Identity::*member) {
    return found ? std::optional((*found).*member) : std::nullopt;
  };
  std::optional<int> local_world = known(&Identity::local_world);
  if (local_world && flags.local_rank) local_world = std::max(*local_world, *flags.local_rank + 1);
  Identity identity = checked({
      flag_or("--rank", flags.rank, known(&Identity::rank)),
      flag_or("--world-size", flags.world, known(&Identity::world)),
      flag_or("--local-rank", flags.local_rank, known(&Identity::local_rank)),
      flag_or("--local-world-size", flags.local_world, local_world),
  });
  identity.source = "flags";
  if (found) {
    identity.job = found->job;
    identity.rendezvous_host = found->rendezvous_host;
    identity.rendezvous_port = found->rendezvous_port;
  }
  return identity;
}

}  // namespace

Identity detect_identity(const IdentityFlags& flags, const Environment& environment) {
  const bool flags_say_all = flags.rank && flags.world;
  const bool flags_say_some = flags.rank || flags.world || flags.local_rank || flags.local_world;

  std::optional<Identity> found;
  if (!flags_say_all) found = read_environment(Variables(environment));

  Identity identity;
  identity.source = "alone";
  if (flags_say_some)
    identity = apply_flags(flags, found);
  else if (found)
    identity = *found;

  if (!flags.rendezvous.empty()) {
    auto [host, port] = parse_endpoint("--rendezvous", flags.rendezvous);
    identity.rendezvous_host = std::move(host);
    identity.rendezvous_port = port;
  }
  return identity;
}

}  // namespace annulus
