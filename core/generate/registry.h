// All patterns by name. registry.def is the one list; the command line, the settings, the tests and the automatic
// choice read it, so a new pattern is one file and one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "generate/exchange.h"
#include "generate/tree.h"

namespace smelt {

// Builds a tree. `arg` is the number after the colon (knomial:K), or the row's default. `root` is a participant,
// or -1: the pattern's own choice (participant 0 for static trees, the cheapest sender for adaptive ones).
using TreeFunction = int (*)(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
using ExchangeFunction = int (*)(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);

struct PatternInfo {
  const char* name;           // "knomial"
  const char* argument;       // "K" or nullptr when it takes none
  uint32_t default_argument;  // used when the name comes without ":K"
  uint32_t min_argument, max_argument;
  TreeFunction tree;  // exactly one of tree and exchange is set
  ExchangeFunction exchange;
  const char* help;
};

std::span<const PatternInfo> pattern_registry();

// Arena that generation and schedules for n participants need at most (the all-to-all exchange is the largest).
inline size_t generation_bytes(unsigned n) { return (4u << 20) + size_t{n} * n * 96; }

struct Pattern {
  const PatternInfo* info = nullptr;
  uint32_t argument = 0;
};

// Do the children of one parent poll lines that they share?
bool is_by_lines(const PatternInfo& info);

// The arguments worth trying when a pattern is chosen automatically; for a row without argument the default alone.
std::span<const uint32_t> candidate_arguments(const PatternInfo& info);

// "mst", "knomial:4". 0; -ENOENT for an unknown name; -ERANGE for an argument out of range or not a number;
// -EINVAL for an argument where none is taken. "best" is not a pattern but a choice: see schedule/choose.h.
int find_pattern(const char* name, Pattern* out);

// The name as users write it: "mst", "knomial:4". Always terminated; 40 bytes hold every name.
void pattern_text(const Pattern& pattern, char* text, size_t bytes);

// The registered name nearest to a mistyped one (for "did you mean"), or nullptr if none is near.
const char* nearest_pattern(const char* name);

}  // namespace smelt
