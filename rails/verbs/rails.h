// The conclusions from a network profile: smelt info --rails, and its pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/plot.h"
#include "rails/network/profile.h"
#include "report/table.h"

namespace smelt {

Document rails_document(const NetworkProfile& profile);
std::string rails_text(const Document& document);
Table splits_table(const Document& document);  // a message alone on each rail, and split

// The curves of each rail, and where they cross.
std::vector<Plot> rails_plots(const NetworkProfile& profile);
std::string rails_plot_text(const NetworkProfile& profile);
std::string rails_plot_svg(const NetworkProfile& profile);

double rail_mbits(const NetworkRail& rail);       // Mbit/s of long messages
double rail_latency_us(const NetworkRail& rail);  // of the shortest message

}  // namespace smelt
