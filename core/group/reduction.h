// What reduce and allreduce share.
#pragma once

#include "group/group.h"

namespace smelt {

// One's own memory for an inline message. Operands lie there as group.h promises, which is why two of them do not
// follow each other after 224 bytes.
struct alignas(64) InlineRoom {
  char bytes[kInlineBytes];
};

// The inline reduction of this episode, with everybody's operands in the up slots. True at the root, which has
// `result`.
bool reduce_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                   uint32_t root);

// The same along the tree; every participant combines what its children have put into their up slots.
bool reduce_tree_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                        const ReduceRoute& route);

// `own` and what the others have put into their up slots in this episode, combined; at most a block of participants.
void combine_inline(Group& group, const void* own, void* result, size_t elements, const smelt_fold& fold);

inline constexpr uint32_t kEverybody = ~0u;  // as a root

// What does not fit inline, by the method that the limits say. As group_reduce; root may be kEverybody.
int reduce_long(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                uint32_t root);
void reduce_flat(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 uint32_t root);
void reduce_tree(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 const ReduceRoute& route);
void reduce_sliced(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                   uint32_t root);

}  // namespace smelt
