// The measured parameters beside the matrices, in a few lines: queues, waiting, fans, copying.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "profile/measured.h"

namespace smelt {

// Where messages queue, and whether the figures add up (PackedHeader::all_to_all).
std::string queues_text(const std::vector<QueueCurves>& queues, float all_to_all);
nlohmann::ordered_json queues_json(const std::vector<QueueCurves>& queues);

std::string other_figures_text(const WaitFigures& wait, const std::vector<FanCurves>& fans,
                               const std::vector<DistanceCurves>& distances);

// "waiting", "fans" and "copying" of a report: null or empty where nothing was measured.
void add_other_figures(nlohmann::ordered_json& report, const WaitFigures& wait, const std::vector<FanCurves>& fans,
                       const std::vector<DistanceCurves>& distances);

std::string time_text(double ns);  // "13.8 µs", three digits

}  // namespace smelt
