// Times in /proc/stat are counted in ticks of 10 ms, so a window of 100 ms tells a tenth of a CPU, which is as fine as
// is needed: a neighbour that takes less spoils few batches, and medians do not mind.
#include "discover/cpu_load.h"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/os/os.h"
#include "discover/system_files.h"

namespace smelt {
namespace {

constexpr double kBusyShare = 0.2;  // of a CPU, by others
constexpr double kStolenShare = 0.02;

struct CpuTimes {
  int64_t busy = 0, stolen = 0, total = 0;  // ticks
};
using AllTimes = std::map<uint32_t, CpuTimes>;

AllTimes read_times(const SystemFiles& files) {
  AllTimes all;
  std::istringstream lines(files.text("/proc/stat").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    unsigned cpu = 0;
    // user nice system idle iowait irq softirq steal; guest times are inside user and nice
    long long t[8] = {};
    if (std::sscanf(line.c_str(), "cpu%u %lld %lld %lld %lld %lld %lld %lld %lld", &cpu, &t[0], &t[1], &t[2], &t[3],
                    &t[4], &t[5], &t[6], &t[7]) < 5)
      continue;
    CpuTimes& times = all[cpu];
    times.busy = t[0] + t[1] + t[2] + t[5] + t[6];
    times.stolen = t[7];
    times.total = times.busy + times.stolen + t[3] + t[4];
  }
  return all;
}

// Periods in which a quota stopped the group or one above it: the most that any of them counts.
int64_t throttled_periods(const SystemFiles& files) {
  int64_t most = 0;
  for (const CpuGroup& own : cpu_groups(files)) {
    for (std::string group = own.path;; group.erase(group.rfind('/'))) {
      std::istringstream counts(files.text(own.mount + group + "/cpu.stat").value_or(""));
      std::string name;
      for (int64_t value = 0; counts >> name >> value;)
        if (name == "nr_throttled") most = std::max(most, value);
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return most;
}

Finding quota_finding(const System& system, const SystemFiles& files, int64_t before, int64_t after) {
  const std::string what = "CPU quota";
  const std::string why = "threads are stopped in the middle of a barrier when the period's time is used up";
  const double quota =
      1e-3 * os::cgroup_cpu_thousandths(files.path("/sys/fs/cgroup").c_str(), files.path("/proc/self/cgroup").c_str());
  const auto cpus = static_cast<uint32_t>(system.allowed.size());
  const std::string limit = quota > 0 ? fmt::format("pays for {:.3g} of the {} CPUs allowed", quota, cpus) : "none";
  const std::string advice =
      "raise the container's CPU limit, or use no more threads than it pays for: smelt run --fit";
  if (after > before)
    return {Severity::kWarning, what, fmt::format("{}; stopped {} times while watched", limit, after - before), why,
            advice};
  if (quota > 0 && quota < cpus) return {Severity::kWarning, what, limit, why, advice};
  if (after > 0)
    return {Severity::kNote, what, fmt::format("{}; stopped {} times since the group began, not now", limit, after),
            why, advice};
  return {Severity::kOk, what, limit, "", ""};
}

Finding busy_finding(const System& system, const SystemFiles& files, const AllTimes& before, const AllTimes& after) {
  const std::string what = kOtherLoad;
  std::string busy;
  bool told = false;
  for (const uint32_t cpu : system.allowed) {
    const auto from = before.find(cpu), to = after.find(cpu);
    if (from == before.end() || to == after.end()) continue;
    told = true;
    const int64_t span = to->second.total - from->second.total;
    const double share =
        span > 0 ? static_cast<double>(to->second.busy - from->second.busy) / static_cast<double>(span) : 0;
    if (share >= kBusyShare) busy += fmt::format("{}CPU {} {:.0f} %", busy.empty() ? "" : ", ", cpu, share * 100);
  }
  if (!told)
    return {Severity::kNote, what, "the kernel does not tell (/proc/stat)", "a busy neighbour spoils figures unseen",
            "run 'top' beside the measurement"};
  // "0.20 0.18 0.12 1/80 11206": the fourth is running / existing, ourselves included.
  unsigned running = 0;
  std::sscanf(files.text("/proc/loadavg").value_or("").c_str(), "%*s %*s %*s %u/", &running);
  const std::string queue = running > 2    ? fmt::format("; {} other threads want to run", running - 1)
                            : running == 2 ? "; 1 other thread wants to run"
                                           : "";
  if (busy.empty()) return {Severity::kOk, what, "no CPU busy" + queue, "", ""};
  return {Severity::kWarning, what, busy + queue,
          "who shares a CPU with a measurement is measured too, and a barrier waits for the thread that lost its CPU",
          "stop the other work, or measure when it is over; 'top' names it. Programs may run all the same"};
}

Finding steal_finding(const System& system, const AllTimes& before, const AllTimes& after) {
  int64_t stolen = 0, total = 0;
  for (const uint32_t cpu : system.allowed) {
    const auto from = before.find(cpu), to = after.find(cpu);
    if (from == before.end() || to == after.end()) continue;
    stolen += to->second.stolen - from->second.stolen;
    total += to->second.total - from->second.total;
  }
  const double share = total > 0 ? static_cast<double>(stolen) / static_cast<double>(total) : 0;
  if (share >= kStolenShare)
    return {Severity::kWarning, "virtual machine",
            fmt::format("yes, and the host took {:.0f} % of its CPU time away", share * 100),
            "a virtual CPU that does not run delays everybody who waits for it, and nothing inside can see when",
            "measure when the host is quieter, or ask for dedicated CPUs"};
  return {Severity::kNote, "virtual machine", "yes; no CPU time was taken away while watched",
          "the host may move virtual CPUs to other cores: near ones become far ones from minute to minute",
          "run 'smelt calibrate' again when timings change; SMELT_VERBOSE=1 tells when a program sees that"};
}

}  // namespace

LoadWatch::LoadWatch(System system) : system_(std::move(system)), begin_(count()) {}

LoadWatch::Counts LoadWatch::count() const {
  const SystemFiles files(system_.root);
  const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  Counts sum;
  sum.at_s = static_cast<double>(os::now_ns()) * 1e-9;
  const AllTimes times = read_times(files);
  for (const uint32_t cpu : system_.allowed) {
    const auto found = times.find(cpu);
    if (found == times.end()) continue;
    sum.told = true;
    sum.busy_s += static_cast<double>(found->second.busy) / tick;
    sum.stolen_s += static_cast<double>(found->second.stolen) / tick;
  }
  sum.throttled = throttled_periods(files);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    sum.own_s += seconds(used.ru_utime) + seconds(used.ru_stime);
  }
  return sum;
}

// Seconds, 25 ticks: three of them wrong are less than anybody minds.
constexpr double kLeastTold = 0.25;

LoadSeen LoadWatch::in_time() const {
  const double passed = static_cast<double>(os::now_ns()) * 1e-9 - begin_.at_s;
  if (passed < kLeastTold) ::usleep(static_cast<useconds_t>(1e6 * (kLeastTold - passed)) + 1000);
  return so_far();
}

LoadSeen LoadWatch::so_far() const {
  const Counts now = count();
  LoadSeen seen;
  seen.seconds = now.at_s - begin_.at_s;
  seen.throttled = now.throttled - begin_.throttled;
  if (!now.told || seen.seconds < kLeastTold) return seen;
  const double others_s = (now.busy_s - begin_.busy_s) - (now.own_s - begin_.own_s);
  seen.others_cpus = std::max(0.0, others_s / seen.seconds);
  seen.stolen = (now.stolen_s - begin_.stolen_s) / (seen.seconds * static_cast<double>(system_.allowed.size()));
  return seen;
}

std::vector<Finding> load_conditions(const System& system) {
  const SystemFiles files(system.root);
  const AllTimes before = read_times(files);
  const int64_t throttled = throttled_periods(files);
  if (system.wait) system.wait();
  const AllTimes after = read_times(files);
  std::vector<Finding> findings = {quota_finding(system, files, throttled, throttled_periods(files)),
                                   busy_finding(system, files, before, after)};
  findings.front().of_programs = true;
  if (system.virtualised) findings.push_back(steal_finding(system, before, after));
  return findings;
}

}  // namespace smelt
