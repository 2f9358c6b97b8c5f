#include "discover/conditions.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/fingerprint.h"
#include "base/options.h"
#include "base/os/os.h"
#include "base/os/shared_memory.h"
#include "discover/cpu_load.h"
#include "discover/system_files.h"
#include "profile/profile.h"

namespace smelt {
namespace {

const std::string kCpus = "/sys/devices/system/cpu";

std::string of_cpu(uint32_t cpu, const char* file) { return fmt::format("{}/cpu{}/{}", kCpus, cpu, file); }

std::string cpus_text(const std::vector<uint32_t>& cpus) {
  return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", cpu_list_text(cpus));
}

// --- what timings depend on ---

Finding governor_finding(const System& system, const SystemFiles& files) {
  const std::string what = "frequency governor";
  std::map<std::string, std::vector<uint32_t>> by_governor;
  for (const uint32_t cpu : system.allowed)
    if (const auto governor = files.text(of_cpu(cpu, "cpufreq/scaling_governor")))
      by_governor[*governor].push_back(cpu);
  if (by_governor.empty())
    return {Severity::kOk, what, "none: the firmware or the host of a virtual machine sets the frequency", "", ""};
  std::string found;
  for (const auto& [governor, cpus] : by_governor)
    found += fmt::format("{}{} on {}", found.empty() ? "" : ", ", governor, cpus_text(cpus));
  if (by_governor.size() == 1 && by_governor.begin()->first == "performance")
    return {Severity::kOk, what, found, "", ""};
  return {Severity::kWarning, what, found,
          "a core that was idle is slow at first, so the same message costs less the longer one measures",
          "sudo cpupower frequency-set -g performance"};
}

Finding boost_finding(const SystemFiles& files) {
  const std::string what = "turbo";
  const auto no_turbo = files.number(kCpus + "/intel_pstate/no_turbo");
  const auto boost = files.number(kCpus + "/cpufreq/boost");
  if (!no_turbo && !boost) return {Severity::kOk, what, "the kernel has no switch for it", "", ""};
  if (no_turbo ? *no_turbo != 0 : *boost == 0) return {Severity::kOk, what, "off", "", ""};
  return {Severity::kNote, what, "on",
          "the frequency falls as more cores are busy and as the package warms up; ratios hold, nanoseconds vary",
          fmt::format("to compare nanoseconds: echo {} | sudo tee {}", no_turbo ? 1 : 0,
                      no_turbo ? kCpus + "/intel_pstate/no_turbo" : kCpus + "/cpufreq/boost")};
}

Finding set_finding(const System& system, const SystemFiles& files) {
  const std::vector<uint32_t> online = files.cpu_list(kCpus + "/online");
  std::vector<uint32_t> missing;
  std::set_difference(online.begin(), online.end(), system.allowed.begin(), system.allowed.end(),
                      std::back_inserter(missing));
  if (missing.empty())
    return {Severity::kOk, "CPUs allowed", fmt::format("all: {}", cpu_list_text(system.allowed)), "", ""};
  return {Severity::kNote, "CPUs allowed",
          fmt::format("{} of the machine's {}", cpu_list_text(system.allowed), cpu_list_text(online)),
          "only these can be measured; a program that runs on others finds no figures for them",
          fmt::format("calibrate without taskset or a launcher's binding, e.g. taskset -c {} smelt calibrate",
                      cpu_list_text(online))};
}

Finding offline_finding(const SystemFiles& files) {
  const std::vector<uint32_t> offline = files.cpu_list(kCpus + "/offline");
  if (offline.empty()) return {Severity::kOk, "CPUs offline", "none", "", ""};
  return {Severity::kNote, "CPUs offline", cpu_list_text(offline),
          "the set of online CPUs is part of the machine's fingerprint: when they come back, this profile is not found",
          fmt::format("if they should be on: echo 1 | sudo tee {}/cpu{}/online", kCpus, offline.front())};
}

Finding sibling_finding(const System& system, const SystemFiles& files) {
  std::set<std::vector<uint32_t>> shared;
  for (const uint32_t cpu : system.allowed) {
    std::vector<uint32_t> of_core;
    for (const uint32_t sibling : files.cpu_list(of_cpu(cpu, "topology/thread_siblings_list")))
      if (std::binary_search(system.allowed.begin(), system.allowed.end(), sibling)) of_core.push_back(sibling);
    if (of_core.size() > 1) shared.insert(of_core);
  }
  if (shared.empty()) return {Severity::kOk, "SMT", "one allowed CPU per core", "", ""};
  return {Severity::kNote, "SMT",
          fmt::format("{} cores with several allowed CPUs, e.g. {}", shared.size(), cpus_text(*shared.begin())),
          "two threads on one core halve each other's speed, and a spinning one slows the other's work",
          "for a thread per core: OMP_PLACES=cores OMP_PROC_BIND=close"};
}

// By the kernel's figure of their capacity, the two PMUs of Intel's hybrids, or clearly different top frequencies.
Finding kind_finding(const System& system, const SystemFiles& files) {
  std::map<int64_t, std::vector<uint32_t>> kinds;
  const std::vector<uint32_t> efficient = files.cpu_list("/sys/devices/cpu_atom/cpus");
  int64_t fastest = 0;
  for (const uint32_t cpu : system.allowed)
    fastest = std::max(fastest, files.number(of_cpu(cpu, "cpufreq/cpuinfo_max_freq")).value_or(0));
  for (const uint32_t cpu : system.allowed) {
    int64_t kind = files.number(of_cpu(cpu, "cpu_capacity")).value_or(1024);
    if (std::binary_search(efficient.begin(), efficient.end(), cpu)) kind = std::min<int64_t>(kind, 1);
    // Favoured cores of one kind differ by a few per cent; that is no other kind of core.
    const int64_t top = files.number(of_cpu(cpu, "cpufreq/cpuinfo_max_freq")).value_or(fastest);
    if (kind > 1 && top * 10 < fastest * 8) kind = std::min<int64_t>(kind, 1024 * top / fastest);
    kinds[kind].push_back(cpu);
  }
  if (kinds.size() == 1) return {Severity::kOk, "kinds of cores", "all alike", "", ""};
  std::string found;
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind)
    found += (found.empty() ? "" : " | ") + cpus_text(kind->second);
  return {Severity::kNote, "kinds of cores", "different: " + found,
          "a message costs more on a slower core, and a barrier waits for the slowest",
          fmt::format("keep a program on one kind: taskset -c {} ...", cpu_list_text(kinds.rbegin()->second))};
}

// --- what programs meet ---

Finding pinning_finding(const System& system, bool others_run) {
  const std::string what = "OpenMP pinning";
  const auto set = [&system](const char* name) {
    const char* value = system.environment ? system.environment(name) : nullptr;
    return value && *value ? value : nullptr;
  };
  const char* bind = set("OMP_PROC_BIND");
  const bool off = bind && strcasecmp(bind, "false") == 0;
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (const char* value = set(name); value && !off) {
      const std::string found = fmt::format("{}={}", name, value);
      if (!others_run) return {Severity::kOk, what, found, "", ""};
      return {Severity::kWarning, what, found + ", and others run here",
              "a bound thread waits for its CPU while somebody else has it, and its team waits for the thread",
              fmt::format("unset {}, or take CPUs on which nothing else runs", name)};
    }
  const std::string found = off ? "OMP_PROC_BIND=false" : "OMP_PROC_BIND and OMP_PLACES are not set";
  if (others_run) return {Severity::kOk, what, found + ", as it should be where others run", "", ""};
  return {Severity::kNote, what, found,
          "threads may move, and then a pattern chosen for where they were is only a good guess",
          "export OMP_PROC_BIND=true, where nothing else runs on these CPUs"};
}

Finding balancing_finding(const SystemFiles& files) {
  const std::string what = "NUMA balancing";
  const auto on = files.number("/proc/sys/kernel/numa_balancing");
  if (!on || *on == 0) return {Severity::kOk, what, "off", "", ""};
  if (files.cpu_list("/sys/devices/system/node/online").size() < 2)
    return {Severity::kOk, what, "on, with one node to balance", "", ""};
  return {Severity::kNote, what, "on",
          "the kernel unmaps pages to see who touches them, and moves them: barriers hiccup meanwhile",
          "for steady timings: sudo sysctl kernel.numa_balancing=0"};
}

Finding copy_finding(const SystemFiles& files) {
  const std::string what = "single copy between MPI ranks";
  const auto scope = files.number("/proc/sys/kernel/yama/ptrace_scope");
  if (!scope || *scope == 0) return {Severity::kOk, what, "permitted", "", ""};
  return {Severity::kNote, what, fmt::format("refused to unprivileged ranks (kernel.yama.ptrace_scope={})", *scope),
          "long messages are copied twice, through shared memory",
          "sudo sysctl kernel.yama.ptrace_scope=0, where users trust each other"};
}

Finding memory_finding(const System& system) {
  const std::string what = "shared memory of MPI ranks";
  const auto wanted = static_cast<uint64_t>(options().shm_mb);
  const uint64_t limit_mb = system.file_size_limit >> 20;
  if (limit_mb >= wanted) return {Severity::kOk, what, fmt::format("up to {} MiB (SMELT_SHM_MB)", wanted), "", ""};
  return {Severity::kNote, what,
          fmt::format("{} MiB by ulimit -f, of {} MiB that SMELT_SHM_MB allows", limit_mb, wanted),
          "communicators that find no room are left to Open MPI's own components", "ulimit -f unlimited"};
}

// --- the profile ---

constexpr int64_t kOldDays = 90;

// Profiles of other fingerprints in the user's directory: this machine before an update, perhaps.
size_t other_profiles() {
  char path[sizeof Profile::path];
  if (user_profile_path(path, sizeof path) != 0) return 0;
  std::error_code error;
  size_t count = 0;
  for (std::filesystem::directory_iterator at(std::filesystem::path(path).parent_path(), error), end;
       !error && at != end; at.increment(error))
    count += at->path().extension() == ".profile";
  return count;
}

// The sentence for a profile that is there and accepted.
Finding accepted_finding(const System& system, const Profile& profile, bool others_run) {
  const std::string what = "profile";
  const int64_t now = std::time(nullptr);
  const int64_t days = std::max<int64_t>(0, now - profile.header.created) / 86400;
  const std::string found = fmt::format("{}, measured {} days ago", profile.path, days);
  std::vector<uint32_t> unknown;
  for (const uint32_t cpu : system.allowed)
    if (profile_index(profile, cpu) == kNobody) unknown.push_back(cpu);
  if (!unknown.empty())
    return {Severity::kWarning, what, fmt::format("{}; it does not know {}", found, cpus_text(unknown)),
            "a team with a thread there gets the barrier of a crowd", "smelt calibrate"};
  const auto uptime = SystemFiles(system.root).number("/proc/uptime");
  if (system.virtualised && uptime && profile.header.created < now - *uptime)
    return {Severity::kWarning, what, found + ", before this virtual machine was last started",
            "it may run on other cores, or on another host, than it was measured on", "smelt calibrate"};
  if (profile.header.conditions) {
    char conditions[160];
    conditions_text(profile.header.conditions, conditions, sizeof conditions);
    return {Severity::kNote, what, fmt::format("{}, {}", found, conditions),
            "its figures may be too high, and the patterns and limits that follow from them not the best ones",
            others_run ? "smelt calibrate, when nothing else runs" : "smelt calibrate: nothing else runs now"};
  }
  if (days > kOldDays)
    return {Severity::kNote, what, found, "firmware, limits and neighbours change", "smelt calibrate takes a second"};
  return {Severity::kOk, what, found, "", ""};
}

}  // namespace

