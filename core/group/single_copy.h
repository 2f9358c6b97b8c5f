// Single copy: long messages go straight from process to process (transport/direct_copy.h), where the kernel lets every
// participant do so and the profile says it is faster than two copies through the shelves.
//
// The kernel's copy is one processor's work, so the work is divided over all: we write one part of the data that others
// need of us, and read one part of the data that we need of others, at the same time.
//
//   broadcast   the root writes the first n-th to everybody, everybody reads the rest
//   reduce      everybody reads one slice of all operands, combines it and writes the result to the root; short ones of
//               two the root reads and combines alone
//   allreduce   the same, and writes it to everybody
//   scan        of two, the second reads the first one's
//   reduce_scatter  everybody reads its block of all operands, combines it and keeps the result
//   allgather   everybody reads everybody's
//   alltoall    everybody reads its block of everybody's; exchange: its blocks
//   gatherv     the root reads everybody's
//   scatterv    everybody reads its own block
//   gather, scatter   everybody copies its own block, and the root some of the others' where it has nothing to copy
//
// Everybody must know the addresses, and everybody must know when its memory has been read and written. Only the
// participant itself knows whether its data are in one piece, so it tells that with the address. If they are not, the
// shelves serve the call.
//
// The copying is the caller's own work: a started operation does it, a slice at most 1/n of the message, in the call
// that finds everybody's addresses there.
#pragma once

#include <algorithm>

#include "group/fold.h"
#include "transport/direct_copy.h"

namespace smelt {

// More participants than these would spend more on telling addresses than on copying; and their order of combination
// has a second level.
static_assert(kDirectCopyParticipants <= kBlockSize);

// Is it found out by trials what a message so long is worth?
inline bool is_tried(const Group& group, smelt_collective which, size_t bytes) {
  const Limits::Of& limits = group.plan.limits.of[which];
  return limits.tried && bytes > limits.copy && group.trials.are_open();
}
// Is a message so long that single copy is worth asking for?
inline bool may_copy_once(const Group& group, smelt_collective which, size_t bytes) {
  const Limits::Of& limits = group.plan.limits.of[which];
  return bytes > limits.copy && group.n <= kDirectCopyParticipants &&
         !(limits.tried && group.trials.is_shelf(which, bytes));
}
// ... and that it has this very call, where all may take it?
inline bool is_for_single_copy(const Group& group, smelt_collective which, size_t bytes) {
  return may_copy_once(group, which, bytes) &&
         (!group.plan.limits.of[which].tried || group.trials.next(which, bytes) == MethodTrials::Method::kSingleCopy);
}

// The end of a call that went through the shelf because that is known to be faster, of whatever was tried.
inline void count_as_chosen(const Group& group, smelt_collective which, size_t bytes) {
  if (group.single_copy() && is_tried(group, which, bytes))
    MethodTrials::count_as_chosen(group.trials.row(which, MethodTrials::size_of(bytes)));
}

// A call of which it is not yet known which method is faster (trials.h). It ends when all have told when they began it
// and when they were done, which all must: a participant that is not of one mind with us would wait for ever, so that
// is compared, too.
struct Trial : Resumable {
  MethodTrials::Row* row = nullptr;  // nullptr: nothing is tried of such messages
  bool trying = false;               // else it is known, and this call only counts
  CallTimes mine{};

  // When it is known whether all may take single copy; is_for_single_copy() with the same arguments says how the call
  // goes, up to its end(): there alone the answer may change, for the next one.
  void begin(Group& group, smelt_collective of, size_t bytes) {
    if (!group.single_copy() || !is_tried(group, of, bytes)) return;
    row = &group.trials.row(of, MethodTrials::size_of(bytes));
    if (!row->over) [[unlikely]]
      begin_tried(group, of, bytes);
  }
  template <typename How>
  bool end(How how, MethodTrials::Method ran) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        if (!trying) {
          if (row) MethodTrials::count_as_chosen(*row);
          return true;
        }
        tell(group);
        SMELT_AWAIT(group.all_finished(how, group.episode));
        compare(group, ran);
    }
    return true;
  }

 private:
  [[gnu::noinline, gnu::cold]] void begin_tried(const Group& group, smelt_collective of, size_t bytes);
  [[gnu::noinline, gnu::cold]] void tell(Group& group);
  [[gnu::noinline, gnu::cold]] void compare(Group& group, MethodTrials::Method ran);
};

