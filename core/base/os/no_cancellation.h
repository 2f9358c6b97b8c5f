// Opening, reading, writing and closing a file are cancellation points: a thread with a pending pthread_cancel ends
// there. A program that calls none in its parallel regions must not find one in ours, with the team half made.
#pragma once

#include <pthread.h>

namespace smelt::os {

class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_;
};

}  // namespace smelt::os
