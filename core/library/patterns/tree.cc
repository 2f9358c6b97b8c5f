#include <smelt/tree.h>

#include <cerrno>

#include "base/object.h"
#include "generate/registry.h"
#include "library/patterns/model.h"

using namespace smelt;

struct smelt_tree : Object {
  Tree tree;
};

const char* smelt_pattern_name(unsigned index) {
  return index < pattern_registry().size() ? pattern_registry()[index].name : nullptr;
}

const char* smelt_pattern_help(unsigned index) {
  return index < pattern_registry().size() ? pattern_registry()[index].help : nullptr;
}

int smelt_pattern_is_tree(unsigned index) {
  return index < pattern_registry().size() ? pattern_registry()[index].tree != nullptr : -EINVAL;
}

int smelt_tree_create(const smelt_model* model, const char* pattern, unsigned n, const unsigned* cpus, int root,
                      smelt_tree** tree) {
  if (!tree || !pattern || n < 1 || n > kMaxParticipants || root < -1 || root >= static_cast<int>(n)) return -EINVAL;
  Pattern found;
  if (const int error = find_pattern(pattern, &found)) return error;
  if (!found.info->tree) return -EINVAL;
  auto* object = make_object<smelt_tree>(generation_bytes(n));
  if (!object) return -ENOMEM;
  Costs costs;
  int error = costs_for_cpus(model, n, cpus, object->arena, &costs);
  if (!error) error = found.info->tree(costs, found.argument, root, object->arena, &object->tree);
  if (error) {
    free_object(object);
    return error;
  }
  *tree = object;
  return 0;
}

void smelt_tree_free(smelt_tree* tree) { free_object(tree); }
unsigned smelt_tree_size(const smelt_tree* tree) { return tree->tree.n; }
unsigned smelt_tree_root(const smelt_tree* tree) { return tree->tree.root; }

int smelt_tree_parent(const smelt_tree* tree, unsigned participant) {
  if (participant >= tree->tree.n) return -EINVAL;
  const uint16_t parent = tree->tree.parent[participant];
  return parent == kNobody ? -1 : parent;
}

int smelt_tree_children(const smelt_tree* tree, unsigned participant, unsigned* children, unsigned room) {
  if (participant >= tree->tree.n || (!children && room > 0)) return -EINVAL;
  unsigned count = 0;
  for (uint16_t c = tree->tree.first[participant]; c != kNobody; c = tree->tree.next[c], ++count)
    if (count < room) children[count] = c;
  return static_cast<int>(count);
}
