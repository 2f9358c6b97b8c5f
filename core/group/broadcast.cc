// Broadcast: the root's data to everybody, down the tree that the plan has for this root.
//
//   inline  up to 280 bytes in lines that carry their own flags: one hop per level of the tree and nothing else
//   shelf   copied in by the root and out by its children, in pieces, so that both copies run at the same time; a
//           child that has children puts every piece on its own shelf for them before it serves itself
//   single  long ones go straight from the root's memory to everybody's (single_copy.h)
//
// The root's length decides, for everybody. If a participant takes less, it gets the bytes that fit and is told so. If
// it takes more, the rest of its buffer stays as it was. So every broadcast counts as an episode, and its first line
// tells its kind: an inline message by its flag, pieces by the word beside the count of them (desk.h). A message that
// single copy may serve begins with a heading, which also has the root's address. A participant that expects one kind
// polls that kind's line, and now and then the places of the others.
//
// The root does not wait for anybody to receive; it may be up to kRing calls, or kPieceRing pieces, ahead.
#include <algorithm>
#include <cerrno>

#include "group/describe.h"
#include "group/fold.h"
#include "group/single_copy.h"
#include "group/started.h"

namespace smelt {
namespace {

constexpr int kUnexpected = 1;  // an error of BroadcastInline's: the root sends something else

[[gnu::noinline]] int broadcast_any(Group& group, const Broadcasting& job, bool counted);

// Is it known to all that so much goes over the shelves?
bool goes_in_pieces(const Group& group, size_t bytes) {
  return group.shelves && (group.copy_agreement == Group::Agreement::kRefused ||
                           !may_copy_once(group, SMELT_COLLECTIVE_BROADCAST, bytes));
}

// This serves a participant that expects an inline message.
struct BroadcastInline : Resumable {
  char* const room;
  const Broadcasting job;
  const void* from = nullptr;

  // One by one: so they come, and stay, in registers.
  BroadcastInline(InlineRoom* rooms, const smelt_data& data, size_t bytes, uint32_t root)
      : room(rooms[0].bytes), job{data, bytes, root} {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    const Route& route = group.route(job.root);
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me == job.root) {
          from = packed_view(job.data, 0, job.bytes, room);
          SMELT_AWAIT(group.put_lines(how, route, from, job.bytes, job.bytes));
        } else {
          SMELT_AWAIT(
              (from = group.get_any(how, route.parent, route.line, job.bytes, job.data.base ? job.data.base : room,
                                    [&] { return group.broadcast_in_pieces(route.parent) != 0; })) != nullptr);
          if (from == kOtherLength) [[unlikely]] {
            error = How::kStops ? kUnexpected : broadcast_any(group, {job.data, job.bytes, job.root}, true);
            return true;
          }
          if (route.forwards) {
            SMELT_AWAIT(group.put(how, group.desk().down, from, job.bytes));
          }
          if (from != job.data.base) unpack(job.data, 0, job.bytes, from);
          group.finish_pair();
        }
        group.finish();
    }
    return true;
  }
};

struct BroadcastShelf : Resumable {
  const Broadcasting job;
  uint64_t k = 0, piece = 0;
  size_t offset = 0, length = 0;

  explicit BroadcastShelf(const Broadcasting& job) : job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how, size_t sent) {
    Group& group = how.group;
    const Route& route = group.route(job.root);
    const Pieces pieces(sent, 1, group.piece_bytes);
    switch (resume_at(how)) {
      case 0:
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          offset = k * pieces.elements, length = pieces.in(k, sent);
          if (group.me == job.root) {
            SMELT_AWAIT(group.piece_free(how, piece));
            pack<copy_piece>(job.data, offset, length, group.down_piece(group.me, piece));
            group.fill(&Desk::filled_down, piece, group.broadcast_of(sent));
          } else {
            SMELT_AWAIT(group.filled(how, route.parent, &Desk::filled_down, piece));
            if (route.forwards) {
              SMELT_AWAIT(group.piece_free(how, piece));
              copy_piece(group.down_piece(group.me, piece), group.down_piece(route.parent, piece), length);
              group.fill(&Desk::filled_down, piece, group.broadcast_of(sent));
            }
            if (offset < job.bytes)
              unpack<copy_piece>(job.data, offset, std::min(length, job.bytes - offset),
                                 group.down_piece(route.parent, piece));
          }
          group.consume(piece);
        }
    }
    return true;
  }
};

// This serves participants that expect pieces at once, and their root. Blocking calls only: a started broadcast takes
// BroadcastAny.
struct BroadcastPieces : Resumable {
  const Broadcasting job;
  BroadcastShelf shelf;

  BroadcastPieces(InlineRoom*, const Broadcasting& job) : job(job), shelf(job) {}

  [[gnu::always_inline]] bool step(Waiting how) {
    Group& group = how.group;
    ++group.episode;
    if (group.me != job.root && !is_expected(how, group.route(job.root).parent)) [[unlikely]] {
      error = group.broken ? 0 : broadcast_any(group, job, true);
      return !group.broken;
    }
    if (!shelf.step(how, job.bytes)) return false;
    count_as_chosen(group, SMELT_COLLECTIVE_BROADCAST, job.bytes);
    group.finish();
    return true;
  }

 private:
  [[gnu::always_inline]] bool is_expected(Waiting how, uint32_t parent) {
    Group& group = how.group;
    uint32_t polls = 0;
    const auto in_pieces = [&] { return group.filled(parent, &Desk::filled_down, group.pieces); };
    return how.until(parent,
                     [&] {
                       return in_pieces() ||
                              (++polls % kPollsHere == 0 && group.is_here(*group.slot(group.route(job.root).line)));
                     }) &&
           in_pieces() && group.message_of(parent, &Desk::filled_down, group.pieces) == group.broadcast_of(job.bytes);
  }
};

