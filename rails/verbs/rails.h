// The conclusions from a network profile: smelt info --rails, and its pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "rails/network/profile.h"

namespace smelt {

Document rails_document(const NetworkProfile& profile);
std::string rails_text(const Document& document);
Table splits_table(const Document& document);  // a message alone on each rail, and split

// The curves of each rail, and where they cross: for draw_document("plots").
Document rails_plots(const NetworkProfile& profile);

double rail_mbits(const NetworkRail& rail);       // Mbit/s of long messages
double rail_latency_us(const NetworkRail& rail);  // of the shortest message

}  // namespace smelt