const char* severity_name(Severity severity) {
  return severity == Severity::kOk ? "ok" : severity == Severity::kNote ? "note" : "warning";
}

System this_system() {
  System system;
  system.allowed.resize(os::allowed_cpus());
  const uint32_t count = os::allowed_cpu_list(system.allowed.data(), static_cast<uint32_t>(system.allowed.size()));
  // The mask may have shrunk between the two looks; a kernel without an answer leaves 0.
  if (count > 0 && count < system.allowed.size()) system.allowed.resize(count);
  system.virtualised = is_virtual_machine();
  system.wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  system.environment = environment;
  system.file_size_limit = os::file_size_limit();
  return system;
}

std::vector<Finding> measurement_conditions(const System& system) {
  const SystemFiles files(system.root);
  std::vector<Finding> findings = load_conditions(system);
  findings.push_back(governor_finding(system, files));
  findings.push_back(boost_finding(files));
  findings.push_back(kind_finding(system, files));
  findings.push_back(sibling_finding(system, files));
  findings.push_back(set_finding(system, files));
  findings.push_back(offline_finding(files));
  return findings;
}

std::vector<Finding> program_conditions(const System& system, bool others_run) {
  const SystemFiles files(system.root);
  std::vector<Finding> findings = {pinning_finding(system, others_run), balancing_finding(files), copy_finding(files),
                                   memory_finding(system)};
  for (Finding& one : findings) one.of_programs = true;
  return findings;
}

