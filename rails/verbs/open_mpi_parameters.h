// Open MPI's own parameters, from the samples of the networks: smelt tune writes them, smelt run --networks hands
// them over.
//
// Open MPI 4.1 deals a long message to the interfaces by btl_tcp_bandwidth_<interface>, which it takes from what the
// kernel says, and virtual interfaces, bonds and clouds say anything. Its limits between eager and rendezvous are
// constants. All are parameters, so measured ones need no code in the way of the data. Its btl_tcp_latency_<interface>
// is left alone: where two differ, Open MPI 4.1.4 was seen to use the interface of the least alone, for long messages
// too.
#pragma once

#include <string>
#include <vector>

#include "rails/network/profile.h"

namespace smelt {

struct Parameter {
  std::string name, value, why;
};

// Throws UserError: no rail of the profile carries anything.
std::vector<Parameter> open_mpi_parameters(const NetworkProfile& profile);

}  // namespace smelt
