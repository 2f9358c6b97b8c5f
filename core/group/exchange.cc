// Exchange: blocks of any length between any participants; alltoallv, alltoallw and the neighbourhood collectives of
// MPI, of which each participant knows only what it sends and receives itself.
//
// Everybody sends one stream: its blocks in rotation, those for the next participant first, and before them a table of
// where each participant's data begin. Several blocks from one participant to another are one message, which either
// side cuts by its own list.
//
//   1. everybody puts its stream into its up slot, if it is short enough, or else a heading: how long it is, where its
//      list lies, and, in a group that may take single copy, where each message lies
//   2. everybody looks at everybody's, and so all know how long the longest is, and which method serves them; only now
//      anything is written to where the caller wants it
//   3. short streams are read where they are; so the usual exchange of little is one hop and nothing else
//   4. long ones go over the shelves, in as many pieces as the longest takes: a participant that has no more to send
//      leaves its pieces out, and a piece is looked at by those participants only that know from the table that it has
//      something for them
//      or, where messages are long, everybody reads its blocks straight from the others' memory (single_copy.h): from
//      where the heading says, or, of a message in several parts, the list, which is a system call more
//
// The receiver compares the length sent with the length that it expects, so a wrong call is told and does no harm.
#include <algorithm>
#include <cerrno>

#include "group/block_list.h"
#include "group/describe.h"
#include "group/single_copy.h"
#include "group/started.h"

namespace smelt {
namespace {

struct Lists {
  BlockList out, in;
};

// False: we have not as much for ourselves as we expect.
bool keep_own(const Lists& job, uint32_t me) {
  const size_t sent = job.out.first_from(me), received = job.in.first_from(me);
  const size_t bytes = job.out.bytes_of(me, sent), expected = job.in.bytes_of(me, received);
  BlockCursor from{sent, 0}, to{received, 0};
  job.out.go(&from, std::min(bytes, expected),
             [&](const char* part, size_t length) { job.in.fill(&to, length, part); });
  return bytes == expected;
}

// A participant's announcement of a stream that is too long for its slot.
struct StreamHeading {
  uint64_t bytes;    // without the table
  uint64_t longest;  // message in it
  uint64_t list;     // in its memory
  uint64_t list_count;
};
static_assert(sizeof(StreamHeading) <= kLinePayload);

// These follow the heading in a group that may take single copy, in the order of the stream.
struct MessagePlace {
  uint64_t address;  // 0: in several parts
  uint64_t bytes;
};
static_assert(sizeof(StreamHeading) + (kDirectCopyParticipants - 1) * sizeof(MessagePlace) <= kInlineBytes);

// An entry of the table of a stream that is in its slot.
using ShortEntry = uint16_t;
static_assert(kInlineBytes <= UINT16_MAX);

// Our knowledge of one participant's message to us.
struct Incoming {
  uint64_t place[2];      // where it begins and ends in that stream: two entries of its table
  uint64_t expected;      // bytes
  BlockCursor cursor;     // where it goes
  uint64_t stream_bytes;  // with the table; 0: it is in the slot
};

// It lies in the process's own memory, for the exchange that is under way.
struct Notes {
  uint64_t* table;     // [n] of our stream
  Incoming* incoming;  // [n]
  explicit Notes(const Group& group)
      : table(reinterpret_cast<uint64_t*>(group.exchange)), incoming(reinterpret_cast<Incoming*>(table + group.n)) {}
};
static_assert(sizeof(uint64_t) + sizeof(Incoming) == exchange_bytes(1));

struct ExchangeAny : Resumable {
  char* const room;
  const Lists job;
  StreamHeading mine{};
  BlockCursor sent;                                  // in our list
  uint64_t longest_stream = 0, longest_message = 0;  // of all that are long
  uint64_t k = 0, piece = 0;
  size_t begin = 0, end = 0;  // of the piece in each stream
  uint32_t t = 0;
  Trial trial;

