// Planned collectives on machines made up here, ready to be shown.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "generate/registry.h"
#include "pictures/picture.h"
#include "schedule/choose.h"
#include "schedule/predict.h"

namespace smelt::test {

// `nodes` x `caches` x `cpus` CPUs. A message costs 30 within a cache (10 its sender), twice that within a node, eight
// times that beyond; `spread` makes every pair a little different.
inline Picture costs_picture(uint32_t nodes, uint32_t caches, uint32_t cpus, double spread = 0) {
  Picture p;
  const uint32_t n = nodes * caches * cpus;
  auto storage = std::make_shared<MappedArena>(size_t{256} << 20);
  Arena& arena = *storage;
  float *hop = arena.make<float>(n * n), *send = arena.make<float>(n * n), *receive = arena.make<float>(n * n),
        *ready = arena.make<float>(n * n);
  uint16_t *node = arena.make<uint16_t>(n), *llc = arena.make<uint16_t>(n), *core = arena.make<uint16_t>(n);
  for (uint32_t i = 0; i < n; ++i) {
    p.cpu.push_back(i);
    p.core.push_back(core[i] = static_cast<uint16_t>(i));
    node[i] = static_cast<uint16_t>(i / (caches * cpus));
    llc[i] = static_cast<uint16_t>(i / cpus);
  }
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const double factor = (llc[i] == llc[j]     ? 1
                             : node[i] == node[j] ? 2
                                                  : 8) *
                            (1 + spread * ((i * 7 + j * 13) % 10) / 10);
      hop[i * n + j] = static_cast<float>(30 * factor);
      send[i * n + j] = static_cast<float>(10 * factor);
      receive[i * n + j] = static_cast<float>(15 * factor);
      ready[i * n + j] = static_cast<float>(20 * factor);
    }
  p.costs = {n, CostUnit::kNanoseconds, hop, send, receive, ready, 1, {}, node, llc, core, node};
  p.machine = "made up";
  p.origin = "a test";
  p.cost_model = "overlap";
  p.date = "2026-01-02";
  p.storage = storage;
  return p;
}

inline Picture planned(Picture p, const std::string& name, Operation op) {
  Arena& arena = *p.storage;
  Pattern pattern;
  Choice choice;
  Prediction prediction;
  if (find_pattern(name.c_str(), &pattern) != 0 || build(pattern, op, -1, p.costs, arena, &choice) != 0 ||
      predict(choice.schedule, p.costs, arena, &prediction) != 0)
    throw std::runtime_error(name + " cannot be planned");
  p.op = op;
  p.pattern = p.requested = name;
  p.predicted = prediction.makespan;
  p.done.assign(prediction.done, prediction.done + p.costs.n);
  p.schedule = choice.schedule;
  p.is_tree = pattern.info->tree != nullptr;
  if (p.is_tree) {
    p.tree = choice.tree;
    p.gather = choice.gather;
  } else if (pattern.info->exchange(p.costs, pattern.argument, arena, &p.exchange) != 0) {
    throw std::runtime_error(name + " cannot be built");
  }
  return p;
}

}  // namespace smelt::test