// Every long message begins so: are there shelves, and does single copy serve? `done`: it did, or there is no memory
// (error); else the shelves are to be taken, and then end().
struct BeginLong : Resumable {
  bool done = false;
  Trial trial;

  template <typename How, typename Single, typename... Arguments>
  bool step(How how, smelt_collective which, size_t bytes, Single& single, const Arguments&... arguments) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(group.shelves_agreed(how));
        if (is_refused(group)) return done = true;
        if (may_copy_once(group, which, bytes)) {
          SMELT_AWAIT(group.single_copy_agreed(how));
        }
        trial.begin(group, which, bytes);
        if (group.single_copy() && is_for_single_copy(group, which, bytes)) {
          SMELT_AWAIT(single.step(how, arguments...));
          error = single.error;
          done = single.served;
          // Where the lengths differ all have seen it, and nothing was copied.
          if (done && !group.lengths_differ) {
            SMELT_AWAIT(trial.end(how, MethodTrials::Method::kSingleCopy));
          }
        }
    }
    return true;
  }
  // It is called after the shelves have served the call.
  template <typename How>
  bool end(How how) {
    return trial.end(how, MethodTrials::Method::kShelf);
  }
};

// A participant's notice of its memory. 0: not in one piece.
struct Notice {
  uint64_t in;     // where the others may read; a broadcast's: where the root may write
  uint64_t out;    // where they may write
  uint64_t bytes;  // so many
};

inline uint64_t address(const smelt_data& data) { return reinterpret_cast<uint64_t>(data.base); }

// Everybody tells everybody, in the up slots of this episode. Afterwards all are known to have arrived.
struct ExchangeNotices : Resumable {
  uint32_t i = 0;
  uint32_t known = ~0u;  // the participant whose notice was told otherwise
  bool told = false;     // ours is in our slot already
  Notice all[kDirectCopyParticipants];

  // all[me] is ours.
  template <typename How>
  bool tell(How how) {
    Group& group = how.group;
    return told =
               told || known == group.me || group.put(how, group.desk().up, &all[group.me], sizeof(Notice), kAddresses);
  }
  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(tell(how));
        for (; i < group.n; ++i) {
          if (i == group.me || i == known) continue;
          SMELT_AWAIT(group.is_here(how, i, group.desks[i].up));
          SMELT_AWAIT(group.what_is_here(group.desks[i].up) == kAddresses || group.give_up());
          std::memcpy(&all[i], group.payload(group.desks[i].up), sizeof(Notice));
        }
        group.finish_together();
    }
    return true;
  }
  // Are all operands as long as ours? If not, everybody finds that here, and nothing has been moved.
  bool are_as_long(Group& group) const {
    for (uint32_t i = 0; i < group.n; ++i) group.lengths_differ |= all[i].bytes != group.operand_bytes;
    return !group.lengths_differ;
  }
};

inline size_t slice(size_t whole, uint32_t r, uint32_t n) { return whole / n * r + whole % n * r / n; }

// A copy that the kernel refused after all is told to the caller.
inline void note(bool done, int* error) {
  if (!done) *error = -EIO;
}

// The frame of all methods: everybody tells where its memory is, does its share of the copying, and waits for the
// others, because nobody may go on before all have read and written what they had to. A Work says for which collective,
// what is told and what is done. `served`: false means "take the shelves". error: the kernel has refused after all.
template <typename Work>
struct Single : Resumable {
  using Job = typename Work::Job;
  bool served = false;
  ExchangeNotices notices;

