// The inbox (inbox.h): beginning empty, and a cell whose sender has died. Sending and reading are inline there.
#include "message/inbox.h"

namespace smelt {

void Inbox::write_empty() const {
  // relaxed, all: every looker has been told of the inbox
  front->tail.store(0, std::memory_order_relaxed);
  front->passed.store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i < size; ++i) {
    claims[i].store(0, std::memory_order_relaxed);
    cells[i].word.store(0, std::memory_order_relaxed);
  }
}

int32_t InboxReader::claimed_by() const {
  // relaxed: a name. Whether its owner lives is another's question.
  const uint64_t word = inbox.claims[head & (inbox.size - 1)].load(std::memory_order_relaxed);
  return inbox::end_of(word) == head + 1 ? inbox::sender_of(word) : -1;
}

void InboxReader::pass_dead(int32_t sender) {
  int32_t finished_by;
  if (!peek(&finished_by) && claimed_by() == sender) pass();
}

}  // namespace smelt
