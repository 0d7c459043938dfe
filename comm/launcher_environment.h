// How the launcher tells a rank who it is: the names of the variables that comm/launcher sets and
// comm/identity reads. Names only; nobody else uses them.
#pragma once

namespace annulus::launcher_environment {

constexpr const char* rank = "ANNULUS_LAUNCHER_RANK";
constexpr const char* ranks = "ANNULUS_LAUNCHER_RANKS";
constexpr const char* local_rank = "ANNULUS_LAUNCHER_LOCAL_RANK";
constexpr const char* local_ranks = "ANNULUS_LAUNCHER_LOCAL_RANKS";
constexpr const char* rendezvous = "ANNULUS_LAUNCHER_RENDEZVOUS";  // "host:port"
constexpr const char* listener = "ANNULUS_LAUNCHER_LISTENER";      // a descriptor; rank 0 only
constexpr const char* node = "ANNULUS_LAUNCHER_NODE";  // index among the nodes of the run
constexpr const char* nodes = "ANNULUS_LAUNCHER_NODES";
constexpr const char* counted = "ANNULUS_LAUNCHER_COUNTED";      // "1": the nodes were, in DNS
constexpr const char* discovery = "ANNULUS_LAUNCHER_DISCOVERY";  // milliseconds that it took
constexpr const char* job = "ANNULUS_LAUNCHER_JOB";

}  // namespace annulus::launcher_environment
