// queue_bench: the library's queues beside what one would use instead, between two CPUs. How a row comes about is told
// to the user by --help.
#include <fmt/format.h>
#include <sched.h>
#include <smelt/queue.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profile/text/statistics.h"
#include "queue_peers.h"

namespace {

using namespace smelt::bench;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr const char* kMethod = R"(Rows:
  round-trip: a message there and one of the same length back; ns per round trip.
  one-way: messages in one direction as fast as they go, until the last is received; ns per message.
  Of each kind, between two threads and between two processes; one-to-many, with one reader, has one way only.
  A message that is longer than a queue of that capacity has no row.
Beside them, between two threads:
  raw    two lines, each written by one and polled by the other, no payload; round trips of at most 56 bytes only
  ring   a ring written by hand over the same lines, for messages of that one length
  boost  boost::lockfree::spsc_queue of as many bytes, where Boost was there when this was built
  pipe   two pipes (a message without bytes is one of one byte)
  mutex  two rings, each guarded by a mutex and two condition variables
Statistics:
  A round is one run of each, one directly after the other; every second round goes the other way round. A run makes
  new queues, warms them up with as many messages as are then timed, and checks every message. A ratio is made within a
  round: ours / theirs, so less than 1 is faster. Shown are medians over the rounds, and the quartiles of the ratios.
Exit status: 0, 1 something failed, 2 bad input.)";

struct Arguments {
  std::vector<int> cpus;
  std::vector<size_t> capacities{16, 64, 1024, 4096};
  std::vector<size_t> bytes{0, 8, 56, 1024, 65536};
  int rounds = 15;
  double batch_ms = 4;
  bool quick = false, json = false;
};

[[noreturn]] void fail(int status, const std::string& what) {
  fmt::print(stderr, "queue_bench: {}\n", what);
  std::exit(status);
}

bool pin_self(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

// --- one run

enum class What { kRoundTrip, kOneWay };
enum class Between { kThreads, kProcesses };

// The words between both sides of a run besides the messages; shared with a forked child.
struct Control {
  alignas(smelt::kLineBytes) std::atomic<uint32_t> finished{0};  // phases that the other side has behind it
  std::atomic<uint32_t> wrong{0};                                // it got another message than was sent, or an error
};

struct Run {
  What what;
  size_t bytes;
  uint64_t messages;
  int cpu[2];
};

// A side's buffer, in lines of its own. Its first word is the message's number.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes), lines_(bytes / sizeof(Line) + 1) {}
  unsigned char* data() { return reinterpret_cast<unsigned char*>(lines_.data()); }
  void number(uint64_t number) { lines_[0].words[0] = number; }
  bool is(uint64_t number) const { return bytes_ == 0 || lines_[0].words[0] == number; }

 private:
  struct alignas(smelt::kLineBytes) Line {
    uint64_t words[smelt::kLineBytes / sizeof(uint64_t)] = {};
  };
  size_t bytes_;
  std::vector<Line> lines_;
};

// Both phases, the warm-up and the timed one, as end 1.
template <typename Queue>
void answer(const Run& run, Queue& queue, Control& control) {
  Buffer buffer(run.bytes);
  bool good = pin_self(run.cpu[1]);
  for (uint32_t phase = 1; phase <= 2; ++phase) {
    for (uint64_t k = 0; k < run.messages; ++k) {
      queue.receive(1, buffer.data());
      good = good && buffer.is(k);
      if (run.what == What::kRoundTrip) queue.send(1, buffer.data());
    }
    if (!good) control.wrong.store(1, std::memory_order_relaxed);  // `finished` releases it
    control.finished.store(phase, std::memory_order_release);
  }
}

