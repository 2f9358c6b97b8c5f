#include "cli/fit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/os/os.h"
#include "discover/system_files.h"
#include "policy/team_size.h"

namespace smelt {
namespace {

// The states of others are looked at so often, a millisecond apart.
constexpr int kLooks = 4;
constexpr auto kPause = std::chrono::milliseconds(1);

// The group whose processes can be seen; "": none.
std::string own_group(const SystemFiles& files) {
  for (const CpuGroup& own : cpu_groups(files))
    for (const std::string& folder : {own.mount + own.path, own.mount})
      if (files.text(folder + "/cgroup.procs")) return folder;
  return "";
}

// Threads of other processes of the group that run or want to.
int runnable_others(const SystemFiles& files, const std::string& group) {
  std::istringstream processes(files.text(group + "/cgroup.procs").value_or(""));
  int count = 0;
  for (long process = 0; processes >> process;) {
    if (process == ::getpid()) continue;
    std::error_code gone;
    const std::string tasks = fmt::format("/proc/{}/task", process);
    for (std::filesystem::directory_iterator task(files.path(tasks), gone), end; !gone && task != end;
         task.increment(gone)) {
      const std::string stat = files.text(tasks + "/" + task->path().filename().string() + "/stat").value_or("");
      const size_t name = stat.rfind(") ");  // "11 (a name) R ..."
      count += name != std::string::npos && stat.compare(name + 2, 1, "R") == 0;
    }
  }
  return count;
}

uint32_t number_in(const char* text) {
  return text ? static_cast<uint32_t>(std::min(std::strtoul(text, nullptr, 10), 100000ul)) : 0;
}

// Is the quota less than the CPUs?
bool limits(const Room& room) {
  return room.quota_thousandths != 0 && room.quota_thousandths < uint64_t{1000} * room.cpus;
}

std::string cpus_text(double cpus) { return fmt::format("{:.3g} CPU{}", cpus, cpus == 1 ? "" : "s"); }

}  // namespace

uint32_t ranks_of(const std::vector<std::string>& command) {
  if (command.empty() || mpi_launcher(command[0]).empty()) return 1;
  for (size_t i = 1; i + 1 < command.size(); ++i)
    for (const char* const option : {"-n", "-np", "--np", "-c", "--n"})
      if (command[i] == option) return number_in(command[i + 1].c_str());
  return 0;
}

Room look_at_room(const std::vector<std::string>& command, const std::string& root) {
  const SystemFiles files(root);
  Room room;
  room.cpus = os::allowed_cpus();
  room.quota_thousandths =
      os::cgroup_cpu_thousandths(files.path("/sys/fs/cgroup").c_str(), files.path("/proc/self/cgroup").c_str());
  room.ranks = ranks_of(command);
  if (room.ranks == 0) room.ranks = room.cpus;  // mpirun starts one for each
  if (!limits(room)) return room;
  const std::string group = own_group(files);
  int seen = 0;
  for (int look = 0; look < kLooks && !group.empty(); ++look) {
    seen += runnable_others(files, group);
    std::this_thread::sleep_for(kPause);
  }
  room.others_cpus = static_cast<double>(seen) / kLooks;
  return room;
}

Fit fit_into(const Room& room, const std::function<const char*(const char*)>& environment) {
  const double quota = room.quota_thousandths * 1e-3;
  const bool by_quota = limits(room);
  const double others = by_quota && room.others_cpus >= kNoticedLoad ? room.others_cpus : 0;
  const double left = (by_quota ? quota : room.cpus) - others;
  Fit fit;
  fit.threads = std::max(1u, whole_cpus(left) / std::max(1u, room.ranks));
  fit.why = by_quota ? fmt::format("the quota pays for {} of {}", cpus_text(quota), room.cpus)
                     : fmt::format("{} may be used", cpus_text(room.cpus));
  if (others > 0) fit.why += fmt::format(", of which others in the group want {:.1f}", others);
  if (room.ranks > 1) fit.why += fmt::format(", for {} ranks", room.ranks);

  const std::string threads = std::to_string(fit.threads);
  // What is set is lowered. A list of OpenMP's gives the sizes of inner levels behind the first.
  const auto lower = [&](const char* name, bool needed) {
    const std::string set = environment(name) ? environment(name) : "";
    const uint32_t number = number_in(set.c_str());
    if (number > fit.threads || (needed && number == 0))
      fit.changes.push_back({name, threads + set.substr(number ? std::min(set.find(','), set.size()) : set.size())});
    if (needed && number == 0 && !set.empty()) fit.why += fmt::format("; {}={} was no number", name, set);
  };
  lower("OMP_NUM_THREADS", true), lower("NUMBA_NUM_THREADS", true);
  // These pools look at OMP_NUM_THREADS where theirs is not set.
  for (const char* const name : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                 "NUMEXPR_NUM_THREADS", "OMP_THREAD_LIMIT"})
    lower(name, false);
  std::string names;
  for (const EnvironmentChange& change : fit.changes)
    names += fmt::format("{}{}={}", names.empty() ? "" : " ", change.name, *change.value);
  fit.why = fmt::format("{} thread{} ({}): {}", fit.threads, fit.threads == 1 ? "" : "s",
                        names.empty() ? "as set already" : names, fit.why);
  return fit;
}

}  // namespace smelt
