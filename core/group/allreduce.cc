// Allreduce: the operands of all, combined, to everybody.
//
//   pair    two participants, up to 24 bytes: both operands in one line
//   inline  up to 280 bytes, in lines that carry their own flags; everybody reads everybody's and combines for itself:
//           one hop.
//           Beyond 16 participants: reduced to participant 0, in blocks or along the tree, then broadcast
//   flat    the same over the shelves, in pieces: no more communication than a barrier, but everybody does all the
//           arithmetic
//   sliced  everybody combines a slice and gets the others' (reduce_sliced.h)
//   single  the same, straight from and to the callers' memory (single_copy.h)
#include "group/describe.h"
#include "group/fold.h"
#include "group/started.h"

namespace smelt {
namespace {

struct AllreduceOfTwo : Resumable {
  Reduction job;
  char* const unpacked;
  uint64_t flag = 0;
  uint32_t polls = 0;

  AllreduceOfTwo(InlineRoom* rooms, const Reduction& job) : job(job), unpacked(rooms[0].bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    const size_t bytes = job.bytes();
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        SMELT_AWAIT(group.slots_free(how));
        pack(job.in, 0, bytes, group.pair_line().half[group.me].payload);
        group.pair_line().half[group.me].flag.store(group.flag_of(bytes), std::memory_order_release);
        SMELT_AWAIT(how.until(1 - group.me, [&] {
          flag = group.pair_line().half[1 - group.me].flag.load(std::memory_order_acquire);
          // If the other's operands are longer, they are in its slot.
          return group.is_here(flag) ||
                 (++polls % kPollsHere == 0 && group.is_here(*group.slot(group.desks[1 - group.me].up)));
        }));
        if (flag == group.flag_of(bytes)) [[likely]]
          combine(group.pair_line());
        else
          group.lengths_differ = true;
        group.finish_together();
    }
    return true;
  }

 private:
  void combine(const PairLine& line) {
    // The room is for operations without a third operand; they may not write into the line.
    alignas(64) char room[kPairBytes];
    void* const to = job.out.base ? job.out.base : unpacked;
    Combiner(job.fold, job.elements, nullptr, nullptr).combine(line.half[0].payload, line.half[1].payload, to, room);
    if (!job.out.base) job.out.unpack(job.out.context, 0, job.bytes(), to);
  }
};

// Reduces to participant 0 and broadcasts the result. Everybody hears of everybody through participant 0.
template <typename Method>
struct ReduceThenBroadcast : Resumable {
  static constexpr int kRooms = Method::kRooms;
  static constexpr bool have = true;
  const void* from = nullptr;
  Method reduce;

  explicit ReduceThenBroadcast(InlineRoom* rooms) : reduce(rooms) {}

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t) {
    Group& group = how.group;
    const Route& route = group.route(0);
    const size_t bytes = elements * fold.element_bytes;
    switch (resume_at(how)) {
      case 0:
        from = result;
        SMELT_AWAIT(reduce.step(how, in, result, elements, fold, 0));
        if (!reduce.have) {
          SMELT_AWAIT((from = group.get(how, route.parent, route.line, bytes, result)) != nullptr);
        }
        if (group.me == 0 || route.forwards) {
          SMELT_AWAIT(group.put_lines(how, route, from, bytes, bytes));
        }
        if (from != result) std::memcpy(result, from, bytes);
    }
    return true;
  }
};

template <typename Form>
int allreduce(Form form, const Reduction& job) {
  if (job.bytes() > kInlineBytes) return reduce_long(form, job);
  if (form.group.n == 2 && job.bytes() <= kPairBytes) return form.template run<AllreduceOfTwo>(job);
  if (form.group.n <= kBlockSize) return form.template run<ReduceShort<ReduceInline<1>, true>>(job);
  if (form.group.tree_for(job.fold, 0))
    return form.template run<ReduceShort<ReduceThenBroadcast<ReduceTreeInline>, true>>(job);
  return form.template run<ReduceShort<ReduceThenBroadcast<ReduceInline<kBlockSize>>, true>>(job);
}

struct AllreduceCall : FoldForAll {
  template <typename Form>
  int run(Form form) const {
    return allreduce(form, {form.in(*in), form.out(*out), elements, form.by(*fold), kEverybody});
  }
};

}  // namespace

void allreduce_table(const Group& group, Table* table) {
  const TreeToRoot to_root(group);
  const char* const tree = to_root.pattern;
  const bool blocks = group.n > kBlockSize;
  if (group.n == 2) table->add(kPairBytes, "inline, both operands in one line");
  table->add(kInlineBytes, "inline, flags in the lines, combined %s%s",
             Combining(group, blocks ? "in blocks of 16" : "by everybody", blocks ? tree : "").text,
             blocks ? ", then broadcast" : "");
  add_long(group, SMELT_COLLECTIVE_ALLREDUCE, Combining(group, "everybody", ""), table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(allreduce, (AllreduceCall{{{}, in, out, elements, fold}}), const smelt_data* in,
                  const smelt_data* out, size_t elements, const smelt_fold* fold)
