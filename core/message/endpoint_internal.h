// The queues inside one endpoint.
#pragma once

#include "message/data.h"
#include "message/endpoint.h"

namespace smelt::message {

struct Endpoint::Queue {
  alignas(64) std::atomic<uintptr_t> lock;
  std::atomic<uint32_t> sends_wait;  // a send that begins now goes behind them
  std::atomic<uint32_t> anything;    // waits here
  Inbox inbox;                       // the member's
  Request *first, *last;             // sends that are not announced yet
  Message *first_reply, *last_reply;
  Request *first_granted, *last_granted;  // sends that go in pieces
};

}  // namespace smelt::message
