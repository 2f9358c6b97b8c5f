#include "message/inbox.h"

namespace smelt {

void Inbox::write_empty() const {
  // relaxed, both: every looker has been told of the inbox
  front->tail.store(0, std::memory_order_relaxed);
  for (uint64_t i = 0; i < size; ++i)
    cells[i].word.store(inbox::word_of(i, 0, inbox::kFree), std::memory_order_relaxed);
}

void InboxReader::pass_dead(int32_t claimed_by) {
  int32_t sender, still;
  if (!peek(&sender, &still) && still == claimed_by) pass();
}

}  // namespace smelt