  ExchangeAny(InlineRoom* rooms, const Lists& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        // 1.
        ++group.episode;
        prepare(group);
        if (is_short(group)) {
          SMELT_AWAIT(group.put(how, group.desk().up, room, short_bytes(group)));
        } else {
          SMELT_AWAIT(group.put(how, group.desk().up, room, heading_bytes(group, group.n - 1), kHeadsLong));
        }
        // 2.
        for (t = 0; t < group.n - 1; ++t) {
          SMELT_AWAIT(group.is_here(how, sender(group), up_of(group)));
          hear(group);
        }
        group.finish_together();
        if (longest_stream) {
          SMELT_AWAIT(group.shelves_agreed(how));
          if (is_refused(group)) return true;
        }
        // 3.
        group.lengths_differ |= !keep_own(job, group.me);
        for (t = 0; t < group.n - 1; ++t) {
          if (from(group).stream_bytes) continue;
          SMELT_AWAIT(get_short(how));
        }
        if (!longest_stream) return true;
        // 4.
        if (may_copy_once(group, SMELT_COLLECTIVE_ALLTOALLV, longest_message)) {
          SMELT_AWAIT(group.single_copy_agreed(how));
        }
        trial.begin(group, SMELT_COLLECTIVE_ALLTOALLV, longest_message);
        if (group.single_copy() && is_for_single_copy(group, SMELT_COLLECTIVE_ALLTOALLV, longest_message)) {
          for (t = 0; t < group.n - 1; ++t) {
            if (!from(group).stream_bytes) continue;
            SMELT_AWAIT(how.until(sender(group), [&] { return hear_all(group); }));
            copy(group);
          }
          // Nobody may go on before all have read.
          group.finish_now();
          SMELT_AWAIT(group.all_finished(how, group.episode));
          SMELT_AWAIT(trial.end(how, MethodTrials::Method::kSingleCopy));
          return true;
        }
        for (; k * group.piece_bytes < longest_stream; ++k) {
          piece = group.pieces++;
          begin = k * group.piece_bytes, end = begin + group.piece_bytes;
          if (begin < stream_bytes(group)) {
            SMELT_AWAIT(group.piece_free(how, piece));
            put(group);
          }
          for (t = 0; t < group.n - 1; ++t) {
            if (!has_for_us(group)) continue;
            SMELT_AWAIT(group.filled(how, sender(group), &Desk::filled_up, piece));
            get(group);
          }
          group.consume(piece);
        }
        SMELT_AWAIT(trial.end(how, MethodTrials::Method::kShelf));
    }
    return true;
  }

 private:
  static size_t table_bytes(const Group& group) { return group.n * sizeof(uint64_t); }
  size_t short_bytes(const Group& group) const { return group.n * sizeof(ShortEntry) + mine.bytes; }
  bool is_short(const Group& group) const { return short_bytes(group) <= kInlineBytes; }
  // The bytes of our own stream, if it is long.
  size_t stream_bytes(const Group& group) const { return is_short(group) ? 0 : table_bytes(group) + mine.bytes; }

  // The participant in whose stream we are the t-th.
  uint32_t sender(const Group& group) const { return (group.me + group.n - 1 - t) % group.n; }
  InlineSlot* up_of(const Group& group) const { return group.desks[sender(group)].up; }
  Incoming& from(const Group& group) const { return Notes(group).incoming[sender(group)]; }

  // The table of our stream, and what we expect of everybody. Entry t of the table: where the t-th participant after us
  // begins; after the last, the end.
  void prepare(Group& group) {
    uint64_t* const table = Notes(group).table;
    const size_t after = job.out.first_from(group.me + 1);
    size_t index = sent.index = after < job.out.count ? after : 0;
    for (uint32_t to = 0; to < group.n - 1; ++to) {
      const uint32_t peer = (group.me + 1 + to) % group.n;
      table[to] = mine.bytes;
      if (peer == 0) index = 0;
      const size_t before = mine.bytes;
      for (; index < job.out.count && job.out.blocks[index].peer == peer; ++index)
        mine.bytes += job.out.blocks[index].bytes;
      mine.longest = std::max<uint64_t>(mine.longest, mine.bytes - before);
    }
    table[group.n - 1] = mine.bytes;
    if (is_short(group)) {
      auto* const entries = reinterpret_cast<ShortEntry*>(room);
      for (uint32_t i = 0; i < group.n; ++i) entries[i] = static_cast<ShortEntry>(table[i]);
      job.out.take(&sent, mine.bytes, reinterpret_cast<char*>(entries + group.n));
    } else {
      mine.list = reinterpret_cast<uint64_t>(job.out.blocks), mine.list_count = job.out.count;
      std::memcpy(room, &mine, sizeof mine);
      if (has_places(group)) tell_places(group);
      longest_stream = stream_bytes(group), longest_message = mine.longest;
    }
    index = 0;
    for (uint32_t i = 0; i < group.n; ++i) {
      Incoming& incoming = Notes(group).incoming[i];
      incoming.cursor = {index, 0}, incoming.expected = 0;
      for (; index < job.in.count && job.in.blocks[index].peer == i; ++index)
        incoming.expected += job.in.blocks[index].bytes;
    }
  }

