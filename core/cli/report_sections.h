// The sections of `smelt report`: each takes what is known of a machine and says it in HTML, or "" where there is
// nothing to say.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <vector>

#include "discover/machine_file.h"
#include "draw/plot.h"
#include "report/table.h"

namespace smelt {

struct ReportSubject {
  MachineFile machine;
  std::vector<uint32_t> cpus;               // that take part
  const std::atomic<bool>* stop = nullptr;  // ends the searches early
  Document document = {};                   // the sections' findings, each under its name
  // The cells of the heat maps, for the page's script; costs_section fills it.
  Document heat = Document::object();
};

// Of the pairs at each distance, how their costs are known; "" where no pair is at it.
std::vector<std::string> cost_origins(const ReportSubject& subject);
std::string script_data(const ReportSubject& subject);

std::string overview_section(const ReportSubject& subject);  // when the others are made: it has the conclusions
std::string topology_section(const ReportSubject& subject);
std::string costs_section(ReportSubject& subject);
std::string patterns_section(ReportSubject& subject);
std::string thresholds_section(ReportSubject& subject);
std::string raced_section(ReportSubject& subject);
std::string doctor_section(ReportSubject& subject);  // of this machine, now
// A plot as a figure of the page.
std::string plot_figure(const Plot& plot, const std::string& id);
// Of that profile; "": of this machine's, if its networks were sampled.
std::string networks_section(ReportSubject& subject, const std::string& profile);
// Times this machine now, for some seconds, and runs the programs of the build tree that compare OpenMP and MPI.
std::string measured_section(ReportSubject& subject);
std::string commands_section(const std::string& machine);  // as --machine takes it

inline std::string percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

}  // namespace smelt
