// How long the generator takes: with the default budget, which a person waits for, and while a program starts.
//   build/bench/generate_bench [--benchmark_filter=start]
// Machines of the zoo with 512, 256 and 80 PUs. CPU times: a busy machine lengthens them less than the wall's.
#include <benchmark/benchmark.h>

#include <string>

#include "generate/registry.h"
#include "pictures/machines/machine_file.h"
#include "pictures/machines/zoo.h"
#include "profile/profile.h"
#include "schedule/choose.h"

namespace {

using namespace smelt;

void choose(benchmark::State& state, const std::string& machine, Operation op, bool start, bool best) {
  const MachineFile file = read_machine_file("zoo:" + machine);
  MappedArena arena(2 * generation_bytes(file.overlap.n));
  Pattern optimised;
  find_pattern("optimised", &optimised);
  char* const mark = arena.mark();
  double predicted = 0;
  std::string name;
  for (auto _ : state) {
    arena.rewind(mark);
    Choice choice;
    const SearchEffort& effort = start ? kStartEffort : kPatientEffort;
    const int error = best ? choose_best(op, -1, file.overlap, arena, &choice, effort)
                           : build(optimised, op, -1, file.overlap, arena, &choice, effort);
    if (error) state.SkipWithError("no plan");
    predicted = choice.predicted;
    name = choice.pattern.info ? choice.pattern.info->name : "";
  }
  state.counters["CPUs"] = file.overlap.n;
  state.counters["predicted_ns"] = predicted;
  state.SetLabel(name);
}

// What a team's fork and join goes by, while a program starts.
void fork(benchmark::State& state, const std::string& machine) {
  const MachineFile file = read_machine_file("zoo:" + machine);
  MappedArena arena(2 * generation_bytes(file.overlap.n));
  char* const mark = arena.mark();
  Choice choice;
  for (auto _ : state) {
    arena.rewind(mark);
    if (choose_fork(file.overlap, arena, &choice)) state.SkipWithError("no plan");
  }
  state.counters["CPUs"] = file.overlap.n;
  state.counters["predicted_ns"] = choice.predicted;
  state.SetLabel(choice.pattern.info ? choice.pattern.info->name : "");
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* machine :
       {"amd-epyc-9754-2x128x2", "amd-epyc-7742-2x64x2", "amd-epyc-9755-2x128", "ampere-altra-q80-1x80"}) {
    benchmark::RegisterBenchmark((std::string("start/fork/") + machine).c_str(),
                                 [=](benchmark::State& state) { fork(state, machine); })
        ->Unit(benchmark::kMillisecond)
        ->MinTime(0.3);
    for (const auto op : {smelt::Operation::kBroadcast, smelt::Operation::kReduce, smelt::Operation::kBarrier})
      for (const bool start : {false, true})
        for (const bool best : {false, true}) {
          const std::string name = std::string(start ? "start" : "default") + "/" + (best ? "best" : "optimised") +
                                   "/" + smelt::operation_name(op) + "/" + machine;
          benchmark::RegisterBenchmark(name.c_str(),
                                       [=](benchmark::State& state) { choose(state, machine, op, start, best); })
              ->Unit(benchmark::kMillisecond)
              ->MinTime(0.3);
        }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
