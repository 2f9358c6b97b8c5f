// Endpoints whose members are threads of this process, or processes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "children.h"
#include "message/endpoint.h"
#include "shared_pages.h"
#include "transport/segment.h"

namespace smelt::test {

struct Close {
  void operator()(message::Endpoint* endpoint) const { message::Endpoint::close(endpoint); }
};
using End = std::unique_ptr<message::Endpoint, Close>;
inline End open_end(void* memory, const message::Shape& shape, uint16_t me, bool single_copy = true) {
  message::Endpoint* endpoint = nullptr;
  EXPECT_EQ(message::Endpoint::open(memory, shape, me, single_copy, &endpoint), 0);
  return End(endpoint);
}

// Members that are threads of this process.
struct Members {
  explicit Members(const message::Shape& shape, bool single_copy = true) : pages(shape.bytes()) {
    for (uint16_t i = 0; i < shape.members; ++i) ends.push_back(open_end(pages.get(), shape, i, single_copy));
  }
  message::Endpoint& operator[](size_t i) const { return *ends[i]; }
  SharedPages pages;
  std::vector<End> ends;
};

// Members that are processes, over a segment without a name.
struct Processes {
  explicit Processes(const message::Shape& shape, bool single_copy = true)
      : shape(shape), single_copy(single_copy), ready(kPage) {
    EXPECT_EQ(allocate_block(kPage + shape.bytes(), shape.members, uint64_t{1} << 30, &block, &ticket), 0);
    EXPECT_EQ(take_block_pages(block, kPage, shape.bytes()), 0);
    own = open_end(block.address + kPage, shape, 0, single_copy);
    count() = 1;
  }
  ~Processes() {
    for (const pid_t child : children) {  // after a failure
      ::kill(child, SIGKILL);
      test::ended(child);
    }
    own.reset();
    abandon_block(&block);
    release_segments();
  }
  std::atomic<int>& count() { return *static_cast<std::atomic<int>*>(ready.get()); }
  // All are there; false: one has failed before that.
  bool meet() {
    while (count() < shape.members) {
      if (std::any_of(children.begin(), children.end(), has_failed)) return false;
      std::this_thread::yield();
    }
    return true;
  }
  pid_t member(uint16_t me, const std::function<int(message::Endpoint&)>& body) {
    const pid_t child = fork_child();
    if (child != 0) {
      children.push_back(child);
      return child;
    }
    children.clear();
    Block mapped;
    if (attach_block(ticket, kPage + shape.bytes(), &mapped)) _exit(99);
    End end = open_end(mapped.address + kPage, shape, me, single_copy);
    count() += 1;
    meet();
    const int result = body(*end);
    end.reset();
    _exit(std::min(result, 98));
  }
  int ended(pid_t child) {
    const int how = test::ended(child);
    std::erase(children, child);
    return how;
  }
  const message::Shape shape;
  const bool single_copy;
  SharedPages ready;
  Block block;
  BlockTicket ticket;
  End own;
  std::vector<pid_t> children;  // who have not been waited for
};

// A member whose own messages are complete may still owe replies that found no room: progress() sends them, so it makes
// progress until all members are through.
class Through {
 public:
  explicit Through(int members) : left_(members) {}
  void wait(message::Endpoint& end) {
    // acq_rel: whatever a member did is done when the last one goes on
    for (left_.fetch_sub(1, std::memory_order_acq_rel); left_.load(std::memory_order_acquire) > 0;)
      if (!end.progress()) std::this_thread::yield();
  }

 private:
  std::atomic<int> left_;
};

}  // namespace smelt::test
