#include "bench/mpi/campaign.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>

namespace smelt::bench {
namespace {

using epcc::BadInput;
using epcc::FailedRun;
using epcc::Finished;

class Campaign {
 public:
  Campaign(const Request& request, const epcc::Progress& progress) : request_(request), progress_(progress) {}

  Results run() {
    const std::vector<std::string> kernels = chosen_kernels();
    results_.sides = make_sides(request_, results_.warnings);
    results_.settings = shown_settings(common_environment());
    warn_of_load();
    probe();
    results_.libraries.resize(results_.sides.size());
    find_reference();
    together_ = request_.together && kernels.size() > 1;
    for (int round = 0; round < request_.rounds;) {
      const std::vector<std::string> runs =
          together_ ? std::vector<std::string>{fmt::format("{}", fmt::join(kernels, ","))} : kernels;
      total_ = done_ + runs.size() * results_.sides.size() * static_cast<size_t>(request_.rounds - round);
      for (const std::string& one : runs) settled_round(one, round);
      if (together_ && together_failed_)
        together_ = false;  // the round once more, one by one: that tells which kernel fails
      else
        round++;
    }
    if (results_.series.empty())
      throw FailedRun{fmt::format("no run succeeded: {}", results_.failures.empty() ? "" : results_.failures[0].why)};
    return std::move(results_);
  }

 private:
  // Beside other busy processes the figures scatter by a factor of ten; their later reader should know.
  void warn_of_load() {
    double load = 0;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
      results_.warnings.push_back(
          fmt::format("WARNING: the machine was not idle before the first run: load {:.1f}", load));
  }

  std::vector<std::string> chosen_kernels() const {
    const std::string sweep = request_.own_dir + "/mpi_sweep";
    const Finished listed = epcc::run_child({sweep, "--list"}, common_environment(), request_.timeout_s);
    if (!listed.ok) throw FailedRun{fmt::format("{} --list failed: {}", sweep, listed.failure)};
    std::vector<std::string> all;
    for (size_t start = 0, end; (end = listed.out.find('\n', start)) != std::string::npos; start = end + 1)
      all.push_back(listed.out.substr(start, end - start));
    for (const std::string& word : request_.kernels)
      if (std::ranges::count(all, word) == 0)
        throw BadInput{fmt::format("--kernels: there is no \"{}\"; there are {}", word, fmt::join(all, ", "))};
    return request_.kernels.empty() ? all : request_.kernels;
  }

  std::vector<std::string> command(const Side& side, const std::string& kernel) const {
    std::vector<std::string> words = side.command;
    for (const std::string& word :
         {std::string("--kernels"), kernel, std::string("--sizes"), fmt::format("{}", fmt::join(request_.sizes, ",")),
          std::string("--batch-ms"), fmt::format("{}", request_.batch_ms), std::string("--batches"),
          std::to_string(request_.batches), std::string("--timeout"), fmt::format("{:.0f}", request_.timeout_s)})
      words.push_back(word);
    if (request_.skew_ns > 0) words.insert(words.end(), {"--skew", fmt::format("{}", request_.skew_ns)});
    if (request_.strict) words.push_back("--strict");
    if (request_.oversubscribed()) words.push_back("--no-hop");  // the two ranks may share a CPU
    if (!request_.verify) words.push_back("--no-verify");
    return words;
  }

  // mpi_sweep ends itself when its time is over, and its mpirun with it; a process killed from here may leave ranks
  // behind.
  Finished start(const Side& side, const std::vector<std::string>& words) const {
    return epcc::run_child(words, side.environment, request_.timeout_s + 15);
  }

  // Is each side what it is called? A component that steps aside would make the table compare stock with stock.
  void probe() {
    for (size_t i = 0; i < results_.sides.size();) {
      const std::string why = wrong_component(results_.sides[i]);
      if (!why.empty() && results_.sides[i].name == "smelt") throw FailedRun{"Smelt's side: " + why};
      if (why.empty()) {
        i++;
        continue;
      }
      results_.warnings.push_back(fmt::format("{} is left out: {}", results_.sides[i].name, why));
      results_.sides.erase(results_.sides.begin() + static_cast<long>(i));
    }
    if (results_.sides.empty()) throw FailedRun{fmt::format("{}", fmt::join(results_.warnings, "; "))};
  }

