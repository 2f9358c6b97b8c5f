#include "epcc/campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>

namespace smelt::epcc {
namespace {

namespace fs = std::filesystem;

// The environment variables by which a user's shell could make one side another program than it should be.
constexpr const char* kControlled[] = {"LD_PRELOAD",    "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",
                                       "OMP_DYNAMIC",   "OMP_WAIT_POLICY", "KMP_AFFINITY",  "GOMP_CPU_AFFINITY",
                                       "SMELT_VERBOSE", "KMP_VERSION",     "OMP_TOOL"};

struct SideRun {
  const char* name;  // "stock", "Smelt", "libomp", "libgomp" or "plain"
  Environment environment;
};

struct Job {
  std::string suite;
  std::string label;  // for progress and failures
  std::vector<std::string> argv;
  bool prints_hop;  // ours does; around the original's runs our ping-pong is run
};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

// "COPYIN 27" -> 27; 0 when the name does not end in a number.
long array_size_of(std::string_view kernel) {
  const size_t space = kernel.find_last_of(" _");
  if (space == kernel.npos) return 0;
  long size = 0;
  const char* end = kernel.data() + kernel.size();
  const auto [stop, error] = std::from_chars(kernel.data() + space + 1, end, size);
  return error == std::errc{} && stop == end ? size : 0;
}

class Campaign {
 public:
  Campaign(const Request& request, const std::vector<int>& cpus, const Progress& progress)
      : request_(request), cpus_(cpus), progress_(progress), ruler_(request.own_dir + "/syncbench") {
    for (const std::string& word : request.kernels)
      if (const long size = array_size_of(word); size > 0) array_sizes_.push_back(size);  // "COPYIN 27"
  }

  Results run() {
    check_programs();
    make_sides();
    const std::vector<Job> jobs = request_.original_dir.empty() ? own_jobs() : original_jobs();
    probe();
    const Hogs hogs(request_.hogs);
    if (!hogs.ok()) throw FailedRun{fmt::format("could not start {} foreign processes", request_.hogs)};
    total_ = jobs.size() * sides_.size() * static_cast<size_t>(request_.pairs);
    for (int pair = 0; pair < request_.pairs; pair++)
      for (const Job& job : jobs) settled_pair(job, pair);
    for (const std::string& word : request_.kernels)
      if (std::ranges::none_of(results_.constructs, [&](const Construct& c) { return names_kernel(word, c.kernel); }))
        throw BadInput{fmt::format("--kernels: none of the programs has a kernel \"{}\"", word)};
    return std::move(results_);
  }

 private:
  void check_programs() const {
    if (access(ruler_.c_str(), X_OK) != 0)
      throw BadInput{fmt::format("{} is not there: compare needs the syncbench built beside it", ruler_)};
    if (access(request_.smelt_library.c_str(), R_OK) != 0)
      throw BadInput{fmt::format("no Smelt library at \"{}\": build gomp_shim or give --smelt-library PATH",
                                 request_.smelt_library)};
    if (!request_.libomp.empty() && access(request_.libomp.c_str(), R_OK) != 0)
      throw BadInput{fmt::format("--libomp: there is no readable file \"{}\"", request_.libomp)};
    if (!request_.libgomp.empty() && access(request_.libgomp.c_str(), R_OK) != 0)
      throw BadInput{fmt::format("--libgomp: there is no readable file \"{}\"", request_.libgomp)};
  }