// Any broadcast: for the root of a long one, and for a participant that does not expect an inline one, or got something
// else.
struct BroadcastAny : Resumable {
  char* const room;
  const Broadcasting job;
  const bool counted;         // this episode has begun for us
  uint64_t inline_bytes = 0;  // of the inline message that came; 0: another kind
  bool in_pieces = false;     // it comes so at once
  Heading heading{};
  const void* from = nullptr;
  BeginLong begin;
  BroadcastShelf shelf;
  Single<BroadcastWork> single;

  BroadcastAny(InlineRoom* rooms, const Broadcasting& job, bool counted)
      : room(rooms[0].bytes), job(job), counted(counted), shelf(job) {
    single.notices.known = job.root;
  }

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    const Route& route = group.route(job.root);
    switch (resume_at(how)) {
      case 0:
        if (!counted) ++group.episode;
        if (group.me == job.root) {
          heading = {job.bytes, address(job.data)};
          in_pieces = goes_in_pieces(group, job.bytes);
        } else {
          if (!counted && group.single_copy() && is_for_single_copy(group, SMELT_COLLECTIVE_BROADCAST, job.bytes)) {
            single.notices.all[group.me] = BroadcastWork::notice(group, job);
            SMELT_AWAIT(single.notices.tell(how));
          }
          SMELT_AWAIT(how.until(route.parent, [&] { return hear(group, route); }));
          group.finish_pair();
        }
        if (inline_bytes) {
          SMELT_AWAIT((from = group.get(how, route.parent, route.line, inline_bytes, room)) != nullptr);
          if (route.forwards) {
            SMELT_AWAIT(group.put(how, group.desk().down, from, inline_bytes));
          }
          unpack(job.data, 0, std::min<size_t>(inline_bytes, job.bytes), from);
        } else {
          if (!in_pieces) {
            if (group.me == job.root || route.forwards) {
              SMELT_AWAIT(group.put_lines(how, route, &heading, sizeof heading, kHeadsLong));
            }
            SMELT_AWAIT(begin.step(how, SMELT_COLLECTIVE_BROADCAST, heading.bytes, single, job, heading));
            error = begin.error;
          }
          if (!begin.done) {
            SMELT_AWAIT(shelf.step(how, heading.bytes));
            SMELT_AWAIT(begin.end(how));
            if (in_pieces) count_as_chosen(group, SMELT_COLLECTIVE_BROADCAST, heading.bytes);
          }
        }
        group.finish();
        if (!error && heading.bytes > job.bytes) error = -EMSGSIZE;
    }
    return true;
  }

 private:
  // Finds out which kind of message the parent sends in this episode. False: it is not there yet.
  bool hear(const Group& group, const Route& route) {
    const InlineSlot* const line = route.line;
    heading.bytes = group.broadcast_in_pieces(route.parent);
    // Pieces may have come behind a heading, which is then here as well: of a call that is tried (single_copy.h).
    const bool headed = group.is_here(*group.slot(line));
    in_pieces = heading.bytes != 0 && !headed;
    if (in_pieces) return true;
    if (!headed) return false;
    const uint64_t what = group.what_is_here(line);
    if (what == kHeadsLong)
      std::memcpy(&heading, group.payload(line), sizeof heading);
    else
      heading.bytes = inline_bytes = what;
    return true;
  }
};

// A started one, which cannot say beforehand what it will have to be.
struct BroadcastStarted : Resumable {
  BroadcastInline expected;
  BroadcastAny any;

  BroadcastStarted(InlineRoom* rooms, const Broadcasting& job)
      : expected(rooms, job.data, job.bytes, job.root), any(rooms, job, true) {}

  template <typename How>
  bool step(How how) {
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(expected.step(how));
        if (expected.error == kUnexpected) {
          SMELT_AWAIT(any.step(how));
          error = any.error;
        }
    }
    return true;
  }
};

// Apart, so that the short ones pay for no register that only these need.
int broadcast_any(Group& group, const Broadcasting& job, bool counted) {
  return run_to_end<BroadcastAny>(group, job, counted);
}

[[gnu::noinline]] int broadcast_long(Running form, const Broadcasting& job) {
  if (goes_in_pieces(form.group, job.bytes)) return form.run<BroadcastPieces>(job);
  return broadcast_any(form.group, job, false);
}

struct BroadcastCall : AnyCall {
  const smelt_data* data;
  size_t bytes;
  unsigned root;

  int check(const smelt_group* group) const { return !group || !data || root >= group->n ? -EINVAL : 0; }
  bool is_nothing(const Group& group) const { return group.n == 1 || bytes == 0; }
  static int alone() { return 0; }
  int run(Running form) const {
    if (bytes > kInlineBytes) return broadcast_long(form, {*data, bytes, root});
    return form.run<BroadcastInline>(*data, bytes, root);
  }
  int run(Starting form) const {
    const Broadcasting job{form.in(*data), bytes, root};
    return bytes > kInlineBytes ? form.run<BroadcastAny>(job, false) : form.run<BroadcastStarted>(job);
  }
};

}  // namespace

void broadcast_table(const Group& group, Table* table) {
  char pattern[40];
  plan_route(group, 0, pattern, sizeof pattern);
  add_methods(group, SMELT_COLLECTIVE_BROADCAST, {pattern}, table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(broadcast, (BroadcastCall{{}, data, bytes, root}), const smelt_data* data, size_t bytes,
                  unsigned root)
