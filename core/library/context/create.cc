// Contexts along a tree of the caller's, and of some participants of another context. Those along a pattern of the
// generator's are made in barrier.cc.
#include <cerrno>
#include <new>

#include "generate/registry.h"
#include "generate/tree.h"
#include "library/context/context.h"
#include "library/patterns/model.h"
#include "policy/wait.h"

using namespace smelt;

namespace {

// A context whose tree `grow` makes of an edgeless one; it returns 0 or an error.
template <typename Grow>
int create(uint32_t n, uint16_t root, smelt_context** context, Grow grow) {
  auto* object = make_object<smelt_context>(generation_bytes(n));
  if (!object) return -ENOMEM;
  int error = make_tree(n, root, object->arena, &object->tree);
  if (!error) error = grow(object->tree, object->arena);
  if (!error && !is_spanning(object->tree)) error = -EINVAL;
  const bool crowded = n > usable_cpus();
  if (!error) error = plan_along_tree(*object, crowded);
  if (error) {
    free_object(object);
    return error;
  }
  object->policy = wait_policy(crowded, n);
  *context = object;
  return 0;
}

}  // namespace

int smelt_context_create_along(const smelt_tree* tree, smelt_context** context) {
  if (!tree || !context) return -EINVAL;
  const uint32_t n = smelt_tree_size(tree);
  return create(n, static_cast<uint16_t>(smelt_tree_root(tree)), context, [&](Tree& copy, Arena& arena) {
    char* const mark = arena.mark();
    auto* children = arena.make<unsigned>(n);
    if (!children) return -ENOMEM;
    for (uint32_t i = 0; i < n; ++i) {
      const int count = smelt_tree_children(tree, i, children, n);
      for (int k = 0; k < count; ++k) append_child(copy, static_cast<uint16_t>(i), static_cast<uint16_t>(children[k]));
    }
    arena.rewind(mark);
    return 0;
  });
}

int smelt_context_create_from(unsigned n, const int* parents, smelt_context** context) {
  if (!parents || !context || n < 1 || n > kMaxParticipants) return -EINVAL;
  uint32_t root = n;
  for (uint32_t i = 0; i < n; ++i) {
    if (parents[i] >= static_cast<int>(n) || parents[i] < -1) return -EINVAL;
    if (parents[i] >= 0) continue;
    if (root != n) return -EINVAL;  // two of them
    root = i;
  }
  if (root == n) return -EINVAL;
  return create(n, static_cast<uint16_t>(root), context, [&](Tree& tree, Arena&) {
    for (uint32_t i = 0; i < n; ++i)
      if (i != root) append_child(tree, static_cast<uint16_t>(parents[i]), static_cast<uint16_t>(i));
    return 0;
  });
}

int smelt_context_create_subset(const smelt_context* of, const unsigned* participants, unsigned count,
                                smelt_context** context) {
  if (!of || !participants || !context || count < 1 || count > of->tree.n) return -EINVAL;
  const Tree& whole = of->tree;
  MappedArena scratch(size_t{whole.n} * 2 * sizeof(uint16_t) + 64);
  auto* name = scratch.make<uint16_t>(whole.n);  // in the subset
  auto* order = scratch.make<uint16_t>(whole.n);
  if (!name || !order) return -ENOMEM;
  for (uint32_t i = 0; i < whole.n; ++i) name[i] = kNobody;
  for (uint32_t i = 0; i < count; ++i) {
    if (participants[i] >= whole.n || name[participants[i]] != kNobody) return -EINVAL;
    name[participants[i]] = static_cast<uint16_t>(i);
  }
  const uint32_t reached = top_down_order(whole, order);
  uint32_t top = 0;
  while (name[order[top]] == kNobody) ++top;
  const uint16_t root = name[order[top]];
  return create(count, root, context, [&](Tree& tree, Arena&) {
    for (uint32_t i = top + 1; i < reached; ++i) {
      if (name[order[i]] == kNobody) continue;
      uint16_t above = whole.parent[order[i]];
      while (above != kNobody && name[above] == kNobody) above = whole.parent[above];
      append_child(tree, above == kNobody ? root : name[above], name[order[i]]);
    }
    return 0;
  });
}

int smelt_context_parent(const smelt_context* context, unsigned participant) {
  if (!context || participant >= context->tree.n) return -EINVAL;
  const uint16_t parent = context->tree.parent[participant];
  return parent == kNobody ? -1 : parent;
}
