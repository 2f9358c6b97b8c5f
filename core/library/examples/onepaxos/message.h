// What replicas send each other. A message is one cache line of a queue, that is one slot; some have a configuration
// behind them, and take as many slots as that needs.
#ifndef SMELT_EXAMPLES_ONEPAXOS_MESSAGE_H
#define SMELT_EXAMPLES_ONEPAXOS_MESSAGE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "replica.h"

namespace onepaxos {

// The leader has at most so many proposals under way. All of them fit into one configuration.
enum : unsigned { kWindow = 32 };

// The leader and the acceptor that a majority agreed on, epoch by epoch. Where the acceptor changes,
// `proposals` are what the old one may have accepted that its leader has not learned: they are decided with the
// configuration, at base, base+1, ... (David et al.: "uncommitted proposed values").
struct Configuration {
  uint64_t base = 0;
  uint64_t silent = 0;  // bit r: r was suspected, and stands at the rim of the tree
  uint32_t epoch = 0;
  uint16_t count = 0;
  uint8_t leader = 0, acceptor = 0;
  Command proposals[kWindow];
};

enum class Kind : uint8_t {
  kHeartbeat,      // epoch, index: my log's length
  kConfiguration,  // the configuration behind it is agreed
  kSubmit,         // a command, to the leader
  kAccept,         // leader to acceptor: a command, for index
  kLearn,          // the command at index is decided
  kWant,           // send me the log from index up to `sequence`, and go on as it grows where that is ~0
  kGone,           // what you want I have no more
  kPrepare,        // the leader of epoch asks everybody what it knows
  kAnswer,       // index: log's length; sequence: the epoch it last led in, plus one; behind it: what it had under way
  kSync,         // leader to the next acceptor: learn all up to index
  kSynced,       // index: learned so far
  kVotePrepare,  // the utility (utility.h): epoch is the instance, index the ballot
  kVotePromise,  // sequence: the ballot of the configuration behind it, 0: none
  kVoteRefused,  // sequence: the ballot that was promised to another
  kVoteAccept,   // the configuration behind it
  kVoteAccepted
};

struct Message {
  Kind kind = Kind::kHeartbeat;
  uint8_t bytes = 0;
  uint16_t client = 0;
  uint32_t epoch = 0;
  uint64_t index = 0, sequence = 0;
  uint8_t data[kCommandBytes] = {};
};
static_assert(sizeof(Message) == 56 && std::is_trivially_copyable_v<Message>);
static_assert(std::is_trivially_copyable_v<Configuration>);

inline Message about(Kind kind, uint32_t epoch, uint64_t index = 0, uint64_t sequence = 0) {
  Message message;
  message.kind = kind;
  message.epoch = epoch;
  message.index = index;
  message.sequence = sequence;
  return message;
}

inline Message with(Kind kind, uint32_t epoch, uint64_t index, const Command& command) {
  Message message = about(kind, epoch, index, command.sequence);
  message.client = command.client;
  message.bytes = command.bytes;
  std::memcpy(message.data, command.data, sizeof command.data);
  return message;
}

inline Command command_of(const Message& message) {
  Command command;
  command.sequence = message.sequence;
  command.client = message.client;
  command.bytes = message.bytes;
  std::memcpy(command.data, message.data, sizeof command.data);
  return command;
}

// As many bytes of a configuration as count.
inline size_t size_of(const Configuration& configuration) {
  return offsetof(Configuration, proposals) + configuration.count * sizeof(Command);
}

}  // namespace onepaxos

#endif