  static bool has_places(const Group& group) { return group.n <= kDirectCopyParticipants; }
  static size_t place_of(uint32_t message) { return sizeof(StreamHeading) + message * sizeof(MessagePlace); }
  // The heading's bytes, with the places of so many messages.
  static size_t heading_bytes(const Group& group, uint32_t messages) {
    return has_places(group) ? place_of(messages) : sizeof(StreamHeading);
  }
  void tell_places(const Group& group) {
    const uint64_t* const table = Notes(group).table;
    BlockCursor cursor = sent;
    for (uint32_t to = 0; to < group.n - 1; ++to) {
      MessagePlace place{0, table[to + 1] - table[to]};
      job.out.go(&cursor, place.bytes, [&](const char* part, size_t length) {
        if (length == place.bytes) place.address = reinterpret_cast<uint64_t>(part);
      });
      std::memcpy(room + place_of(to), &place, sizeof place);
    }
  }
  // Copies the sender's heading, up to our place in it, into `room`, which nothing else needs any more.
  bool hear_all(Group& group) { return group.take_lines(group.slot(up_of(group)), heading_bytes(group, t + 1), room); }
  void hear(Group& group) {
    Incoming& incoming = from(group);
    incoming.stream_bytes = 0;
    if (group.what_is_here(up_of(group)) != kHeadsLong) return;
    StreamHeading theirs;
    std::memcpy(&theirs, group.payload(up_of(group)), sizeof theirs);
    incoming.stream_bytes = table_bytes(group) + theirs.bytes;
    longest_stream = std::max(longest_stream, incoming.stream_bytes);
    longest_message = std::max(longest_message, theirs.longest);
  }

  // So many bytes of the message for us are expected; a difference is noted.
  static size_t expected_of(Group& group, const Incoming& incoming, size_t bytes) {
    group.lengths_differ |= bytes != incoming.expected;
    return std::min<size_t>(bytes, incoming.expected);
  }

  template <typename How>
  bool get_short(How how) {
    Group& group = how.group;
    const auto* const entries = static_cast<const ShortEntry*>(
        group.get(how, sender(group), up_of(group), group.what_is_here(up_of(group)), room));
    if (!entries) return false;
    Incoming& incoming = from(group);
    const size_t bytes = expected_of(group, incoming, size_t{entries[t + 1]} - entries[t]);
    job.in.fill(&incoming.cursor, bytes, reinterpret_cast<const char*>(entries + group.n) + entries[t]);
    return true;
  }

  void put(Group& group) {
    char* to = group.up_piece(group.me, piece);
    const size_t table = table_bytes(group), upto = std::min(end, stream_bytes(group));
    if (begin < table) {
      const size_t length = std::min(upto, table) - begin;
      std::memcpy(to, reinterpret_cast<const char*>(Notes(group).table) + begin, length);
      to += length;
    }
    if (upto > table) job.out.take(&sent, upto - std::max(begin, table), to);
    group.fill(&Desk::filled_up, piece);
  }

  // The place of our two entries in a table.
  size_t entries() const { return t * sizeof(uint64_t); }
  size_t entries_end() const { return entries() + sizeof(Incoming::place); }

