// Where everything in a picture stands, in units of its own (rows, levels, rounds, time): the one layout pass that all
// pens share. A pen only says how large a row is and how a bar looks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/picture.h"

namespace smelt {

// The participants in the order in which pictures show them: by NUMA node, last-level cache and core, so that near CPUs
// of the machine are near in the picture.
struct Rows {
  struct Block {
    uint32_t first, count;  // rows
    uint16_t number;        // of the node or cache
  };
  // What a row is. Many participants are folded: a row is all of a group, and its participant the group's first.
  // A block is made for the picture's sake, where the machine has no groups of a fitting size: neighbours in one cache.
  enum class Kind : uint8_t { kCpu, kCore, kCache, kNode, kBlock };

  std::vector<uint16_t> order;  // row -> participant
  std::vector<uint32_t> row;    // [n] participant -> row
  std::vector<Block> nodes;     // all rows, in order
  std::vector<Block> llcs;      // all rows, in order; empty where they are the nodes or single CPUs
  Kind kind = Kind::kCpu;

  bool folded() const { return kind != Kind::kCpu; }
  // "last-level cache"; "cache 3", "CPU 5", "CPUs 8-11"; and its number alone, of a block its first CPU's.
  const char* what() const;
  std::string name(const Picture& picture, uint32_t row) const;
  uint32_t number(const Picture& picture, uint32_t row) const;
};
Rows arrange(const Picture& picture);

// From a cost to 0 (cheapest) .. 1 (dearest). Logarithmic where the costs span more than a factor of 8, so that near
// classes stay apart. Of 16 CPUs and more, the half per cent at either end does not stretch the scale.
struct Scale {
  double low = 0, high = 0;
  bool logarithmic = false;
  bool cut_below = false, cut_above = false;  // there are costs beyond low, beyond high

  double position(double cost) const;
  double cost(double position) const;  // the inverse
};

enum class CostKind : uint8_t { kSend, kReceive, kHop };

struct HeatMap {
  Rows rows;
  Scale scale;
  std::vector<float> cells;  // [rows * rows]: row = sender, column = receiver; of folded rows the means

  // Nothing is sent from a CPU to itself.
  bool is_empty(uint32_t row, uint32_t column) const { return row == column && !rows.folded(); }
};
HeatMap lay_out_heat_map(const Picture& picture, CostKind kind);

// A tidy tree (Reingold and Tilford 1981): a parent stands in the middle above its children, the children from left to
// right in send order, equal subtrees look equal, and neighbours on a level are at least 1 apart.
struct TreeLayout {
  std::vector<double> x;        // [n] from 0 to width
  std::vector<uint32_t> level;  // [n] the root is at 0
  double width = 0;
  uint32_t levels = 0;
};
TreeLayout lay_out_tree(const Tree& tree);

// The waits between participants: a message's round is the number of messages, one after the other, that its sender
// must have waited for. In an exchange these are its rounds, in a broadcast the tree's levels.
struct RoundChart {
  struct Message {
    uint16_t from, to;
    uint32_t round;
  };
  Rows rows;
  uint32_t rounds = 0;
  std::vector<Message> messages;  // by round, then by the sender's row
};
RoundChart lay_out_rounds(const Picture& picture);

// Everybody's actions over time, from a traced run of the prediction.
struct Timeline {
  enum class Doing : uint8_t { kSend, kReceive, kWait };
  struct Bar {
    uint16_t who;
    Doing doing;
    double begin, end;
  };
  struct Flight {  // of a message: from when its sender is through with it to when its receiver begins with it
    uint16_t from, to;
    double begin, end;
  };
  Rows rows;
  double end = 0;         // the makespan
  std::vector<Bar> bars;  // by participant, in order
  std::vector<Flight> flights;
};
Timeline lay_out_timeline(const Picture& picture);

inline bool crosses_nodes(const Picture& p, uint16_t a, uint16_t b) {
  return p.costs.node && p.costs.node[a] != p.costs.node[b];
}

// Round numbers, at most `most` of them, from 0 to `end`: 0, 50, 100 ...
std::vector<double> axis_ticks(double end, uint32_t most);

}  // namespace smelt