  std::string wrong_component(const Side& side) const {
    if (side.component.empty()) return "";
    std::vector<std::string> words = side.command;
    words.insert(words.end() - 1, {"--mca", "coll_base_verbose", "10"});
    words.insert(words.end(), {"--kernels", "barrier", "--batches", "1", "--batch-ms", "0.1", "--timeout", "30"});
    const Finished run = start(side, words);
    if (!run.ok) return explain(run);
    const std::string chosen = chosen_component(run.err);
    if (chosen == side.component) return "";
    // Smelt's was found where it was looked for: if Open MPI does not know it, it could not load it.
    if (side.name != "smelt" && !mentions_component(run.err, side.component))
      return "this Open MPI has no coll/" + side.component;
    return fmt::format("Open MPI chose {} for MPI_COMM_WORLD, not {}", chosen.empty() ? "something else" : chosen,
                       side.component);
  }

  void find_reference() {
    results_.reference = 0;
    for (size_t i = 0; i < results_.sides.size(); i++)
      if (results_.sides[i].name == "smelt") results_.reference = i;
  }

  void settled_round(const std::string& kernel, int round) {
    if (moved_share(one_round(kernel, round, true)) > 0.25) one_round(kernel, round, false);
  }

  static double moved_share(const std::vector<Distance>& distances) {
    if (distances.empty()) return 0;
    return static_cast<double>(std::ranges::count(distances, Distance::kMoved)) / static_cast<double>(distances.size());
  }

  // Returns the distances of the round's cells.
  std::vector<Distance> one_round(const std::string& kernel, int round, bool counts) {
    std::vector<Series> cells;  // of one cell each
    const size_t count = results_.sides.size();
    for (size_t turn = 0; turn < count; turn++) {
      const size_t side = round % 2 == 0 ? turn : count - 1 - turn;
      if (counts) done_++;
      progress_(done_, total_,
                fmt::format("round {} of {}, {}, {}", round + 1, request_.rounds, together_ ? "all kernels" : kernel,
                            results_.sides[side].column));
      if (!results_.failed(kernel)[side]) run_side(side, kernel, round, cells);
    }
    std::vector<Distance> distances;
    for (Series& one : cells) {
      const std::vector<double> hops = one.cells[0].hop_ns();
      results_.hop_ns.insert(results_.hop_ns.end(), hops.begin(), hops.end());
      distances.push_back(epcc::classify(hops));
      series_in(results_.series, one.kernel, one.size).cells.push_back(std::move(one.cells[0]));
    }
    return distances;
  }

  void run_side(size_t side, const std::string& kernel, int round, std::vector<Series>& cells) {
    const Finished run = start(results_.sides[side], command(results_.sides[side], kernel));
    const SweepOutput output = parse_sweep(run.out);
    if (!output.library.empty()) results_.libraries[side] = output.library;
    const std::string why = verdict(run, output);
    if (!why.empty() && together_) {
      together_failed_ = true;
      return;
    }
    if (!why.empty() && results_.sides[side].name == "smelt")
      throw FailedRun{fmt::format("{} with Smelt failed: {}", kernel, why)};
    if (!why.empty()) results_.failures.push_back({side, kernel, why});
    for (const SweepLine& line : output.lines) {
      std::vector<Cell>& own = series_in(cells, line.kernel, line.size).cells;
      if (own.empty()) own.push_back({round, {}});
      own[0].sides.resize(results_.sides.size());
      own[0].sides[side] = line.reading;
    }
  }

  std::string verdict(const Finished& run, const SweepOutput& output) const {
    if (!run.ok) return explain(run);
    if (output.lines.empty()) return "it printed no figures";
    // Another library's mpirun starts each rank as a program of its own.
    if (output.ranks != request_.ranks)
      return fmt::format("it ran with {} ranks: another library's mpirun?", output.ranks);
    return "";
  }

