// The measured parameters beside the matrices, in a few lines: waiting, fans, copying.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "profile/measured.h"

namespace smelt {

std::string other_figures_text(const WaitFigures& wait, const std::vector<FanCurves>& fans,
                               const std::vector<DistanceCurves>& distances);

// "waiting", "fans" and "copying" of a report: null or empty where nothing was measured.
void add_other_figures(nlohmann::ordered_json& report, const WaitFigures& wait, const std::vector<FanCurves>& fans,
                       const std::vector<DistanceCurves>& distances);

std::string time_text(double ns);  // "13.8 µs", three digits

}  // namespace smelt
