// Over what a communicator's ranks send, read from NCCL's log, which is the only place that tells.
// Invariant: nothing here throws for what a log says; lines that are not understood are no links.
// Called by engine/trainer after the first collective, as NCCL connects no earlier.
#pragma once

#include <istream>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace annulus {

// "P2P/CUMEM", "SHM", "NET/IB/GDRDMA", "NET/Socket", … and which rank sends to which over it.
class NcclTransports {
 public:
  // NCCL's lines "… NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM" and their like. Other
  // lines are passed over, and so is what a rank receives: the sender tells it.
  static NcclTransports read(std::istream& log);
  static NcclTransports of_this_process();  // from the file that NCCL_DEBUG_FILE names

  // As text between ranks: "0 1 NET/IB/GDRDMA\n…".
  static NcclTransports parse(const std::string& text);
  std::string text() const;
  void add(const NcclTransports& others);

  bool empty() const { return links_.empty(); }
  bool uses_sockets() const;
  std::string describe() const;  // "12 links over P2P/CUMEM, 4 over NET/IB/GDRDMA"

 private:
  void read_line(const std::string& line);

  std::map<std::string, std::set<std::pair<int, int>>> links_;
};

}  // namespace annulus
