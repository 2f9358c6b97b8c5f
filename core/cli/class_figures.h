// What a calibration found out beside the matrices, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "model/cost_model.h"
#include "profile/measured.h"

namespace smelt {

// "same core", "other package (2)": of several classes of one distance, which.
std::string class_name(const ClassFigures& figures, const std::vector<ClassFigures>& all);
std::string marks_text(uint32_t marks);  // "unsteady, wide", "" for none

// A table; "" where there are none.
std::string classes_text(const std::vector<ClassFigures>& classes, CostUnit unit);
nlohmann::ordered_json classes_json(const std::vector<ClassFigures>& classes);

// Which pattern won for which CPUs; "" where nothing was raced. `cpus` as in MachineFile.
std::string winners_text(const std::vector<Winner>& winners, const std::vector<std::vector<uint32_t>>& cpus);
nlohmann::ordered_json winners_json(const std::vector<Winner>& winners, const std::vector<std::vector<uint32_t>>& cpus);

}  // namespace smelt
