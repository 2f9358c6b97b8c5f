#include "kvstore/client.h"

#include <algorithm>
#include <cstring>

namespace kvstore {

// The ends of its queues wait for a moment only (store.cc): then there is time to look who was excluded.
bool Client::ask_here(uint64_t number, Clock::time_point until) {
  smelt_queue* const queue = links_.replicas[replica()].get();
  if (smelt_queue_send(queue, message_.data(), message_.size()) != 0) return false;
  answer_.resize(sizeof(Answer) + kMaxValueBytes);
  for (;;) {
    size_t bytes = 0;
    if (smelt_queue_receive(queue, answer_.data(), answer_.size(), &bytes) == 0) {
      Answer answer;
      std::memcpy(&answer, answer_.data(), sizeof answer);
      if (answer.number == number) return true;  // others are late
    } else if (Clock::now() > until || links_.members.is_excluded(replica())) {
      return false;
    }
  }
}

bool Client::ask(uint64_t number) {
  const Clock::time_point end = Clock::now() + links_.limit;
  for (;;) {
    const Clock::time_point now = Clock::now();
    if (ask_here(number, std::min(end, now + links_.patience))) return true;
    if (Clock::now() > end) return false;
    ++moves_;
    at_ = (at_ + 1) % links_.order.size();
  }
}

Reply Client::get(uint64_t key, std::vector<uint8_t>* value) {
  const Request request{key, ++number_, 0, 0, Operation::kGet};
  message_.resize(sizeof request);
  std::memcpy(message_.data(), &request, sizeof request);
  if (!ask(request.number)) return Reply::kNone;
  Answer answer;
  std::memcpy(&answer, answer_.data(), sizeof answer);
  value->assign(answer_.begin() + sizeof answer, answer_.begin() + sizeof answer + answer.bytes);
  return answer.found != 0 ? Reply::kYes : Reply::kAbsent;
}

Reply Client::set(uint64_t key, Bytes value) {
  const Request request{key, ++number_, sequence_, static_cast<uint32_t>(value.size()), Operation::kSet};
  sequence_ += Fragment::count(value.size());
  message_.resize(sizeof request + value.size());
  std::memcpy(message_.data(), &request, sizeof request);
  std::ranges::copy(value, message_.begin() + sizeof request);
  return ask(request.number) ? Reply::kYes : Reply::kNone;
}

}  // namespace kvstore
