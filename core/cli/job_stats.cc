#include "cli/job_stats.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/options.h"
#include "smelt_config.h"

namespace smelt {
namespace {

using StatsJson = nlohmann::json;

// The parts that have begun and not ended, by part and process.
using Begun = std::set<std::pair<std::string, uint64_t>>;

uint64_t number_of(const StatsJson& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string text_of(const StatsJson& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag_of(const StatsJson& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

// The first reason that anybody gave.
void keep_first(std::string& kept, std::string text) {
  if (kept.empty()) kept = std::move(text);
}

void add_openmp(OpenMpStats& sum, const StatsJson& line) {
  ++sum.told;
  sum.regions += number_of(line, "regions");
  sum.hot += number_of(line, "hot");
  sum.barriers += number_of(line, "barriers");
  sum.barriers_left += number_of(line, "barriers_left");
  sum.loops += number_of(line, "loops");
  sum.tasks += number_of(line, "tasks");
  sum.elsewhere += number_of(line, "elsewhere");
  if (number_of(line, "threads") >= sum.threads) {
    sum.threads = number_of(line, "threads");
    sum.cpus = number_of(line, "cpus");
  }
  keep_first(sum.refused, text_of(line, "refused"));
  keep_first(sum.not_hot, text_of(line, "not_hot"));
  keep_first(sum.asked, text_of(line, "asked"));
  sum.guessed |= flag_of(line, "guessed");
}

void add_collectives(CollectiveStats& sum, const StatsJson& line) {
  ++sum.told;
  sum.ranks = std::max(sum.ranks, number_of(line, "ranks"));
  sum.served += number_of(line, "served");
  sum.passed_on += number_of(line, "passed_on");
  sum.communicators = std::max(sum.communicators, number_of(line, "communicators"));
  sum.patience = number_of(line, "patience");
  keep_first(sum.why, text_of(line, "why"));
  if (const auto each = line.find("each"); each != line.end() && each->is_object())
    for (const auto& [name, count] : each->items())
      if (count.is_number_unsigned()) sum.each[name] += count.get<uint64_t>();
}

void add_messages(MessageStats& sum, const StatsJson& line) {
  ++sum.told;
  sum.sends += number_of(line, "sends");
  sum.receives += number_of(line, "receives");
  sum.communicators_left = std::max(sum.communicators_left, number_of(line, "communicators_left"));
}

void add_line(JobStats& sum, Begun& begun, const StatsJson& line) {
  const std::string part = text_of(line, "part");
  const auto process = std::make_pair(part, number_of(line, "pid"));
  if (flag_of(line, "begin")) {
    begun.insert(process);
  } else if (part == "coll" || part == "pml") {
    std::string& refused = part == "coll" ? sum.collectives.refused : sum.messages.refused;
    keep_first(refused, text_of(line, "refused"));
    if (!flag_of(line, "end")) return;
    begun.erase(process);
    if (part == "coll")
      add_collectives(sum.collectives, line);
    else
      add_messages(sum.messages, line);
  } else if (flag_of(line, "unused")) {
    ++sum.unused;
  } else if (flag_of(line, "end")) {
    begun.erase(process);
    add_openmp(sum.openmp[part], line);
  }
}

std::string count_of(uint64_t count, const char* noun, const char* more = "s") {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : more);
}

// "a", "a and b", "a, b and c"
std::string in_words(const std::vector<std::string>& parts) {
  std::string text = parts.front();
  for (size_t i = 1; i < parts.size(); i++) text += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

// Why processes that began have told nothing at their end: the three ways there are.
std::string silent_text(uint64_t silent, const char* noun) {
  return fmt::format("; {} left by a signal, _exit or exec and did not tell",
                     count_of(silent, noun, noun[0] == 'p' ? "es" : "s"));
}

std::string regions_left(const OpenMpStats& one) {
  if (one.hot >= one.regions) return "";
  // The shim of libomp does not say which.
  const char* const usual = one.runtime == "libgomp" ? "the first of a size, or nested"
                                                     : "the first of a size, nested, in a crowd, or by -hot";
  return fmt::format("; {} left to {}: {}", count_of(one.regions - one.hot, "region"), one.runtime,
                     one.not_hot.empty() ? usual : one.not_hot);
}

std::string openmp_text(const OpenMpStats& one) {
  if (one.told == 0) return fmt::format("OpenMP ({}): loaded{}", one.runtime, silent_text(one.silent, "process"));
  const std::string silent = one.silent ? silent_text(one.silent, "process") : "";
  if (!one.refused.empty())
    return fmt::format("OpenMP ({}): loaded, takes nothing: {}{}", one.runtime, one.refused, silent);
  std::string text;
  const std::string alone =
      one.threads < 2 ? "no region of two or more threads" + (one.asked.empty() ? "" : ": OMP_NUM_THREADS=" + one.asked)
                      : "";
  if (!alone.empty() && !one.served()) {
    text = fmt::format("OpenMP ({}): loaded; {}", one.runtime, alone);
  } else {
    text = fmt::format("OpenMP ({}, {}): ", one.runtime, count_of(std::max<uint64_t>(one.threads, 1), "thread"));
    std::vector<std::string> served;
    // "0 of 1" before thousands of barriers reads as nothing; what was left is told below.
    if (one.hot > 0 || one.barriers == 0)
      served.push_back(fmt::format("{} of {}", one.hot, count_of(one.regions, "parallel region")));
    const char* const more = one.barriers == 1 ? " or reduction" : " or reductions";
    served.push_back(count_of(one.barriers, "barrier") + (one.runtime == "libgomp" ? "" : more));
    if (one.loops) served.push_back(count_of(one.loops, "dynamic loop"));
    if (one.tasks) served.push_back(count_of(one.tasks, "task"));
    text += in_words(served) + " served";
    text += regions_left(one);
    if (one.barriers_left)
      text += fmt::format("; {} left to {} for its tasks", count_of(one.barriers_left, "barrier"), one.runtime);
  }
  if (!alone.empty() && one.served()) text += "; " + alone;
  if (one.elsewhere)
    text += fmt::format("; {} of another OpenMP runtime not served", count_of(one.elsewhere, "region"));
  if (one.told > 1) text += fmt::format("; in {} processes", one.told);
  if (one.guessed)
    text += environment("SMELT_PROFILE") ? "; costs guessed (SMELT_PROFILE names none of use here)"
                                         : "; costs guessed (run 'smelt calibrate')";
  return text + silent;
}

std::string collectives_text(const CollectiveStats& one, const JobKind& kind) {
  if (one.told + one.silent == 0) {
    if (!one.refused.empty()) return "MPI: collectives not served: " + one.refused;
    if (kind.component)
      return fmt::format(
          "MPI: no rank told of Smelt: none called MPI_Init, or {} starts another MPI than Open MPI {}, which the "
          "component was built for, or is told to leave it out (--mca coll)",
          kind.launcher, SMELT_OPEN_MPI_SERIES);
    const std::string why = *SMELT_OPEN_MPI_MISSING ? SMELT_OPEN_MPI_MISSING : "it is not where smelt is; install it";
    const bool can_be = why.find("install ") != std::string::npos;  // and was not left out on purpose
    return fmt::format("{}: the Open MPI component was not built: {}{}", kind.launcher, why,
                       can_be ? "; then run ./quickstart again" : "");
  }
  const std::string silent = one.silent ? silent_text(one.silent, "rank") : "";
  if (one.told == 0) return "MPI: collectives" + silent;
  if (one.ranks < 2) return "MPI: one rank, nothing to serve" + silent;
  const uint64_t all = one.served + one.passed_on;
  std::string text = fmt::format("MPI ({} ranks): ", one.ranks);
  if (all == 0) return text + "no collective was called" + silent;
  std::string names;
  for (const auto& [name, count] : one.each) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, count);
  text += fmt::format("{} of {} of all ranks served{}{}", one.served, count_of(all, "collective call"),
                      names.empty() ? "" : ": ", names);
  if (one.passed_on) {
    const std::string why =
        !one.why.empty() ? one.why
        : one.patience ? fmt::format("a communicator's first {}, or of a kind that Smelt does not serve", one.patience)
                       : "of a kind that Smelt does not serve";
    text += fmt::format("; {} left to Open MPI: {}", one.passed_on, why);
  }
  if (one.told + one.silent < one.ranks) text += fmt::format("; told by {} of the ranks, the rest elsewhere", one.told);
  return text + silent;
}

std::string messages_text(const MessageStats& one, const JobKind& kind) {
  if (!one.refused.empty()) return "messages not served: " + one.refused;
  if (one.told + one.silent == 0)
    return kind.messages ? "messages: no rank told of Smelt" : "messages are Open MPI's own (--messages)";
  std::string text =
      fmt::format("messages: {} and {} served", count_of(one.sends, "send"), count_of(one.receives, "receive"));
  if (one.communicators_left)
    text += fmt::format("; {} left to Open MPI", count_of(one.communicators_left, "communicator"));
  return text + (one.silent ? silent_text(one.silent, "rank") : "");
}

}  // namespace

StatsFile::StatsFile() {
  const char* folder = environment("TMPDIR");
  for (const char* const place : {folder, "/tmp", "/dev/shm"}) {
    if (!place || !*place) continue;
    std::string path = fmt::format("{}/smelt-stats-XXXXXX", place);
    const int file = ::mkostemp(path.data(), O_CLOEXEC);
    if (file < 0) continue;
    ::close(file);
    path_ = path;
    return;
  }
}

StatsFile::~StatsFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::string StatsFile::content() const {
  std::ifstream file(path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool JobStats::told() const {
  uint64_t silent = collectives.silent + messages.silent, all = unused + collectives.told + messages.told;
  for (const auto& [name, one] : openmp) silent += one.silent, all += one.told;
  return silent == 0 && (all > 0 || !collectives.refused.empty() || !messages.refused.empty());
}

bool JobStats::served() const {
  return collectives.served + messages.sends + messages.receives > 0 ||
         std::any_of(openmp.begin(), openmp.end(), [](const auto& one) { return one.second.served(); });
}

uint64_t JobStats::threads() const {
  uint64_t most = 0;
  for (const auto& [name, one] : openmp) most = std::max(most, one.threads);
  return most;
}

JobStats parse_job_stats(std::string_view content) {
  JobStats sum;
  Begun begun;
  std::istringstream lines{std::string(content)};
  for (std::string text; std::getline(lines, text);) {
    const StatsJson line = StatsJson::parse(text, nullptr, false);
    if (line.is_object()) add_line(sum, begun, line);
  }
  for (const auto& [part, process] : begun) {
    if (part == "coll")
      ++sum.collectives.silent;
    else if (part == "pml")
      ++sum.messages.silent;
    else
      ++sum.openmp[part].silent;
  }
  for (auto& [name, one] : sum.openmp) one.runtime = name;
  return sum;
}

std::string served_line(const JobStats& stats, const JobKind& kind) {
  if (kind.untold) return "what was served is not known: no file can be made in $TMPDIR or /tmp";
  std::vector<std::string> parts;
  const bool mpi = !kind.launcher.empty() || stats.collectives.told + stats.collectives.silent > 0;
  if (mpi) {
    parts.push_back(collectives_text(stats.collectives, kind));
    if (stats.collectives.told > 0 || kind.messages) parts.push_back(messages_text(stats.messages, kind));
  }
  for (const auto& [name, one] : stats.openmp) parts.push_back(openmp_text(one));
  if (stats.openmp.empty() && !mpi) {
    if (!kind.obstacle.empty())
      parts.push_back("not loaded: " + kind.obstacle);
    else if (stats.unused)
      parts.push_back("loaded; no process called libgomp or libomp");
    else
      parts.push_back("nothing was told: not loaded, or every process left by a signal, _exit or exec");
  }
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : ". ") + part;
  return line;
}

Document served_document(const JobStats& stats, const JobKind& kind) {
  Document openmp = Document::array();
  for (const auto& [name, one] : stats.openmp)
    openmp.push_back({{"runtime", one.runtime},
                      {"processes", one.told},
                      {"silent", one.silent},
                      {"threads", one.threads},
                      {"cpus", one.cpus},
                      {"regions", one.regions},
                      {"hot_regions", one.hot},
                      {"barriers", one.barriers},
                      {"barriers_left", one.barriers_left},
                      {"loops", one.loops},
                      {"tasks", one.tasks},
                      {"guessed", one.guessed},
                      {"refused", one.refused.empty() ? Document(nullptr) : Document(one.refused)}});
  const CollectiveStats& all = stats.collectives;
  return {{"told", stats.told() && !kind.untold},
          {"any", stats.served()},
          {"line", served_line(stats, kind)},
          {"openmp", std::move(openmp)},
          {"collectives",
           {{"ranks", all.ranks},
            {"served", all.served},
            {"left", all.passed_on},
            {"communicators", all.communicators},
            {"each", all.each}}},
          {"messages",
           {{"sends", stats.messages.sends},
            {"receives", stats.messages.receives},
            {"communicators_left", stats.messages.communicators_left}}}};
}

}  // namespace smelt
