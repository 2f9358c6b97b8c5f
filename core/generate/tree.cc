// The operations on a tree: linked lists of siblings kept in arrays.
#include "generate/tree.h"

#include <cerrno>

namespace smelt {

int make_tree(uint32_t n, uint16_t root, Arena& arena, Tree* out) {
  if (n == 0 || n > kMaxParticipants || root >= n) return -EINVAL;
  // One block, so that a failure leaves nothing behind.
  uint16_t* const links = arena.make<uint16_t>(size_t{4} * n);
  if (!links) return -ENOMEM;
  for (uint32_t i = 0; i < 4 * n; ++i) links[i] = kNobody;
  *out = Tree{n, root, links, links + n, links + 2 * n, links + 3 * n};
  return 0;
}

void append_child(Tree& tree, uint16_t parent, uint16_t child) {
  const uint16_t elder = tree.last[parent];
  if (elder == kNobody) {
    tree.first[parent] = child;
  } else {
    tree.next[elder] = child;
  }
  tree.last[parent] = child;
  tree.parent[child] = parent;
  tree.next[child] = kNobody;
}

void cut_child(Tree& tree, uint16_t child) {
  const uint16_t parent = tree.parent[child];
  uint16_t elder = kNobody;
  for (uint16_t c = tree.first[parent]; c != child; c = tree.next[c]) elder = c;
  if (elder == kNobody) {
    tree.first[parent] = tree.next[child];
  } else {
    tree.next[elder] = tree.next[child];
  }
  if (tree.last[parent] == child) tree.last[parent] = elder;
  tree.parent[child] = tree.next[child] = kNobody;
}

uint32_t children_of(const Tree& tree, uint16_t parent, uint16_t* out) {
  uint32_t count = 0;
  for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) out[count++] = c;
  return count;
}

void set_children(Tree& tree, uint16_t parent, const uint16_t* children, uint32_t count) {
  tree.first[parent] = tree.last[parent] = kNobody;
  for (uint32_t i = 0; i < count; ++i) append_child(tree, parent, children[i]);
}

void copy_tree(const Tree& from, Tree& to) {
  to.root = from.root;
  const size_t bytes = from.n * sizeof(uint16_t);
  std::memcpy(to.parent, from.parent, bytes);
  std::memcpy(to.first, from.first, bytes);
  std::memcpy(to.next, from.next, bytes);
  std::memcpy(to.last, from.last, bytes);
}

bool is_spanning(const Tree& tree) {
  const uint32_t n = tree.n;
  if (n == 0 || n > kMaxParticipants || tree.root >= n || tree.parent[tree.root] != kNobody) return false;
  // Every child names the parent in whose list it stands, so no child is in two lists; a list that runs in a circle
  // has more than n - 1 entries.
  uint32_t listed = 0;
  for (uint32_t parent = 0; parent < n; ++parent) {
    uint16_t youngest = kNobody;
    for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) {
      if (c >= n || tree.parent[c] != parent || ++listed >= n) return false;
      youngest = c;
    }
    if (tree.last[parent] != youngest) return false;
  }
  if (listed != n - 1) return false;
  // n - 1 listed children may still hold a loop apart from the root, so count those that can be reached: down to the
  // first child, else on to the next sibling of the nearest ancestor that has one.
  uint32_t reached = 1;
  uint16_t at = tree.root;
  for (;;) {
    if (tree.first[at] != kNobody) {
      at = tree.first[at];
    } else {
      while (at != tree.root && tree.next[at] == kNobody) at = tree.parent[at];
      if (at == tree.root) return reached == n;
      at = tree.next[at];
    }
    ++reached;
  }
}

uint32_t top_down_order(const Tree& tree, uint16_t* out) {
  out[0] = tree.root;
  uint32_t reached = 1;
  for (uint32_t i = 0; i < reached; ++i) {  // `out` is its own queue
    for (uint16_t c = tree.first[out[i]]; c != kNobody; c = tree.next[c]) out[reached++] = c;
  }
  return reached;
}

}  // namespace smelt
