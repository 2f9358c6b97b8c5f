#include "bench/mpi/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace smelt::bench {
namespace {

using epcc::distance_name;
using epcc::micros;
using epcc::times_as_fast;

std::string range(double min, double max, std::string (*write)(double)) { return write(min) + "-" + write(max); }

void trim_end(std::string& text) {
  while (text.ends_with(' ')) text.pop_back();
}

class Text {
 public:
  Text(const Request& request, const Results& results) : request_(request), results_(results), rows_(results.rows()) {
    for (const SweepRow& row : rows_) shared_.insert(row.distance);
  }

  std::string write(const std::string& machine) {
    head(machine);
    for (size_t i = 0; i < rows_.size();) {
      const size_t start = i;
      while (i < rows_.size() && rows_[i].kernel == rows_[start].kernel) i++;
      table(start, i);
    }
    summary();
    legend();
    return std::move(text_);
  }

 private:
  const std::string& reference() const { return results_.sides[results_.reference].column; }
  bool several() const { return results_.sides.size() > 1; }
  bool mixed() const { return shared_.size() > 1; }

  void line(const std::string& title, const std::string& what) {
    if (!what.empty()) text_ += fmt::format("{:<9}{}\n", title, what);
  }

  void head(const std::string& machine) {
    line("Machine", machine);
    line("Ranks", placement(request_));
    for (size_t i = 0; i < results_.sides.size(); i++) {
      const std::string& library = results_.libraries[i];
      line(results_.sides[i].column,
           fmt::format("{}: {}", library.empty() ? "no run succeeded" : library, results_.sides[i].shown()));
    }
    line("Settings", fmt::format("{}", fmt::join(results_.settings, " ")));
    line("Method", method(request_));
    line("Hop", hops());
    for (const std::string& warning : results_.warnings) text_ += warning + "\n";
    for (const Failure& failure : results_.failures)
      text_ += fmt::format("{} failed in {}: {}\n", results_.sides[failure.side].column, failure.kernel, failure.why);
  }

  std::string hops() const {
    if (results_.hop_ns.empty()) return "unknown: no ping-pong between ranks 0 and 1";
    const auto [min, max] = std::ranges::minmax(results_.hop_ns);
    return fmt::format("one-way {:.0f} / {:.0f} / {:.0f} ns (min / median / max) → {}", min,
                       epcc::median(results_.hop_ns), max, mixed() ? "mixed" : class_name(*shared_.begin()));
  }

  static std::string class_name(Distance distance) {
    return distance == Distance::kMoved ? "mixed" : distance_name(distance);
  }

  void table(size_t start, size_t end) {
    table_head(rows_[start].kernel);
    const std::vector<bool> failed = results_.failed(rows_[start].kernel);
    for (size_t i = start; i < end; i++) table_line(rows_[i], failed);
  }

  void table_head(const std::string& kernel) {
    text_ += fmt::format("\n{}, µs\n{:>6}{}", kernel, "size", mixed() ? "  hop  " : "");
    for (const Side& side : results_.sides) text_ += fmt::format(" {:>9}", side.column);
    text_ += fmt::format("  {:<17}", reference() + " rounds");
    if (several()) text_ += fmt::format(" {:>7}  {:<13} {}", "ratio", "spread", "fastest other");
    trim_end(text_);
    text_ += '\n';
  }

  void table_line(const SweepRow& row, const std::vector<bool>& failed) {
    text_ += fmt::format("{:>6}", row.size > 0 ? size_name(row.size) : "-");
    if (mixed()) text_ += fmt::format("  {:<5}", distance_name(row.distance));
    for (size_t i = 0; i < row.sides.size(); i++)
      text_ += fmt::format(" {:>9}", failed[i] ? "failed" : row.sides[i].us ? micros(row.sides[i].us->median) : "-");
    const auto& own = row.sides[results_.reference].us;
    text_ += fmt::format("  {:<17}", own ? range(own->min, own->max, micros) : "");
    if (row.against_fastest && row.fastest >= 0) {
      const Spread& ratio = *row.against_fastest;
      text_ += fmt::format(" {:>7}  {:<13} {}", times_as_fast(ratio.median), range(ratio.min, ratio.max, times_as_fast),
                           results_.sides[static_cast<size_t>(row.fastest)].column);
    }
    trim_end(text_);
    text_ += '\n';
  }

  void summary() {
    const std::vector<Summary> all = summarise(rows_);
    if (all.empty()) return;
    text_ += fmt::format("\n{:<16}{} {:>14}  {:>5}  {:>6}  {}\n", "fastest other", mixed() ? " hop  " : "",
                         "geometric mean", "sizes", "least", "at size");
    text_ += fmt::format("{:<16}{} {:>14}\n", "/ " + reference(), mixed() ? "      " : "", "1 B - 1 MiB");
    for (const Summary& one : all) {
      text_ += fmt::format("{:<16}", one.kernel);
      if (mixed()) text_ += fmt::format(" {:<5}", distance_name(one.distance));
      text_ += fmt::format(" {:>14}  {:>5}  {:>6}  {}\n", one.sizes > 0 ? times_as_fast(one.geometric_mean) : "-",
                           one.sizes, times_as_fast(one.least), one.least_size > 0 ? size_name(one.least_size) : "-");
    }
  }

  void legend() {
    text_ += request_.skew_ns > 0
                 ? "\nµs: from the last rank's arrival to the last rank's exit, median over a batch's calls, "
             : request_.strict ? "\nµs per call of the slowest rank with a barrier after each, "
                               : "\nµs per call of the slowest rank in a tight loop, ";
    text_ += "median over the batches of a run,\nthen over the rounds. ";
    text_ += fmt::format("{} rounds: least and greatest round. ", reference());
    if (several())
      text_ += fmt::format(
          "ratio: fastest other / {} within a round, median over\nthe rounds; above 1 {} is faster. "
          "spread: least and greatest ratio of a round.",
          reference(), reference());
    trim_end(text_);
    text_ += '\n';
    if (const size_t moved = results_.moved(); moved > 0)
      text_ += fmt::format(
          "{} readings during which the CPUs moved between near (hop <= {:g} ns) and far were left out wherever there "
          "were others.\n",
          moved, epcc::kNearHopNs);
  }

  const Request& request_;
  const Results& results_;
  const std::vector<SweepRow> rows_;
  std::set<Distance> shared_;
  std::string text_;
};

}  // namespace

std::string method(const Request& request) {
  return fmt::format("{} interleaved rounds; {} batches of {:g} ms per size after warm-up; {}; results {}",
                     request.rounds, request.batches, request.batch_ms,
                     request.skew_ns > 0 ? fmt::format("each rank delayed at random by up to {:g} ns", request.skew_ns)
                     : request.strict    ? "a barrier after each call"
                                         : "tight loop",
                     request.verify ? "verified" : "not verified");
}

std::string placement(const Request& request) {
  const std::string ranks = fmt::format("{} rank{}", request.ranks, request.ranks == 1 ? "" : "s");
  if (request.oversubscribed()) return fmt::format("{} on {} CPUs, not bound, yielding", ranks, request.cpus);
  if (!request.bind) return ranks + ", not bound";
  return ranks + (request.ranks > request.cores ? ", each bound to a hardware thread" : ", each bound to a core");
}

std::string report_text(const Request& request, const Results& results, const std::string& machine) {
  return Text(request, results).write(machine);
}

}  // namespace smelt::bench
