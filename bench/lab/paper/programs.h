// Other programs of this build that measure a part of a figure.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "bench/lab/paper/figures.h"

namespace smelt::paper {

// Of several runs: their median, ± half of least to greatest. None: no number.
Cell cell_of(const std::vector<double>& runs);

// A path below the build folder, "" when nothing executable is there.
std::string find_in_build(const FigureSettings& settings, const std::string& path);

// The program's output. "" and a reason in *why where it fails.
std::string run_program(const std::vector<std::string>& argv, std::string* why);
// The same, for a program that writes JSON to its standard output, or to the file that its last argument becomes.
enum class JsonTo { kOutput, kFile };
nlohmann::json run_for_json(std::vector<std::string> argv, JsonTo to, std::string* why);

}  // namespace smelt::paper