  static Series& series_in(std::vector<Series>& all, const std::string& kernel, long size) {
    for (Series& series : all)
      if (series.kernel == kernel && series.size == size) return series;
    return all.emplace_back(Series{kernel, size, {}});
  }

  const Request& request_;
  const epcc::Progress& progress_;
  Results results_;
  size_t done_ = 0, total_ = 0;
  bool together_ = false, together_failed_ = false;
};

}  // namespace

std::vector<bool> Results::failed(const std::string& kernel) const {
  std::vector<bool> result(sides.size());
  for (const Failure& failure : failures)
    if (failure.kernel == kernel) result[failure.side] = true;
  return result;
}

std::vector<SweepRow> Results::rows() const {
  std::vector<SweepRow> result;
  for (const Series& one : series)
    for (SweepRow& row : rows_of(one, reference, failed(one.kernel))) result.push_back(std::move(row));
  return result;
}

size_t Results::moved() const {
  size_t count = 0;
  for (const Series& one : series)
    for (const Cell& cell : one.cells) count += epcc::classify(cell.hop_ns()) == Distance::kMoved;
  return count;
}

std::string explain(const Finished& run) {
  std::string ours, first;
  for (size_t start = 0; start < run.err.size();) {
    const size_t end = std::min(run.err.find('\n', start), run.err.size());
    const std::string line = run.err.substr(start, end - start);
    start = end + 1;
    if (ours.empty() && line.find("mpi_sweep: ") != line.npos) ours = line;
    if (first.empty() && line.find_first_not_of("-=* \t\r") != line.npos) first = line;
  }
  const std::string what = run.failure.substr(0, run.failure.find(':'));
  const std::string& told = ours.empty() ? first : ours;
  return told.empty() ? what : fmt::format("{}: {}", what, told);
}

std::string chosen_component(const std::string& verbose) {
  constexpr std::string_view kNew = "new communicator: ", kAvailable = "component available: ",
                             kPriority = ", priority: ";
  enum class At { kBefore, kWorld, kBehind };
  std::map<std::string, At> processes;  // by "[host:1234]", which starts their lines: the ranks' lines are mixed
  std::string chosen;
  int highest = -1;  // of all processes, for a line that another rank's tears is missed
  for (size_t start = 0; start < verbose.size();) {
    const size_t end = std::min(verbose.find('\n', start), verbose.size());
    const std::string line = verbose.substr(start, end - start);
    start = end + 1;
    At& at = processes[line.substr(0, line.find(']'))];
    if (line.find(kNew) != line.npos) {
      const bool world = line.find(std::string(kNew) + "MPI_COMM_WORLD") != line.npos;
      at = world && at == At::kBefore ? At::kWorld : At::kBehind;
    }
    const size_t name = line.find(kAvailable), comma = line.find(kPriority);
    if (at != At::kWorld || name == line.npos || comma == line.npos) continue;
    const std::string component = line.substr(name + kAvailable.size(), comma - name - kAvailable.size());
    // "self" serves communicators of one rank: this is the next communicator, its first line torn.
    if (component == "self") at = At::kBehind;
    int priority = -1;
    std::from_chars(line.data() + comma + kPriority.size(), line.data() + line.size(), priority);
    if (at != At::kWorld || priority <= highest) continue;
    highest = priority;
    chosen = component;
  }
  return chosen;
}

bool mentions_component(const std::string& verbose, const std::string& name) {
  const std::string words = " component " + name;
  for (size_t at = verbose.find(words); at != verbose.npos; at = verbose.find(words, at + 1))
    if (at + words.size() == verbose.size() || std::isspace(static_cast<unsigned char>(verbose[at + words.size()])))
      return true;
  return false;
}

Results run_campaign(const Request& request, const epcc::Progress& progress) {
  return Campaign(request, progress).run();
}

}  // namespace smelt::bench
