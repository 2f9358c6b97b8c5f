// Conditions that would make measurements wrong, or other than those of a program, as the running system tells them
// before anything is timed. `smelt doctor` prints all of it, `smelt calibrate` warns of the part that spoils its
// figures.
//
// Conditions that only show while measuring (a virtual CPU that was moved, a frequency that changed) are found there,
// not here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

enum class Severity {
  kOk,       // looked at, nothing wrong
  kNote,     // good to know; figures hold
  kWarning,  // figures taken now would be wrong
};
const char* severity_name(Severity severity);  // "ok", "note", "warning"

struct Finding {
  Severity severity = Severity::kOk;
  std::string what;          // "frequency governor"
  std::string found;         // "powersave on CPUs 0-7"
  std::string why;           // why it matters; empty for kOk, as the next
  std::string advice;        // the remedy, with the command
  bool of_programs = false;  // also of programs that merely run, and are not timed
};

// The system to look at. Tests put a directory of their own in place of "/" and answer the questions that no file does.
struct System {
  std::string root;               // "": the running one; else a directory with proc/ and sys/ below
  std::vector<uint32_t> allowed;  // CPUs that this process may use, ascending, never empty
  bool virtualised = false;
  std::function<void()> wait;                           // lets the time pass in which load is watched
  std::function<const char*(const char*)> environment;  // a variable or nullptr
  uint64_t file_size_limit = UINT64_MAX;                // bytes (ulimit -f)
};
System this_system();  // watches for 100 ms

// The conditions of timings: frequency, quota, other load, hypervisor, kinds of cores, the set of CPUs. One finding per
// subject that this system knows at all, in a fixed order; takes as long as System::wait.
std::vector<Finding> measurement_conditions(const System& system);

// The conditions of a program's threads and processes: pinning, NUMA balancing, permissions. Whether `others_run`
// (of measurement_conditions) decides whether binding is good advice.
std::vector<Finding> program_conditions(const System& system, bool others_run = false);

// The profile that a program started now would use (profile/profile.h): there at all, refused, how old, of which CPUs,
// measured beside what.
std::vector<Finding> profile_conditions(const System& system, bool others_run = false);

bool others_run(const std::vector<Finding>& findings);

// The warnings among this machine's measurement_conditions.
std::vector<Finding> calibration_findings();

bool any_warning(const std::vector<Finding>& findings);
// Would a program that is run now get less than it could?
bool any_warning_of_programs(const std::vector<Finding>& findings);

}  // namespace smelt
