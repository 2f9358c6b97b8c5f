/* Patterns and trees: which participant sends to which others, in which order. */
#ifndef SMELT_TREE_H
#define SMELT_TREE_H

#include <smelt/model.h>

SMELT_BEGIN

typedef struct smelt_tree smelt_tree;

/* The patterns that this library knows, in the order of their registry; NULL past the end. A name that takes an
 * argument is written name:K, for example knomial:4. */
SMELT_API const char *smelt_pattern_name(unsigned index);
SMELT_API const char *smelt_pattern_help(unsigned index);
SMELT_API int smelt_pattern_is_tree(unsigned index); /* 1: tree, 0: exchange (barriers only), -EINVAL */

/* The tree that `pattern` builds for n participants (1 .. SMELT_MAX_PARTICIPANTS); participant i runs on kernel CPU
 * cpus[i], all different and known to the model; cpus NULL: on the model's i-th CPU. root: a participant, or -1 for the
 * pattern's own choice. -ENOENT: unknown pattern; -ERANGE: its argument; -EINVAL: not a tree, cpus, root; -ENOMEM. */
SMELT_API int smelt_tree_create(const smelt_model *model, const char *pattern, unsigned n, const unsigned *cpus,
                                int root, smelt_tree **tree);
SMELT_API void smelt_tree_free(smelt_tree *tree);

SMELT_API unsigned smelt_tree_size(const smelt_tree *tree); /* participants */
SMELT_API unsigned smelt_tree_root(const smelt_tree *tree); /* a participant */
SMELT_API int smelt_tree_parent(const smelt_tree *tree, unsigned participant); /* -1 for the root, -EINVAL */
/* Children in send order: writes at most `room` of them, returns how many there are; -EINVAL. */
SMELT_API int smelt_tree_children(const smelt_tree *tree, unsigned participant, unsigned *children, unsigned room);

SMELT_END

#endif
