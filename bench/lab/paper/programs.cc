#include "bench/lab/paper/programs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "epcc/child.h"
#include "profile/text/statistics.h"

namespace smelt::paper {
namespace {

constexpr double kLimitSeconds = 900;

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

Cell cell_of(const std::vector<double>& runs) {
  if (runs.empty()) return {};
  const auto [least, most] = std::minmax_element(runs.begin(), runs.end());
  const double middle = median(runs);
  return {middle, (*most - *least) / middle / 2, ""};
}

std::string find_in_build(const FigureSettings& settings, const std::string& path) {
  const std::string full = settings.build + "/" + path;
  std::error_code error;
  return std::filesystem::is_regular_file(full, error) && ::access(full.c_str(), X_OK) == 0 ? full : "";
}

std::string run_program(const std::vector<std::string>& argv, std::string* why) {
  const epcc::Finished run = epcc::run_child(argv, epcc::Environment::of_this_process(), kLimitSeconds);
  if (!run.ok) *why = run.failure;
  return run.ok ? run.out : "";
}

nlohmann::json run_for_json(std::vector<std::string> argv, JsonTo to, std::string* why) {
  std::string text;
  if (to == JsonTo::kOutput) {
    text = run_program(argv, why);
  } else {
    std::string path = (std::filesystem::temp_directory_path() / "smelt_paper.XXXXXX").string();
    const int file = ::mkstemp(path.data());
    if (file < 0) {
      *why = "no temporary file";
      return {};
    }
    ::close(file);
    argv.push_back(path);
    run_program(argv, why);
    text = read_all(path);
    ::unlink(path.c_str());
  }
  if (!why->empty()) return {};
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) *why = "what it wrote is no JSON";
  return json;
}

}  // namespace smelt::paper
