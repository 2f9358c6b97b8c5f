// Broadcasts by shared lines that others timed, configuration by configuration and rank by rank, against the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "pictures/machines/machine_file.h"

namespace smelt {

// A file {"name", "cpu", "sockets", "cores_per_socket", "unit", "rows": [{"configuration", "ranks", "bytes",
// "avg_us"}]}: rank r ran on core r, socket after socket, and rank 0 was the root. `avg_us` is the mean over the ranks
// of each one's own time, from when it had left a barrier until its broadcast returned. Configurations are those of
// Open MPI's component xhc in the study that published such tables: broadcast_table.cc has their meaning.
struct TimedBroadcast {
  std::string configuration;
  uint32_t ranks = 0;
  uint64_t bytes = 0;
  double ns = 0;
};
struct BroadcastTable {
  std::string name, machine_name;  // the latter of the machine whose costs stand in
  MachineFile machine;
  uint32_t cores_per_socket = 0, ranks = 0;  // ranks: on all cores
  std::vector<uint16_t> core_of;             // [ranks] as an index into the machine
  std::vector<TimedBroadcast> rows;
  std::vector<std::string> unknown;  // configurations that nobody here can price
};

bool is_broadcast_table(const std::string& path);
// `machine` as --machine takes it; "": the one of the zoo whose title has the most words of "cpu" and that has so many
// sockets and cores. Throws UserError.
BroadcastTable read_broadcast_table(const std::string& path, const std::string& machine);

Document broadcast_table_document(const BroadcastTable& table);
std::string broadcast_table_text(const Document& document);

}  // namespace smelt
