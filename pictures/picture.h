// One planned collective, ready to be shown: the plan, its participants and its price, as text and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/plan.h"

namespace smelt {

struct Picture : PlannedCollective {
  std::string machine;  // name
  std::string origin;   // how its costs came about, one line
  Operation op = Operation::kBarrier;
  std::string requested;       // the pattern asked for: "best"; none is built where only the costs are looked at
  std::string cost_model;      // "overlap" or "paper"
  std::string date;            // of the drawing, where the picture is to say it
  std::vector<uint32_t> cpu;   // the kernel's number of participant i
  std::vector<uint16_t> core;  // of participant i, equal = SMT siblings; empty: not known
};

// For people: a header and the tree with one participant per line, or the messages round by round.
std::string text_picture(const Picture& picture, bool utf8);
// The lines above a text picture: machine, CPUs, pattern, price.
std::string text_header(const Picture& picture);

// For programs (smelt.1 describes it, under smelt tree): the tree or the exchange, step by step.
nlohmann::ordered_json picture_document(const Picture& picture);
// Adds the participants as a picture has them from top to bottom, and the places of each.
void add_cpus(nlohmann::ordered_json& document, const Picture& picture);

// The participants in the order in which pictures show them: by NUMA node, last-level cache and core, so that near CPUs
// of the machine are near in the picture.
std::vector<uint16_t> shown_order(const Picture& picture);

std::vector<uint16_t> children(const Tree& tree, uint16_t parent);  // in send order
// A tree as it is drawn. A barrier that gathers along another tree than it releases along is drawn as two.
struct TreeSide {
  const Tree* tree = nullptr;
  bool up = false;            // its messages go to the root only
  bool down = false;          // from the root only
  const char* title = "";     // "gather", "release"; "" where it is alone
  const char* event = "";     // the event that times are of: "informed", "has sent", "leaves"
  std::vector<double> times;  // [n] in costs.unit

  // The hop of the message along a link; a barrier's only tree has two, and this is the one that releases.
  double hop(const Costs& costs, uint16_t parent, uint16_t child) const {
    return costs.hop[up ? costs.at(child, parent) : costs.at(parent, child)];
  }
};
std::vector<TreeSide> tree_sides(const Picture& picture);  // of pictures with is_tree

}  // namespace smelt