  // libgomp binds the first thread before main when OMP_PROC_BIND is set, preloaded over or not, and libomp would then
  // believe that it has one CPU. So libomp gets the same binding in its own variable.
  void make_sides() {
    Environment common = Environment::of_this_process();
    for (const char* name : kControlled) common.unset(name);
    common.set("OMP_NUM_THREADS", std::to_string(request_.threads));
    common.set("OMP_DYNAMIC", "false");
    if (request_.wait_policy != "default") common.set("OMP_WAIT_POLICY", request_.wait_policy);
    Environment gomp = common, llvm = common;
    if (request_.bind) {
      gomp.set("OMP_PROC_BIND", "true");
      gomp.set("OMP_PLACES", fmt::format("{{{}}}", fmt::join(cpus_, "},{")));
      llvm.set("KMP_AFFINITY", fmt::format("granularity=fine,proclist=[{}],explicit", fmt::join(cpus_, ",")));
    }
    for (const std::string& entry : gomp.entries())
      for (const char* prefix : {"OMP_", "GOMP_", "KMP_", "SMELT_"})
        if (entry.starts_with(prefix)) results_.settings.push_back(entry);
    std::ranges::sort(results_.settings);
    ruler_environment_ = gomp;
    sides_.push_back({"stock", gomp});
    gomp.set("LD_PRELOAD", request_.smelt_library);
    Environment smelt = gomp;
    for (const std::string& setting : request_.smelt_env) {
      const size_t equals = setting.find('=');
      if (!setting.starts_with("SMELT_") || equals == setting.npos)
        throw BadInput{fmt::format("--smelt-env: \"{}\" is not of the form SMELT_NAME=value", setting)};
      smelt.set(setting.substr(0, equals), setting.substr(equals + 1));
      gomp.unset(setting.substr(0, equals));
    }
    sides_.push_back({"Smelt", smelt});
    if (request_.plain) {
      sides_.push_back({"plain", gomp});
      return;
    }
    if (!request_.libgomp.empty()) {
      gomp.set("LD_PRELOAD", request_.libgomp);
      sides_.push_back({"libgomp", gomp});
      return;
    }
    if (request_.libomp.empty()) return;
    llvm.set("LD_PRELOAD", request_.libomp);
    sides_.push_back({"libomp", llvm});
  }

  std::vector<std::string> own_kernels(const std::string& suite) const {
    const Finished listed =
        run_child({request_.own_dir + "/" + suite, "--list"}, ruler_environment_, request_.timeout_s);
    if (!listed.ok) throw FailedRun{fmt::format("{} --list failed: {}", suite, listed.failure)};
    std::vector<std::string> result;
    for (size_t start = 0, end; (end = listed.out.find('\n', start)) != std::string::npos; start = end + 1)
      result.push_back(listed.out.substr(start, end - start));
    return result;
  }

  bool wanted(const std::string& suite, const std::string& kernel) const {
    const long size = suite == "arraybench" ? array_size_of(kernel) : 0;
    if (size > 0 && std::ranges::count(array_sizes_, size) == 0) return false;
    return request_.kernels.empty() ||
           std::ranges::any_of(request_.kernels, [&](const std::string& word) { return names_kernel(word, kernel); });
  }

  std::vector<Job> own_jobs() const {
    std::vector<Job> jobs;
    std::vector<std::string> known;
    for (const std::string& suite : request_.suites)
      for (const std::string& kernel : own_kernels(suite)) {
        known.push_back(kernel);
        if (!wanted(suite, kernel)) continue;
        jobs.push_back(
            {suite,
             kernel,
             {request_.own_dir + "/" + suite, "--kernels", kernel, "--outer-repetitions",
              std::to_string(request_.outer_repetitions), "--test-time", fmt::format("{}", request_.test_time_us),
              "--delay-time", fmt::format("{}", request_.delay_time_us)},
             true});
        if (suite == "schedbench") jobs.back().argv.insert(jobs.back().argv.end(), {"--over", request_.over});
      }
    for (const std::string& word : request_.kernels)
      if (std::ranges::none_of(known, [&](const std::string& kernel) { return names_kernel(word, kernel); }))
        throw BadInput{fmt::format("--kernels: there is no \"{}\" in {}; their --list shows the kernels", word,
                                   fmt::join(request_.suites, " and "))};
    if (jobs.empty()) throw BadInput{"no kernel is left to run: --array-sizes takes powers of 3 up to 59049"};
    return jobs;
  }