  template <typename How, typename... Heard>
  bool step(How how, const Job& job, const Heard&... heard) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        notices.all[group.me] = Work::notice(group, job);
        Work::begin(group, job, &notices, heard...);
        SMELT_AWAIT(notices.step(how));
        served = true;
        if (Work::kAlike && !notices.are_as_long(group)) return true;
        for (uint32_t i = 0; i < group.n; ++i) served &= Work::may_copy(notices.all[i], job, i);
        if (!served) return true;
        Work::copy(group, job, notices.all, &error);
        group.finish_now();
        SMELT_AWAIT(group.all_finished(how, group.episode));
    }
    return true;
  }
};
// The usual answers of a Work: everybody knows beforehand that this method is to be tried, the longest message decides,
// all operands are of one length, and everybody must have its data in one piece.
template <smelt_collective kWhich>
struct InOnePiece {
  static constexpr bool kAlike = true;
  template <typename Job>
  static void begin(Group& group, const Job&, ExchangeNotices*) {
    ++group.episode;
  }
  template <typename Job>
  static smelt_collective which(const Job&) {
    return kWhich;
  }
  template <typename Job>
  static size_t longest(const Group&, const Job& job) {
    return job.longest();
  }
  template <typename Job>
  static bool may_copy(const Notice& theirs, const Job&, uint32_t) {
    return theirs.in != 0;
  }
};

// A long message of which everybody knows that it is one: by single copy, or else through the shelves.
template <typename Shelf, typename Work>
struct LongMessage : Resumable {
  const typename Work::Job job;
  BeginLong begin;
  Shelf shelf;
  Single<Work> single;

  LongMessage(InlineRoom* rooms, const Group& group, const typename Work::Job& job)
      : job(job), shelf(rooms, group, job) {}

  template <typename How>
  bool step(How how) {
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin.step(how, Work::which(job), Work::longest(how.group, job), single, job));
        error = begin.error;
        if (begin.done) return true;
        SMELT_AWAIT(shelf.step(how));
        SMELT_AWAIT(begin.end(how));
    }
    return true;
  }
};

// A broadcast, as its caller put it.
struct Broadcasting {
  const smelt_data& data;
  size_t bytes;  // our own: that the root sends, or that we take
  uint32_t root;
};

// The root's heading is its notice, and begins the episode; the others' notices say how much they take. A participant
// that expects this method tells its own before it is known to serve: then nobody has to wait for that afterwards.
struct BroadcastWork : InOnePiece<SMELT_COLLECTIVE_BROADCAST> {
  using Job = Broadcasting;
  static constexpr bool kAlike = false;
  static Notice notice(const Group&, const Broadcasting& job) { return {address(job.data), 0, job.bytes}; }
  static void begin(Group&, const Broadcasting& job, ExchangeNotices* notices, const Heading& heading) {
    notices->all[job.root] = {heading.address, 0, heading.bytes};
  }
  static void copy(Group& group, const Broadcasting& job, const Notice* all, int* error) {
    const size_t sent = all[job.root].bytes, end = std::min(sent, job.bytes);
    const size_t written = slice(sent, 1, group.n);  // by the root, to each
    char* const data = static_cast<char*>(job.data.base);
    if (group.me != job.root && end > written)
      note(read_from(group.introduction(job.root), data + written, all[job.root].in + written, end - written), error);
    for (uint32_t i = 0; i < group.n && group.me == job.root; ++i)
      if (i != job.root)
        note(write_to(group.introduction(i), data, all[i].in, std::min<size_t>(written, all[i].bytes)), error);
  }
};

// Elements [begin, end) of everybody's operands, which lie where the notices say, combined to `out`, which is a place
// for just these.
void combine_range(Group& group, const Notice* operands, const smelt_fold& fold, size_t begin, size_t end, char* out,
                   int* error);

struct ReduceWork : InOnePiece<SMELT_COLLECTIVE_REDUCE> {
  using Job = Reduction;
  static smelt_collective which(const Reduction& job) {
    return job.root == kEverybody ? SMELT_COLLECTIVE_ALLREDUCE : SMELT_COLLECTIVE_REDUCE;
  }
  static Notice notice(const Group& group, const Reduction& job) {
    return {address(job.in), wants(job, group.me) ? address(job.out) : 0, job.bytes()};
  }
  static bool may_copy(const Notice& theirs, const Reduction& job, uint32_t i) {
    return theirs.in && (theirs.out || !wants(job, i));
  }
  // Combines a slice.
  static void copy(Group& group, const Reduction& job, const Notice* all, int* error);

 private:
  static bool wants(const Reduction& job, uint32_t i) { return job.root == kEverybody || job.root == i; }
  // Participant i combines elements [begin_of(i), begin_of(i + 1)).
  static size_t begin_of(const Group& group, const Reduction& job, uint32_t i);
};

}  // namespace smelt