// ... as end 0. Nanoseconds per message, or round trip.
template <typename Queue>
double drive(const Run& run, Queue& queue, Control& control) {
  Buffer buffer(run.bytes);
  bool good = true;
  double ns = 0;
  for (uint32_t phase = 1; phase <= 2; ++phase) {
    const auto start = Clock::now();
    for (uint64_t k = 0; k < run.messages; ++k) {
      buffer.number(k);
      queue.send(0, buffer.data());
      if (run.what == What::kRoundTrip) {
        queue.receive(0, buffer.data());
        good = good && buffer.is(k);
      }
    }
    while (control.finished.load(std::memory_order_acquire) != phase) smelt::cpu_pause();
    ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  if (!good || control.wrong.load(std::memory_order_relaxed) != 0) fail(1, "a message was lost, or not the one sent");
  return ns / static_cast<double>(run.messages);
}

template <typename Queue>
double between_threads(const Run& run, Queue& queue) {
  Control control;
  std::jthread other([&] { answer(run, queue, control); });
  return drive(run, queue, control);
}

// --- ours

class SmeltQueue {
 public:
  explicit SmeltQueue(size_t bytes) : bytes_(bytes) {}
  ~SmeltQueue() {
    for (smelt_queue* end : ends) smelt_queue_free(end);
  }
  SmeltQueue(const SmeltQueue&) = delete;
  SmeltQueue& operator=(const SmeltQueue&) = delete;

  // An error ends the process: the other side would wait for ever.
  void send(int from, const unsigned char* data) {
    if (const int error = smelt_queue_send(ends[from], data, bytes_)) fail(1, fmt::format("send: errno {}", -error));
  }
  void receive(int at, unsigned char* data) {
    size_t bytes = 0;
    if (const int error = smelt_queue_receive(ends[at], data, bytes_, &bytes))
      fail(1, fmt::format("receive: errno {}", -error));
    if (bytes != bytes_) fail(1, "a message has another length than was sent");
  }

  smelt_queue* ends[2] = {};

 private:
  const size_t bytes_;
};

double smelt_between_threads(const Run& run, const std::string& kind, size_t capacity) {
  SmeltQueue queue(run.bytes);
  if (const int error = smelt_queue_create(kind.c_str(), static_cast<unsigned>(capacity), 2, -1, queue.ends))
    fail(1, fmt::format("smelt_queue_create: errno {}", -error));
  return between_threads(run, queue);
}

double smelt_between_processes(const Run& run, const std::string& kind, size_t capacity) {
  SmeltQueue queue(run.bytes);
  smelt_queue_ticket ticket;
  const auto slots = static_cast<unsigned>(capacity);
  // A side that fails is not waited for for ever.
  constexpr int64_t kPatience = 60'000'000'000;
  if (const int error = smelt_queue_create_shared(kind.c_str(), slots, 2, kPatience, &ticket, &queue.ends[0]))
    fail(1, fmt::format("smelt_queue_create_shared: errno {}", -error));
  void* memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(1, "no memory");
  auto* control = new (memory) Control;
  std::fflush(stdout);  // else the child has what is not printed yet, too
  const pid_t child = fork();
  if (child < 0) fail(1, "fork failed");
  if (child == 0) {
    SmeltQueue theirs(run.bytes);
    if (const int error = smelt_queue_attach(&ticket, 1, kPatience, &theirs.ends[1]))
      fail(1, fmt::format("smelt_queue_attach: errno {}", -error));
    answer(run, theirs, *control);
    _exit(0);
  }
  const double ns = drive(run, queue, *control);
  int status = 0;
  waitpid(child, &status, 0);
  munmap(memory, sizeof(Control));
  if (status != 0) fail(1, "the other process failed");
  return ns;
}

// --- theirs

template <size_t kBytes>
double hand_ring(const Run& run, size_t capacity) {
  HandRing<kBytes> ring(capacity);
  return between_threads(run, ring);
}

#ifdef SMELT_HAVE_BOOST
template <size_t kBytes>
double boost_queue(const Run& run, size_t capacity) {
  BoostQueues<kBytes> queues(capacity);
  return between_threads(run, queues);
}
#endif

#ifdef SMELT_HAVE_BOOST
constexpr bool kHaveBoost = true;
#else
constexpr bool kHaveBoost = false;
#endif

struct Length {
  size_t bytes;
  double (*ring)(const Run&, size_t capacity);
  double (*boost)(const Run&, size_t capacity);  // nullptr without kHaveBoost
};
template <size_t kBytes>
constexpr Length length() {
#ifdef SMELT_HAVE_BOOST
  return {kBytes, hand_ring<kBytes>, boost_queue<kBytes>};
#else
  return {kBytes, hand_ring<kBytes>, nullptr};
#endif
}
constexpr Length kLengths[] = {length<0>(), length<8>(), length<56>(), length<1024>(), length<65536>()};

// --- a cell: everybody, with messages of one length in queues of one capacity

struct Side {
  std::string name;  // "ump threads", or one of theirs
  std::function<double(const Run&)> run;
  uint64_t messages = 0;
  std::vector<double> ns;  // of each round
};

struct Cell {
  What what;
  size_t capacity, bytes;
  std::vector<Side> ours, theirs;
};

Cell make_cell(What what, size_t capacity, const Length& length) {
  Cell cell{what, capacity, length.bytes, {}, {}};
  for (unsigned i = 0; const char* kind = smelt_queue_kind(i); ++i) {
    if (what == What::kRoundTrip && std::string(kind) == "one-to-many") continue;
    const std::string name = kind;
    cell.ours.push_back(
        {name + " threads", [=](const Run& run) { return smelt_between_threads(run, name, capacity); }, 0, {}});
    cell.ours.push_back(
        {name + " processes", [=](const Run& run) { return smelt_between_processes(run, name, capacity); }, 0, {}});
  }
  const auto add = [&cell](const char* name, std::function<double(const Run&)> run) {
    cell.theirs.push_back({name, std::move(run), 0, {}});
  };
  if (what == What::kRoundTrip && length.bytes <= kSlotPayload)
    add("raw", [](const Run& asked) {
      Run run = asked;
      run.bytes = 0;
      RawLines lines;
      return between_threads(run, lines);
    });
  add("ring", [=](const Run& run) { return length.ring(run, capacity); });
  if (kHaveBoost) add("boost", [=](const Run& run) { return length.boost(run, capacity); });
  add("pipe", [](const Run& run) {
    Pipes pipes(run.bytes);
    if (!pipes.opened()) fail(1, "no pipe");
    return between_threads(run, pipes);
  });
  add("mutex", [=](const Run& run) {
    GuardedQueues queues(capacity, run.bytes);
    return between_threads(run, queues);
  });
  return cell;
}

void measure(const Arguments& a, Cell& cell) {
  std::vector<Side*> order;
  for (Side& side : cell.ours) order.push_back(&side);
  for (Side& side : cell.theirs) order.push_back(&side);
  const auto run = [&](Side& side, uint64_t messages) {
    return side.run({cell.what, cell.bytes, messages, {a.cpus[0], a.cpus[1]}});
  };
  // How many messages make a batch.
  for (Side* side : order) {
    constexpr uint64_t kFew = 64, kMany = 2'000'000;
    const double wanted = a.batch_ms * 1e6 / run(*side, kFew);
    side->messages = wanted < kFew ? kFew : wanted > kMany ? kMany : static_cast<uint64_t>(wanted);
  }
  for (int round = 0; round < a.rounds; ++round) {
    for (Side* side : order) side->ns.push_back(run(*side, side->messages));
    std::reverse(order.begin(), order.end());
  }
}

// --- what is shown

struct Figure {
  double median, q1, q3, least, most;
};
Figure figure_of(const std::vector<double>& values) {
  const auto at = [&values](double share) { return smelt::quantile(values, share); };
  return {at(0.5), at(0.25), at(0.75), at(0), at(1)};
}
Figure ratio_of(const Side& ours, const Side& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.ns.size(); ++i) ratios.push_back(ours.ns[i] / theirs.ns[i]);
  return figure_of(ratios);
}
Json to_json(const Figure& f) {
  return {{"median", f.median}, {"q1", f.q1}, {"q3", f.q3}, {"min", f.least}, {"max", f.most}};
}