  bool has_for_us(const Group& group) const {
    const Incoming& incoming = from(group);
    if (begin >= incoming.stream_bytes) return false;
    if (begin < entries_end()) return end > entries();
    const size_t table = table_bytes(group);
    return begin < table + incoming.place[1] && end > table + incoming.place[0];
  }
  void get(Group& group) {
    Incoming& incoming = from(group);
    const char* const here = group.up_piece(sender(group), piece);
    if (begin < entries_end()) {
      const size_t first = std::max(begin, entries()), last = std::min(end, entries_end());
      std::memcpy(reinterpret_cast<char*>(incoming.place) + (first - entries()), here + (first - begin), last - first);
      if (end < entries_end()) return;
    }
    const size_t place = table_bytes(group) + incoming.place[0];
    const size_t bytes = expected_of(group, incoming, incoming.place[1] - incoming.place[0]);
    const size_t first = std::max(begin, place), last = std::min(end, place + bytes);
    if (first < last) job.in.fill(&incoming.cursor, last - first, here + (first - begin));
  }

  // All that the sender has for us.
  void copy(Group& group) {
    StreamHeading theirs;
    std::memcpy(&theirs, room, sizeof theirs);
    Incoming& incoming = from(group);
    MessagePlace place;
    std::memcpy(&place, room + place_of(t), sizeof place);
    if (place.address)
      fetch(group, place.address, std::min<size_t>(place.bytes, incoming.expected));
    else if (place.bytes > 0)
      copy_by_list(group, theirs);
    (void)expected_of(group, incoming, place.bytes);
  }
  void copy_by_list(Group& group, const StreamHeading& theirs) {
    constexpr size_t kAtATime = kReadBytes / sizeof(smelt_block);
    auto* const blocks = reinterpret_cast<smelt_block*>(group.scratch);
    size_t wanted = from(group).expected;
    for (size_t done = 0; done < theirs.list_count;) {
      const size_t count = std::min<size_t>(kAtATime, theirs.list_count - done);
      const bool read = read_from(group.introduction(sender(group)), blocks, theirs.list + done * sizeof(smelt_block),
                                  count * sizeof(smelt_block));
      note(read, &error);
      if (!read) return;
      for (size_t i = 0; i < count; ++i) {
        if (blocks[i].peer != group.me) continue;
        const size_t bytes = std::min<size_t>(blocks[i].bytes, wanted);
        fetch(group, reinterpret_cast<uint64_t>(blocks[i].base), bytes);
        wanted -= bytes;
      }
      done += count;
    }
  }
  void fetch(Group& group, uint64_t at, size_t bytes) {
    job.in.go(&from(group).cursor, bytes, [&](char* to, size_t length) {
      note(read_from(group.introduction(sender(group)), to, at, length), &error);
      at += length;
    });
  }
};

bool is_list(const Group& group, const BlockList& list) {
  if (!list.blocks && list.count > 0) return false;
  for (size_t i = 0; i < list.count; ++i)
    if (list.blocks[i].peer >= group.n || (i > 0 && list.blocks[i - 1].peer > list.blocks[i].peer)) return false;
  return true;
}

struct ExchangeCall : AnyCall {
  Lists lists;

  int check(const smelt_group* group) const {
    return !group || !is_list(*group, lists.out) || !is_list(*group, lists.in) ? -EINVAL : 0;
  }
  int alone() const { return keep_own(lists, 0) ? 0 : -EMSGSIZE; }
  template <typename Form>
  int run(Form form) const {
    return form.template run<ExchangeAny>(lists);
  }
};

}  // namespace

// Sizes: of the longest of all messages, short where all of a participant's together are.
void exchange_table(const Group& group, Table* table) {
  const uint64_t table_bytes = uint64_t{group.n} * sizeof(ShortEntry);
  const uint64_t upto_inline = table_bytes < kInlineBytes ? (kInlineBytes - table_bytes) / (group.n - 1) : 0;
  const Words words{.how = "everybody reads what is for it of everybody's", .upto_inline = upto_inline};
  add_methods(group, SMELT_COLLECTIVE_ALLTOALLV, words, table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(exchange, (ExchangeCall{{}, {{out, outgoing}, {in, incoming}}}), const smelt_block* out,
                  size_t outgoing, const smelt_block* in, size_t incoming)