  // The original makes one arraybench per size: arraybench_1, arraybench_3 ... (.x in older builds).
  std::vector<Job> original_jobs() const {
    std::map<std::pair<std::string, long>, std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(request_.original_dir, error)) {
      std::string name = entry.path().filename().string();
      if (name.ends_with(".x")) name.resize(name.size() - 2);
      if (!entry.is_regular_file(error) || access(entry.path().c_str(), X_OK) != 0) continue;
      for (const std::string& suite : request_.suites) {
        const long size = array_size_of(name);
        const bool sized = size > 0 && name == fmt::format("{}_{}", suite, size);
        if (sized && std::ranges::count(array_sizes_, size) == 0) continue;
        if (sized || name == suite) found[{suite, size}] = fs::absolute(entry.path()).string();
      }
    }
    if (error) throw BadInput{fmt::format("--epcc-dir: \"{}\": {}", request_.original_dir, error.message())};
    if (found.empty())
      throw BadInput{fmt::format("--epcc-dir: \"{}\" has no executable {} (of these array sizes: {})",
                                 request_.original_dir, fmt::join(request_.suites, " or "),
                                 fmt::join(array_sizes_, ", "))};
    std::vector<Job> jobs;
    for (const std::string& suite : request_.suites)
      for (const auto& [key, path] : found)
        if (key.first == suite)
          jobs.push_back(
              {suite,
               fs::path(path).filename().string(),
               {path, "--outer-repetitions", std::to_string(request_.outer_repetitions), "--test-time",
                fmt::format("{}", request_.test_time_us), "--delay-time", fmt::format("{}", request_.delay_time_us)},
               false});
    return jobs;
  }

  // Is each side what it is called? A library that the loader ignores would make the table compare stock with stock.
  void probe() {
    const std::vector<std::string> argv{ruler_, "--kernels",   "BARRIER", "--outer-repetitions",
                                        "2",    "--test-time", "50"};
    Environment smelt = sides_[1].environment;
    smelt.set("SMELT_VERBOSE", "1");
    const Finished ours = run_child(argv, smelt, request_.timeout_s);
    if (!ours.ok) throw FailedRun{fmt::format("syncbench BARRIER with Smelt failed: {}", ours.failure)};
    std::string said;
    for (size_t start = 0; start < ours.err.size();) {
      const size_t end = std::min(ours.err.find('\n', start), ours.err.size());
      const std::string line = ours.err.substr(start, end - start);
      if (line.find("symbols taken") != line.npos) results_.smelt_says = line;
      if (said.empty()) said = line;
      start = end + 1;
    }
    if (results_.smelt_says.empty())
      results_.warnings.push_back(fmt::format("WARNING: {} took nothing over, so its column is the stock {} too ({})",
                                              request_.smelt_library, request_.runtime,
                                              said.empty() ? "it said nothing" : said));
    if (request_.plain) {
      results_.libomp_says = fmt::format("Smelt without {}", fmt::join(request_.smelt_env, " "));
      return;
    }
    if (!request_.libgomp.empty()) return probe_libgomp();
    if (request_.libomp.empty()) return;
    Environment llvm = sides_[2].environment;
    llvm.set("KMP_VERSION", "1");
    const Finished theirs = run_child(argv, llvm, request_.timeout_s);
    const size_t at = theirs.err.find("OMP version: ");
    if (theirs.ok && at != std::string::npos) {
      results_.libomp_says = theirs.err.substr(at + 13, theirs.err.find('\n', at) - at - 13);
    } else {
      drop_libomp(theirs.ok ? "it did not take over" : theirs.failure);
    }
  }

  // It says nothing about itself, but the loader lists what it would load: with a library of that name preloaded,
  // libgomp.so.1 is not looked for ("=>") any more.
  void probe_libgomp() {
    Environment listing = sides_[2].environment;
    listing.set("LD_TRACE_LOADED_OBJECTS", "1");
    const Finished loader = run_child({ruler_}, listing, request_.timeout_s);
    if (!loader.ok)
      drop_libomp(loader.failure);
    else if (loader.out.find("libgomp.so.1 =>") != std::string::npos)
      drop_libomp("it did not take over");
    else
      results_.libomp_says = request_.libgomp;
  }

  void drop_libomp(const std::string& why) {
    const std::string& path = request_.libgomp.empty() ? request_.libomp : request_.libgomp;
    results_.warnings.push_back(fmt::format("{} is left out: {}: {}", sides_[2].name, path, why));
    results_.libomp_says.clear();
    sides_.resize(2);
    for (Construct& construct : results_.constructs)
      for (Pair& pair : construct.pairs) pair.libomp.reset();
  }

