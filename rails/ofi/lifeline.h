// Is there still a process at the other end of a link of which nothing is heard?
//
// Nobody moves packets but the programs themselves, so one that computes is as silent as one that was killed, and
// libfabric need not tell them apart either: 1.17 was seen to answer "later" for ever to a process that sends to a dead
// one. The peer's kernel knows. It accepts a connection to the port at which the peer's endpoint listens, no matter
// what that process does. It answers for it (TCP's keepalive), and ends it when the process ends.
//
//            connect             accepted
//   nothing ---------> asking -------------> there
//     ^  ^               |                     |
//     |  +---------------+                     |  reset, or no answer: that alone proves nothing, since libfabric at
//     |   refused, no network, no answer:      |  the other end may end a connection of which it hears nothing
//     |   gone                                 |
//     +----------------------------------------+
//
// Nothing is sent or read.
#pragma once

#include <cstdint>

namespace smelt::rail_ofi {

class Lifeline {
 public:
  enum class Word { kUnknown, kThere, kGone };

  // Asks, or looks for the answer; does not wait. `from`, `host`: IPv4 as numbers, ours and the peer's; `now` in ns.
  Word look(uint32_t from, uint32_t host, uint16_t port, int64_t now);
  void close();

 private:
  Word lose(int64_t now);

  int fd_ = -1;                 // the connection; -1: none
  bool there_ = false;          // it is established
  int64_t next_ = 0;            // when it is worth to look again
  int64_t asked_ = 0;           // when the connection was begun
  Word last_ = Word::kUnknown;  // the last answer
};

}  // namespace smelt::rail_ofi
