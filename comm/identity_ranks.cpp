// The table of process launchers: a row names four variables and says what else its launcher tells;
// a further launcher is a further row. The interface: comm/identity_ranks.h.
#include "comm/identity_ranks.h"

#include <array>
#include <string_view>

#include "comm/launcher_environment.h"
#include "comm/slurm_step.h"
#include "kernels/environment.h"

namespace annulus::identity {
namespace {

void set_rendezvous(Identity& identity, const std::optional<Endpoint>& endpoint) {
  if (!endpoint) return;
  identity.rendezvous_host = endpoint->host;
  identity.rendezvous_port = endpoint->port;
}

bool always(const Variables&) { return true; }

// Without LOCAL_RANK, RANK is a pod's: comm/identity_operators.cpp.
bool has_local_rank(const Variables& variables) { return variables.given("LOCAL_RANK"); }

// Where torchrun's own agent holds MASTER_PORT (its store), rank 0 listens on the next one.
int torchrun_port(const Variables& variables, int master_port) {
  if (variables.text("TORCHELASTIC_USE_AGENT_STORE") != "True") return master_port;
  return master_port < 65535 ? master_port + 1 : master_port - 1;
}

void complete_torchrun(const Variables& variables, Identity& identity) {
  identity.job = variables.text("TORCHELASTIC_RUN_ID");
  set_rendezvous(identity, endpoint_of(variables, "MASTER_ADDR", "MASTER_PORT"));
  if (identity.rendezvous_port != 0)
    identity.rendezvous_port = torchrun_port(variables, identity.rendezvous_port);
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
  identity.node = variables.number(launcher_environment::node);
  identity.nodes = variables.number(launcher_environment::nodes);
  identity.counted = variables.text(launcher_environment::counted) == "1";
  if (const std::optional<int> milliseconds = variables.number(launcher_environment::discovery))
    identity.discovery_seconds = *milliseconds / 1000.;
  const std::string where = variables.text(launcher_environment::rendezvous);
  if (!where.empty())
    set_rendezvous(identity, parse_endpoint(launcher_environment::rendezvous, where));
}

// Flux tells no address: MASTER_ADDR and MASTER_PORT where its script sets them, else --rendezvous.
void complete_flux(const Variables& variables, Identity& identity) {
  identity.job = variables.text("FLUX_JOB_ID");
  set_rendezvous(identity, endpoint_of(variables, "MASTER_ADDR", "MASTER_PORT"));
}

bool in_a_task_of_slurm(const Variables& variables) {
  return is_slurm_task_step(variables.text("SLURM_STEP_ID"));
}

void complete_slurm(const Variables& variables, Identity& identity) {
  const std::string tasks = variables.text("SLURM_STEP_TASKS_PER_NODE");
  const std::optional<int> node = variables.number("SLURM_NODEID");
  if (const auto here = node ? slurm_tasks_of_node(tasks, *node) : std::nullopt)
    if (*here > identity.local_rank && *here <= identity.world) identity.local_world = *here;
  const std::string job = variables.text("SLURM_JOB_ID"), step = variables.text("SLURM_STEP_ID");
  if (!job.empty()) identity.job = fmt::format("slurm-{}.{}", job, step);

  std::optional<Endpoint> first = endpoint_of(variables, "MASTER_ADDR", "MASTER_PORT");
  // Rank 0 is on the step's first node, but for a distribution that the user has written by hand.
  if (!first && !job.empty() && variables.text("SLURM_DISTRIBUTION") != "arbitrary")
    if (const auto host = slurm_first_host(variables.text("SLURM_STEP_NODELIST")))
      first = Endpoint{*host, slurm_port(identity.job)};
  set_rendezvous(identity, first);
}

// A source of an inner level beats those of the outer ones: it started this very process.
enum class Level { annulus_launcher, started, flux, slurm };

struct Launcher {
  const char* name;
  Level level;
  bool (*applies)(const Variables&);
  const char *rank, *world, *local_rank, *local_world;  // null: this launcher has none
  void (*complete)(const Variables&, Identity&);        // rendezvous, job, further checks
};

constexpr std::array launchers{
    Launcher{"annulus launcher", Level::annulus_launcher, always, launcher_environment::rank,
             launcher_environment::ranks, launcher_environment::local_rank,
             launcher_environment::local_ranks, complete_annulus_launcher},
    Launcher{"torchrun", Level::started, has_local_rank, "RANK", "WORLD_SIZE", "LOCAL_RANK",
             "LOCAL_WORLD_SIZE", complete_torchrun},
    Launcher{"Open MPI", Level::started, always, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", complete_open_mpi},
    Launcher{"Flux", Level::flux, always, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID",
             nullptr, complete_flux},
    Launcher{"Slurm", Level::slurm, in_a_task_of_slurm, "SLURM_PROCID", "SLURM_NTASKS",
             "SLURM_LOCALID", nullptr, complete_slurm},
};

DeclaredEnvironment::Table launcher_variables() {
  DeclaredEnvironment::Table table{"Launchers: who this rank is (flags beat them)", {}};
  for (const Launcher& launcher : launchers)
    for (const auto& [name, meaning] : {std::pair{launcher.rank, "rank"},
                                        {launcher.world, "ranks in all"},
                                        {launcher.local_rank, "rank on this host"},
                                        {launcher.local_world, "ranks on this host"}})
      if (name != nullptr) table.knobs.push_back({name, "", launcher.name, meaning});
  for (const EnvironmentKnob& knob : std::initializer_list<EnvironmentKnob>{
           {launcher_environment::rendezvous, "", "set by annulus", "where rank 0 listens"},
           {launcher_environment::listener, "", "set by annulus", "rank 0's open socket"},
           {launcher_environment::node, "", "set by annulus", "index of its node"},
           {launcher_environment::nodes, "", "set by annulus", "nodes in all"},
           {launcher_environment::counted, "", "set by annulus", "1: nodes were counted in DNS"},
           {launcher_environment::discovery, "", "set by annulus", "ms until nodes were known"},
           {launcher_environment::job, "", "set by annulus", "name of the run"},
           {"MASTER_ADDR", "", "set by torchrun or a script", "host of rank 0"},
           {"MASTER_PORT", "", "set by torchrun or a script",
            "its port; annulus listens beside torchrun's own"},
           {"TORCHELASTIC_USE_AGENT_STORE", "", "set by torchrun",
            "True: MASTER_PORT is torchrun's own"},
           {"TORCHELASTIC_RUN_ID", "", "set by torchrun", "name of the run"},
           {"PMIX_RANK", "", "set by Open MPI", "rank, compared with the above"},
           {"PMIX_NAMESPACE", "", "set by Open MPI", "name of the run"},
           {"OMPI_MCA_ess_base_jobid", "", "set by Open MPI", "name of the run"},
           {"FLUX_JOB_ID", "", "set by Flux", "name of the run"},
           {"SLURM_STEP_NUM_TASKS", "", "set by Slurm", "ranks in all, before SLURM_NTASKS"},
           {"SLURM_STEP_ID", "", "set by Slurm", "which step; SLURM_* is read inside one alone"},
           {"SLURM_JOB_ID", "", "set by Slurm", "name of the run"},
           {"SLURM_STEP_NODELIST", "", "set by Slurm", "its first node has rank 0"},
           {"SLURM_STEP_TASKS_PER_NODE", "", "set by Slurm", "ranks on each host"},
           {"SLURM_NODEID", "", "set by Slurm", "which host this is"},
           {"SLURM_DISTRIBUTION", "", "set by Slurm", "arbitrary: rank 0 may be anywhere"}})
    table.knobs.push_back(knob);
  return table;
}

const DeclaredEnvironment kDeclared(launcher_variables());

void require_below(const Named& index, int value, const Named& count, int limit) {
  if (value >= limit)
    refuse("{} {} >= {} {}: ranks count from 0 to the size less one", index.name, value, count.name,
           limit);
}

Numbers read_numbers(const Launcher& launcher, const Variables& variables) {
  const auto named = [&](const char* name) {
    return name ? Named{name, variables.number(name)} : Named{};
  };
  Numbers numbers{named(launcher.rank), named(launcher.world), named(launcher.local_rank),
                  named(launcher.local_world)};
  // A step's own size: SLURM_NTASKS is the job's for some versions.
  if (launcher.level == Level::slurm && variables.given("SLURM_STEP_NUM_TASKS"))
    numbers.world = named("SLURM_STEP_NUM_TASKS");
  return numbers;
}

std::optional<Identity> read_launcher(const Launcher& launcher, const Variables& variables) {
  if (!launcher.applies(variables)) return std::nullopt;
  const Numbers numbers = read_numbers(launcher, variables);
  if (!numbers.rank.value && !numbers.world.value && !numbers.local_rank.value) return std::nullopt;
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

}  // namespace

Identity checked(const Numbers& numbers) {
  const auto& [rank, world, local_rank, local_world] = numbers;
  if (!rank.value && !world.value) refuse("{} and {} missing: give both", rank.name, world.name);
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

std::optional<Identity> detect_rank(const Variables& variables) {
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
  // A PMIx server started this process, one of several; of how many it tells over a socket only.
  if (!found && variables.given("PMIX_RANK"))
    refuse(
        "PMIX_RANK {} makes this one process of several, and nothing says of how many: start "
        "annulus "
        "by mpirun or srun, or give --rank and --world-size",
        printable(variables.text("PMIX_RANK")));
  return found;
}

}  // namespace annulus::identity