  void ping_pong(std::vector<double>& hop_ns) const {
    const Finished run = run_child({ruler_, "--ping-pong"}, ruler_environment_, request_.timeout_s);
    if (!run.ok) throw FailedRun{fmt::format("syncbench --ping-pong failed: {}", run.failure)};
    for (const double hop : parse_output(run.out).hop_ns) hop_ns.push_back(hop);
  }

  // One pair; again, twice at most, while the machine moves under it. The moved ones are kept: nothing else may come.
  void settled_pair(const Job& job, int pair) {
    for (int attempt = 0; attempt < 3; attempt++) {
      if (one_pair(job, pair, attempt) != Distance::kMoved) return;
      results_.moved++;
    }
  }

  Distance one_pair(const Job& job, int number, int attempt) {
    std::vector<double> hop_ns;
    std::vector<Output> outputs;
    if (!job.prints_hop) ping_pong(hop_ns);
    for (size_t side = 0; side < sides_.size(); side++) {
      if (attempt == 0) done_++;
      progress_(done_, total_,
                fmt::format("pair {} of {}, {}, {}", number + 1, request_.pairs, job.label, sides_[side].name));
      const Finished run = run_child(job.argv, sides_[side].environment, request_.timeout_s);
      Output output = parse_output(run.out, request_.hogs > 0 ? Statistic::kMean : Statistic::kMedian);
      const bool good = run.ok && !output.kernels.empty();
      if (!good && side == 2) {
        drop_libomp(run.ok ? job.label + " printed no figures" : job.label + ": " + run.failure);
        break;
      }
      if (!good)
        throw FailedRun{fmt::format("{} {} with {} failed: {}", job.suite, job.label, sides_[side].name,
                                    run.ok ? "it printed no figures" : run.failure)};
      hop_ns.insert(hop_ns.end(), output.hop_ns.begin(), output.hop_ns.end());
      if (!job.prints_hop) ping_pong(hop_ns);
      outputs.push_back(std::move(output));
    }
    results_.hop_ns.insert(results_.hop_ns.end(), hop_ns.begin(), hop_ns.end());
    for (const Figures& stock : outputs[0].kernels) {
      if (!wanted(job.suite, stock.kernel)) continue;
      const Figures* smelt = find(outputs[1], stock.kernel);
      if (!smelt) throw FailedRun{fmt::format("{} with Smelt printed no figure for {}", job.suite, stock.kernel)};
      Pair pair{stock, *smelt, std::nullopt, hop_ns};
      if (const Figures* llvm = outputs.size() > 2 ? find(outputs[2], stock.kernel) : nullptr) pair.libomp = *llvm;
      construct(job.suite, stock.kernel).pairs.push_back(std::move(pair));
    }
    return classify(hop_ns);
  }

  static const Figures* find(const Output& output, const std::string& kernel) {
    const auto it = std::ranges::find(output.kernels, kernel, &Figures::kernel);
    return it == output.kernels.end() ? nullptr : &*it;
  }

  Construct& construct(const std::string& suite, const std::string& kernel) {
    for (Construct& c : results_.constructs)
      if (c.suite == suite && c.kernel == kernel) return c;
    return results_.constructs.emplace_back(Construct{suite, kernel, {}});
  }

  const Request& request_;
  const std::vector<int>& cpus_;
  const Progress& progress_;
  const std::string ruler_;
  std::vector<long> array_sizes_{request_.array_sizes};
  Environment ruler_environment_;
  std::vector<SideRun> sides_;
  Results results_;
  size_t done_ = 0, total_ = 0;
};

}  // namespace

bool names_kernel(std::string_view word, std::string_view kernel) {
  const std::string wanted = upper(word);
  if (wanted == upper(kernel)) return true;
  return array_size_of(kernel) > 0 && upper(kernel.substr(0, kernel.find_last_of(" _"))) == wanted;
}

Results run_campaign(const Request& request, const std::vector<int>& cpus, const Progress& progress) {
  return Campaign(request, cpus, progress).run();
}

}  // namespace smelt::epcc
