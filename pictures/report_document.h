// All that smelt report knows of a machine, as one document: its page is drawn of that alone.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/table.h"
#include "pictures/machines/machine_file.h"

namespace smelt {

struct ReportSubject {
  MachineFile machine;
  std::string asked = "this";               // as --machine takes it
  std::vector<uint32_t> cpus;               // that take part
  const std::atomic<bool>* stop = nullptr;  // ends the searches early
  std::string network;                      // a network profile; "": of this machine's, if its networks were sampled
  bool measure = false;
};

Document report_document(const ReportSubject& subject);

// Times this machine now, for some seconds, and runs the programs of the build tree that compare OpenMP and MPI.
Document measure_for_report(const ReportSubject& subject);

}  // namespace smelt
