// The networks between two pretended nodes, sampled as smelt network does: a process on each.
#pragma once

#include <functional>
#include <string>

#include "rails/bench/nodes.h"
#include "rails/network/control.h"

namespace smelt {

// `client` in a process on node 1, connected to one on node 2 that serves it; node 2's profile, where one comes of it,
// goes to `served`. Throws UserError: it failed, and has said why.
void with_server(const Nodes& nodes, const std::string& served, const std::function<void(Control&)>& client);

// <folder>/node1.network.json and node2's, and their packed forms. Throws UserError.
void sample_nodes(const Nodes& nodes, double seconds, const std::string& folder);

}  // namespace smelt
