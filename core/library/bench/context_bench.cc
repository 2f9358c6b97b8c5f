// The collectives of contexts between threads (smelt/context.h), each side by side with what it is to be held against.
//
//   allreduce against copying   everybody copies as many bytes as an operand has, from its neighbour's memory, at the
//                               same time: as many are read and written as in an allreduce whose work is shared evenly.
//                               Before each call everybody writes its operand anew, so that it is in its own cache; the
//                               time is from the last one's beginning to the last one's end
//   loose against strict        reductions to participant 0 in a tight loop, strict on entry and exit, or neither; the
//                               time is the root's, per call
//
// Both sides of a pair run in turn in every round, since a machine is not the same from one second to the next. Printed
// are medians over the rounds with their quartiles, and the median and quartiles of the rounds' own ratios.
#include <smelt/context.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/os/os.h"
#include "measure/pinned.h"

namespace {

using Clock = std::chrono::steady_clock;
using smelt::Seat, smelt::Sync;

struct Sides {
  std::vector<double> one, other;  // ns, by round
};

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Quartiles {
  double low, median, high;
};
Quartiles quartiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return {at(1), at(2), at(3)};
}

void print(const char* what, size_t bytes, const Sides& sides) {
  std::vector<double> ratios;
  for (size_t i = 0; i < sides.one.size(); ++i) ratios.push_back(sides.other[i] / sides.one[i]);
  const Quartiles a = quartiles_of(sides.one), b = quartiles_of(sides.other), r = quartiles_of(ratios);
  fmt::print(
      "{:<10} {:>8} B  {:>10.0f} ns [{:.0f}, {:.0f}]  {:>10.0f} ns [{:.0f}, {:.0f}]  {:>6.2f} [{:.2f}, {:.2f}]\n", what,
      bytes, a.median, a.low, a.high, b.median, b.low, b.high, r.median, r.low, r.high);
  std::fflush(stdout);
}

// The part of each thread, on its CPU.
void everywhere(const std::vector<unsigned>& cpus, const std::function<void(unsigned)>& work) {
  std::vector<smelt::PinnedJob> jobs;
  for (unsigned i = 0; i < cpus.size(); ++i) jobs.push_back({static_cast<int>(cpus[i]), [&work, i] { work(i); }});
  smelt::run_pinned(jobs);
}

// When a call began and ended, of each thread.
struct Span {
  Clock::time_point begin, end;
};

// Nanoseconds from when all had begun until all had ended, the median over so many calls.
double together(const std::vector<std::vector<Span>>& by_thread) {
  std::vector<double> times;
  for (size_t call = 0; call < by_thread[0].size(); ++call) {
    Span last{};
    for (const std::vector<Span>& spans : by_thread) {
      last.begin = std::max(last.begin, spans[call].begin);
      last.end = std::max(last.end, spans[call].end);
    }
    times.push_back(std::chrono::duration<double, std::nano>(last.end - last.begin).count());
  }
  return quartiles_of(times).median;
}

Sides allreduce_and_copy(const std::vector<unsigned>& cpus, std::vector<Seat>& seats, size_t bytes, int rounds,
                         int calls) {
  const unsigned n = static_cast<unsigned>(cpus.size());
  const size_t count = bytes / sizeof(double);
  std::vector<std::vector<double>> in(n), out(n);
  std::vector<std::vector<Span>> copied(n, std::vector<Span>(calls)), reduced(copied);
  Sides sides;
  everywhere(cpus, [&](unsigned me) {
    in[me].assign(count, me + 1.0);
    out[me].assign(count, 0);
    Seat& seat = seats[me];
    for (int round = -1; round < rounds; ++round) {  // the first one warms up
      for (const bool copies : {true, false}) {
        for (int call = 0; call < calls; ++call) {
          for (double& value : in[me]) value += 1;
          seat.barrier();
          const auto start = Clock::now();
          if (copies)
            std::memcpy(out[me].data(), in[(me + 1) % n].data(), bytes);
          else
            seat.allreduce(in[me], out[me], std::plus<>());
          (copies ? copied : reduced)[me][call] = {start, Clock::now()};
          seat.barrier();
        }
      }
      if (me == 0 && round >= 0) {
        sides.one.push_back(together(copied));
        sides.other.push_back(together(reduced));
      }
      seat.barrier();
    }
  });
  return sides;
}

Sides loose_and_strict(const std::vector<unsigned>& cpus, std::vector<Seat>& seats, size_t bytes, int rounds,
                       int calls) {
  const size_t count = bytes / sizeof(double);
  Sides sides;
  everywhere(cpus, [&](unsigned me) {
    const std::vector<double> in(count, me + 1.0);
    std::vector<double> out(count);
    Seat& seat = seats[me];
    for (int round = -1; round < rounds; ++round) {
      for (const Sync sync : {Sync::loose, Sync::strict}) {
        seat.barrier();
        const auto start = Clock::now();
        for (int call = 0; call < calls; ++call) seat.reduce(in, out, std::plus<>(), 0, sync);
        if (me == 0 && round >= 0) (sync == Sync::loose ? sides.one : sides.other).push_back(ns_since(start) / calls);
      }
    }
  });
  return sides;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 21;
  bool quick = false;
  std::vector<unsigned> cpus;
  std::string pattern;
  CLI::App app("Collectives of contexts between threads: allreduce against copying, loose against strict reductions");
  app.add_option("--rounds", rounds, "of both sides in turn")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_flag("--quick", quick, "three rounds and few calls: shows that it runs, and measures nothing");
  app.add_option("--cpus", cpus, "a thread on each, e.g. 0,2,4; default: all that are allowed")->delimiter(',');
  app.add_option("--pattern", pattern, "of the context; default: the best");
  CLI11_PARSE(app, argc, argv);
  if (quick) rounds = 3;
  if (cpus.empty()) {
    cpus.resize(SMELT_MAX_PARTICIPANTS);
    cpus.resize(std::min<size_t>(smelt::os::allowed_cpu_list(cpus.data(), SMELT_MAX_PARTICIPANTS), cpus.size()));
  }

  smelt::Context context;
  std::vector<Seat> seats;
  int error = smelt::Context::create(cpus, context, pattern.empty() ? nullptr : pattern.c_str());
  if (error == 0) error = context.seats(seats);
  if (error != 0) {
    fmt::print(stderr, "context_bench: {}\n", std::strerror(-error));
    return 1;
  }
  fmt::print("{} threads, pattern {}, parents", cpus.size(), context.pattern());
  for (unsigned i = 0; i < context.size(); ++i) fmt::print(" {}", context.parent(i));
  fmt::print("; {} rounds: median [quartiles]\n", rounds);

  try {
    fmt::print("{:<10} {:>10}  {:>13} {:>28} {:>24}\n", "", "", "copying", "allreduce", "allreduce / copying");
    for (size_t bytes = 8 << 10; bytes <= 2u << 20; bytes *= 2)
      print("allreduce", bytes, allreduce_and_copy(cpus, seats, bytes, rounds, quick ? 5 : 25));
    fmt::print("{:<10} {:>10}  {:>13} {:>28} {:>24}\n", "", "", "loose", "strict", "strict / loose");
    for (size_t bytes = 8; bytes <= 64 << 10; bytes *= 2)
      print("reduce", bytes, loose_and_strict(cpus, seats, bytes, rounds, quick ? 20 : bytes < 4096 ? 1000 : 100));
  } catch (const std::exception& what) {
    fmt::print(stderr, "context_bench: {}\n", what.what());
    return 1;
  }
  return 0;
}
