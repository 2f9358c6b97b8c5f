// A rooted spanning tree over participants 0..n-1 with a send order at every inner node.
//
// Kept as parent / first child / next sibling arrays: appending a child, cutting a subtree and re-ordering are
// O(1) or O(children), and nothing is allocated after `make_tree`.
//
//        0              parent  [-, 0, 0, 1]
//       / \             first   [1, 3, -, -]     0 sends to 1, then to 2
//      1   2            next    [-, 2, -, -]
//      |                last    [2, 3, -, -]
//      3
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "model/cost_model.h"

namespace smelt {

struct Tree {
  uint32_t n = 0;
  uint16_t root = 0;
  uint16_t* parent = nullptr;  // [n], kNobody for the root and for those not connected yet
  uint16_t* first = nullptr;   // [n], kNobody for a leaf
  uint16_t* next = nullptr;    // [n], the sibling served after this one
  uint16_t* last = nullptr;    // [n], kNobody for a leaf
};

// An edgeless tree: `root` alone, nobody else connected. 0, -EINVAL, -ENOMEM.
int make_tree(uint32_t n, uint16_t root, Arena& arena, Tree* out);

void append_child(Tree& tree, uint16_t parent, uint16_t child);
void cut_child(Tree& tree, uint16_t child);  // its own subtree stays with it; `child` must have a parent
// Children of `parent` in send order into `out` (room for n); returns how many.
uint32_t children_of(const Tree& tree, uint16_t parent, uint16_t* out);
void set_children(Tree& tree, uint16_t parent, const uint16_t* children, uint32_t count);  // same set, new order
void copy_tree(const Tree& from, Tree& to);  // both of the same n, both made
bool is_spanning(const Tree& tree);          // connected, acyclic, arrays consistent

// Participants in an order in which parents precede children. `out` has room for n. Returns how many were reached.
uint32_t top_down_order(const Tree& tree, uint16_t* out);

}  // namespace smelt