const char* name_of(What what) { return what == What::kRoundTrip ? "round-trip" : "one-way"; }

constexpr const char* kTheirs[] = {"raw", "ring", "boost", "pipe", "mutex"};

void print_heading() {
  fmt::print("{:10} {:>8} {:>6}  {:21} {:>9}", "", "capacity", "bytes", "", "ns");
  for (const char* name : kTheirs) fmt::print("  {:>18}", fmt::format("/ {}", name));
  fmt::print("\n");
}

void print_cell(const Cell& cell) {
  for (const Side& ours : cell.ours) {
    fmt::print("{:10} {:>8} {:>6}  {:21} {:>9.1f}", name_of(cell.what), cell.capacity, cell.bytes, ours.name,
               figure_of(ours.ns).median);
    for (const char* name : kTheirs) {
      std::string text = "-";
      for (const Side& side : cell.theirs)
        if (side.name == name) {
          const Figure ratio = ratio_of(ours, side);
          text = fmt::format("{:.2f} ({:.2f}-{:.2f})", ratio.median, ratio.q1, ratio.q3);
        }
      fmt::print("  {:>18}", text);
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void add_rows(const Cell& cell, Json& rows) {
  for (const Side& ours : cell.ours) {
    const size_t space = ours.name.find(' ');
    Json row = {{"what", name_of(cell.what)},
                {"capacity", cell.capacity},
                {"bytes", cell.bytes},
                {"kind", ours.name.substr(0, space)},
                {"between", ours.name.substr(space + 1)},
                {"ns", to_json(figure_of(ours.ns))},
                {"against", Json::object()}};
    for (const Side& side : cell.theirs)
      row["against"][side.name] = {{"ns", to_json(figure_of(side.ns))}, {"ratio", to_json(ratio_of(ours, side))}};
    rows.push_back(std::move(row));
  }
}

// --- the command line

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) cpus.push_back(cpu);
  return cpus;
}

void check_cpus(Arguments& a) {
  const std::vector<int> allowed = allowed_cpus();
  if (a.cpus.empty()) a.cpus.assign(allowed.begin(), allowed.begin() + std::min<ptrdiff_t>(2, std::ssize(allowed)));
  if (a.cpus.size() != 2 || a.cpus[0] == a.cpus[1]) fail(2, "two CPUs are needed");
  for (const int cpu : a.cpus)
    if (std::ranges::find(allowed, cpu) == allowed.end())
      fail(2, fmt::format("this process may not run on CPU {}", cpu));
}

const Length* find_length(size_t bytes) {
  for (const Length& one : kLengths)
    if (one.bytes == bytes) return &one;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app{"The library's queues beside other ways to send messages between two CPUs."};
  app.footer(kMethod);
  app.add_option("--cpus", a.cpus, "two CPUs, a,b (default: the first two that this process may use)")->delimiter(',');
  app.add_option("--capacity", a.capacities, "slots: one or more, separated by commas (default 16,64,1024,4096)")
      ->delimiter(',')
      ->check(CLI::Range(1, int{SMELT_QUEUE_MAX_CAPACITY}));
  app.add_option("--bytes", a.bytes, "of a message: of 0,8,56,1024,65536 (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<size_t>(a.bytes)));
  app.add_option("--rounds", a.rounds, "runs of each (default 15, with --quick 3)")->check(CLI::Range(1, 10000));
  app.add_option("--batch-ms", a.batch_ms, "length of a run (default 4, with --quick 0.2)")
      ->check(CLI::Range(0.001, 1e4));
  app.add_flag("--quick", a.quick, "fewer and shorter runs: all rows within seconds");
  app.add_flag("--json", a.json, "print JSON: rows, with the spread of every figure");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (a.quick && app.count("--rounds") == 0) a.rounds = 3;
  if (a.quick && app.count("--batch-ms") == 0) a.batch_ms = 0.2;
  check_cpus(a);
  if (!pin_self(a.cpus[0])) fail(1, fmt::format("cannot run on CPU {}", a.cpus[0]));

  if (!a.json) {
    fmt::print("CPUs {} and {}; {} rounds. ns: median; ours / theirs: median of the rounds (quartiles)\n", a.cpus[0],
               a.cpus[1], a.rounds);
    if (!kHaveBoost) fmt::print("(no Boost when this was built: boost::lockfree::spsc_queue is left out)\n");
    print_heading();
  }
  Json json = {{"cpus", a.cpus}, {"rounds", a.rounds}, {"boost", kHaveBoost}, {"rows", Json::array()}};
  for (const What what : {What::kRoundTrip, What::kOneWay})
    for (const size_t capacity : a.capacities)
      for (const size_t bytes : a.bytes) {
        if (slots_for(bytes) > capacity) continue;
        Cell cell = make_cell(what, capacity, *find_length(bytes));
        measure(a, cell);
        if (a.json)
          add_rows(cell, json["rows"]);
        else
          print_cell(cell);
      }
  if (a.json) fmt::print("{}\n", json.dump(2));
  return 0;
}
