// Gather, scatter and exchange: a block for each participant.
//
//   along the tree  blocks go in ascending order of whom they are of, or for, each in pieces. Everybody knows which
//                   edge leads to whom, so it knows from where the next comes and where it goes, and blocks carry no
//                   name. An exchange is a scatter of each participant in turn; nobody waits between them.
//   direct          (threads, long blocks) as a broadcast's: the root's address goes down, everybody copies its own
//                   block, and that all have done so goes up again. In an exchange everybody tells everybody where its
//                   memory is, takes its blocks from all others, and tells them that it has (meet.cc).
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "library/context/direct.h"

namespace smelt::context {
namespace {

struct GatherAlongTree {
  using How = Seat;
  static constexpr bool kSynchronises = false;
  int at = 0;
  uint32_t whose = 0;
  size_t done = 0;

  bool step(Seat& seat, const Call& call) {
    const uint32_t up = seat.way_to(call.root);
    const auto length = [&] { return std::min(call.bytes - done, seat.piece_bytes); };
    const auto place = [&] { return up == kNoEdge ? call.out + whose * call.bytes + done : seat.room; };
    switch (at) {
      case 0:
        for (; whose < seat.n; ++whose) {
          if (whose == seat.me && up == kNoEdge) keep(call.out + whose * call.bytes, call.in, call.bytes);
          if (seat.way_to(whose) == up) continue;  // not of ours, or our own, which we keep
          for (done = 0; done < call.bytes; done += length()) {
            if (whose != seat.me) {
              SMELT_AWAIT(seat.receive(seat.toward[whose], place(), length()));
            }
            if (up != kNoEdge) {
              SMELT_AWAIT(seat.send(up, whose == seat.me ? call.in + done : seat.room, length()));
            }
          }
        }
    }
    return true;
  }
};

// From the row `in` of `root`; our block goes to `out`.
struct Scatter {
  using How = Seat;
  int at = 0;
  uint32_t whose = 0;
  size_t done = 0;

  bool step(Seat& seat, const char* in, char* out, size_t bytes, uint32_t root) {
    const uint32_t up = seat.way_to(root);
    const auto length = [&] { return std::min(bytes - done, seat.piece_bytes); };
    switch (at) {
      case 0:
        for (whose = 0; whose < seat.n; ++whose) {
          if (whose == seat.me && up == kNoEdge) keep(out, in + whose * bytes, bytes);
          if (seat.way_to(whose) == up) continue;
          for (done = 0; done < bytes; done += length()) {
            if (up != kNoEdge) {
              SMELT_AWAIT(seat.receive(up, whose == seat.me ? out + done : seat.room, length()));
            }
            if (whose != seat.me) {
              SMELT_AWAIT(
                  seat.send(seat.toward[whose], up == kNoEdge ? in + whose * bytes + done : seat.room, length()));
            }
          }
        }
    }
    at = 0;
    return true;
  }
};

struct ScatterAlongTree {
  static constexpr bool kSynchronises = false;
  Scatter scatter;

  bool step(Seat& seat, const Call& call) { return scatter.step(seat, call.in, call.out, call.bytes, call.root); }
};

struct ExchangeAlongTree {
  using How = Seat;
  static constexpr bool kSynchronises = false;
  int at = 0;
  uint32_t root = 0;
  Scatter scatter;

  bool step(Seat& seat, const Call& call) {
    switch (at) {
      case 0:
        for (; root < seat.n; ++root) {
          SMELT_AWAIT(scatter.step(seat, call.in, call.out + root * call.bytes, call.bytes, root));
        }
    }
    return true;
  }
};

struct GatherCopy {
  static char* at_root(const Call& call) { return call.out; }
  static void own_part(const Seat& seat, const Call& call, char* root) {
    keep(root + seat.me * call.bytes, call.in, call.bytes);
  }
};
struct ScatterCopy {
  static char* at_root(const Call& call) { return const_cast<char*>(call.in); }
  static void own_part(const Seat& seat, const Call& call, const char* root) {
    keep(call.out, root + seat.me * call.bytes, call.bytes);
  }
};

struct ExchangeDirect {
  using How = Seat;
  static constexpr bool kSynchronises = true;
  int at = 0;
  AllNotices meeting;

  bool step(Seat& seat, const Call& call) {
    switch (at) {
      case 0:
        meeting.tell(seat, call);
        SMELT_AWAIT(meeting.step(seat));
        SMELT_AWAIT(are_as_long(seat, call.bytes) || seat.fail(-EMSGSIZE));
        for (uint32_t k = 0; k < seat.n; ++k) {
          const uint32_t i = (seat.me + k) % seat.n;
          std::memcpy(call.out + i * call.bytes, seat.notices[i].in + seat.me * call.bytes, call.bytes);
        }
        meeting.tell_done(seat);
        SMELT_AWAIT(meeting.step(seat));
    }
    return true;
  }
};

}  // namespace

void begin_gather(Seat& seat, const Call& call) {
  if (is_direct(seat, call.bytes))
    begin<RootedDirect<GatherCopy>>(seat, call);
  else
    begin<GatherAlongTree>(seat, call);
}

void begin_scatter(Seat& seat, const Call& call) {
  if (is_direct(seat, call.bytes))
    begin<RootedDirect<ScatterCopy>>(seat, call);
  else
    begin<ScatterAlongTree>(seat, call);
}

void begin_exchange(Seat& seat, const Call& call) {
  if (is_direct_of_all(seat, call.bytes))
    begin<ExchangeDirect>(seat, call);
  else
    begin<ExchangeAlongTree>(seat, call);
}

}  // namespace smelt::context
