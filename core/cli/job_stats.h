// The accounts of a job's processes at their ends (SMELT_STATS), summed up in one line.
//
// Only told counts are claimed. A process that was killed, that left by _exit or became another program, has told of
// its beginning at most: the line says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cli/table.h"

namespace smelt {

// An empty file for a job's processes; it goes with this object. Its path is "" where none could be made.
class StatsFile {
 public:
  StatsFile();
  ~StatsFile();
  StatsFile(const StatsFile&) = delete;
  StatsFile& operator=(const StatsFile&) = delete;

  const std::string& path() const { return path_; }
  std::string content() const;

 private:
  std::string path_;
};

// The sums of all processes: `told` said what they did, and `silent` only that they began.
struct OpenMpStats {
  std::string runtime;  // "libgomp"
  uint64_t told = 0, silent = 0;
  uint64_t regions = 0, hot = 0, barriers = 0, barriers_left = 0, loops = 0, tasks = 0, elsewhere = 0;
  uint64_t threads = 0, cpus = 0;  // of the largest team, and what its process had for it
  std::string refused, not_hot;    // why nothing was taken; why regions were left to the runtime
  std::string asked;               // OMP_NUM_THREADS
  bool guessed = false;            // there was no profile

  // A region of one thread has nobody to meet.
  bool served() const { return (threads > 1 && hot + barriers + loops > 0) || tasks > 0; }
};

struct CollectiveStats {
  uint64_t told = 0, silent = 0, ranks = 0;
  uint64_t served = 0, passed_on = 0, communicators = 0, patience = 0;
  std::map<std::string, uint64_t> each;  // of `served`
  std::string refused, why;              // the component is not used; communicators were not served
};

struct MessageStats {
  uint64_t told = 0, silent = 0;
  uint64_t sends = 0, receives = 0, communicators_left = 0;
  std::string refused;
};

struct JobStats {
  std::map<std::string, OpenMpStats> openmp;  // by the runtime's name
  uint64_t unused = 0;                        // processes with a shim that never called OpenMP
  CollectiveStats collectives;
  MessageStats messages;

  bool told() const;    // all that began has told what it did
  bool served() const;  // anything
  uint64_t threads() const;
};

// Lines of JSON; other lines are passed over.
JobStats parse_job_stats(std::string_view content);

// The plan's knowledge of the job (launch_plan.h).
struct JobKind {
  std::string launcher;    // "mpirun", where the command is one
  std::string obstacle;    // why no library can be preloaded
  bool component = false;  // Open MPI's component is put under it
  bool messages = false;   // ... and the one for messages
  bool untold = false;     // there is no file that its processes could write to
};

// "OpenMP (libgomp, 2 threads): 9 of 10 parallel regions and 20 barriers served; ..."
std::string served_line(const JobStats& stats, const JobKind& kind);
Document served_document(const JobStats& stats, const JobKind& kind);  // the same, for programs

}  // namespace smelt
