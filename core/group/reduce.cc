// Reduction: the operands of all, combined, to the root; and the long methods, which allreduce has, too.
//
//   inline  up to 280 bytes, in lines that carry their own flags; the root reads everybody's, or, of those who combine
//           their part of the promised order, the first one's (schedule/fixed_order.h): beyond 16 participants each
//           block of 16, among fewer the last ones where that is cheaper
//   tree    either of inline and flat along the generator's tree, for operations that may be combined in any order
//           (reduce_tree.h)
//   flat    everybody copies its operands to its shelf in pieces, the root combines (reduce_flat.h)
//   sliced  (reduce-scatter, then the root gathers) everybody combines one slice of every piece: the arithmetic and the
//           reading are spread over all (reduce_sliced.h)
//   single  sliced, straight from and to the callers' memory (single_copy.h)
#include <cerrno>

#include "group/describe.h"
#include "group/fold.h"
#include "group/reduce_flat.h"
#include "group/reduce_sliced.h"
#include "group/reduce_tree.h"
#include "group/started.h"

namespace smelt {
namespace {

// A method that is run here alone, so that the compiler inlines it.
template <typename Method>
struct Shelved : Method {
  using Method::Method;
};

template <typename Form>
[[gnu::noinline]] int run_long(Form form, const Reduction& job) {
  if (job.fold.element_bytes > form.group.plan.limits.piece) return form.refuse(-ENOTSUP);
  // Nothing to agree on any more, nor when a started one begins.
  if (form.group.shelves && !may_copy_once(form.group, ReduceWork::which(job), job.bytes()) &&
      !is_tried(form.group, ReduceWork::which(job), job.bytes())) {
    if (is_sliced(form.group, job)) {
      if (!root_is_spared(form.group, job.root)) return form.template run<Shelved<ReduceSliced<false>>>(job);
    } else if (!tree_of(form.group, job)) {
      return form.template run<Shelved<ReduceFlat>>(job);
    }
  }
  return reduce_otherwise(form, job);
}

constexpr smelt_data kNowhere{};  // in place of the buffer that a participant other than the root names

struct ReduceCall : FoldForAll {
  unsigned root;

  int check(const smelt_group* group) const {
    return !group || !in || !fold || root >= group->n || (group->me == root && !out) ? -EINVAL : 0;
  }
  template <typename Form>
  int run(Form form) const {
    const smelt_data& result = form.out(form.group.me == root ? *out : kNowhere);
    const Reduction job{form.in(*in), result, elements, form.by(*fold), root};
    if (job.bytes() > kInlineBytes) return reduce_long(form, job);
    if (tree_of(form.group, job)) return form.template run<ReduceShort<ReduceTreeInline, false>>(job);
    if (form.group.n > kBlockSize) return form.template run<ReduceShort<ReduceInline<kBlockSize>, false>>(job);
    return form.template run<ReduceShort<ReduceInline<1>, false>>(job);
  }
};

}  // namespace

int reduce_long(Running form, const Reduction& job) { return run_long(form, job); }
int reduce_long(Starting form, const Reduction& job) { return run_long(form, job); }

void reduce_table(const Group& group, Table* table) {
  const TreeToRoot to_root(group);
  const char* const tree = to_root.pattern;
  const unsigned last = plan_parts(group, 0) - 1u;
  char inline_way[48] = "by the root";
  if (group.n > kBlockSize)
    std::snprintf(inline_way, sizeof inline_way, "in blocks of 16");
  else if (last + 1 < group.n)
    std::snprintf(inline_way, sizeof inline_way, "by the root, from %u on by %u first", last, last);
  table->add(kInlineBytes, "inline, flags in the lines, combined %s", Combining(group, inline_way, tree).text);
  add_long(group, SMELT_COLLECTIVE_REDUCE, Combining(group, "the root", tree), table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(reduce, (ReduceCall{{{}, in, out, elements, fold}, root}), const smelt_data* in,
                  const smelt_data* out, size_t elements, const smelt_fold* fold, unsigned root)