std::vector<Finding> profile_conditions(const System& system, bool others_run) {
  const std::string what = "profile";
  Profile profile;
  Refusal refusal;
  const int error = load_profile(&profile, &refusal);
  Finding finding;
  if (refusal.text[0])
    finding = {Severity::kWarning, what, refusal.text, "programs run with guessed costs instead of the measured ones",
               options().profile[0] ? "unset SMELT_PROFILE" : "smelt calibrate"};
  else if (error || profile.source == ProfileSource::kGuess)
    finding = {
        Severity::kNote, what,
        other_profiles() ? "none for this machine as it is now; there are some of other fingerprints" : "none",
        "costs are guessed from the machine's shape; a new kernel, microcode or set of CPUs makes another fingerprint",
        "smelt calibrate"};
  else
    finding = accepted_finding(system, profile, others_run);
  if (!error) unload_profile(&profile);
  finding.of_programs = true;
  return {finding};
}

std::vector<Finding> calibration_findings() {
  std::vector<Finding> findings = measurement_conditions(this_system());
  std::erase_if(findings, [](const Finding& f) { return f.severity != Severity::kWarning; });
  return findings;
}

bool others_run(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.what == kOtherLoad && f.severity == Severity::kWarning; });
}

bool any_warning(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kWarning; });
}

bool any_warning_of_programs(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kWarning && f.of_programs; });
}

}  // namespace smelt
