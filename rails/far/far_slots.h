// The numbers by which requests to and from other machines are named in messages.
//
// A name is a slot and its life: the slot's next request is of its next life, so an old name, or one that nobody gave,
// finds nothing. Words from elsewhere are looked up here before anything is done with them, and never believed to be an
// address. Only the thread that has the rails comes here, so there is no lock.
#pragma once

#include <cstdint>

namespace smelt::message {

struct Request;

class FarSlots {
 public:
  void close();

  bool has_free();  // false: no memory
  // Names a request to or from a peer, after has_free() has said that there is room. No name is 0.
  uint64_t name(Request* request, uint32_t peer);
  void free(uint64_t name);
  // The peer's request of that name; nullptr: there is none.
  Request* find(uint64_t name, uint32_t peer, bool is_send) const;
  bool is_empty() const { return taken_ == 0; }

  // Calls end(request) for all of a peer's, which may free them.
  template <typename End>
  void for_each_of(uint32_t peer, const End& end) const {
    for (uint32_t i = 0; i < count_; ++i)
      if (slots_[i].request && slots_[i].peer == peer) end(slots_[i].request);
  }
  // Their owners may have gone: none is found any more.
  void forget_all() {
    for (uint32_t i = 0; i < count_; ++i) slots_[i].request = nullptr;
  }

 private:
  struct Slot {
    Request* request;                // nullptr: free
    uint32_t peer, life, next_free;  // + 1
  };

  Slot* slots_ = nullptr;  // mapped; twice as many each time that they do not suffice
  uint32_t count_ = 0;
  uint32_t free_ = 0;   // the first free one, + 1
  uint32_t taken_ = 0;  // by requests
};

}  // namespace smelt::message
