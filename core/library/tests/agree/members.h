// What the tests of protocols between members have in common: trees, processes that are killed, patience.
#pragma once

#include <smelt/model.h>
#include <smelt/tree.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::test {

constexpr int64_t kForEver = -1, kShort = 50'000'000, kPatience = 60'000'000'000;  // ns

struct FreeTree {
  void operator()(smelt_tree* tree) const { smelt_tree_free(tree); }
};
using TreePointer = std::unique_ptr<smelt_tree, FreeTree>;

// A tree of this pattern on a machine whose CPUs are all alike.
inline TreePointer tree_of(const std::string& pattern, unsigned n, int root = -1) {
  std::vector<double> costs(size_t{n} * n, 100);
  for (unsigned i = 0; i < n; ++i) costs[i * n + i] = 0;
  smelt_model* model = nullptr;
  EXPECT_EQ(smelt_model_create(n, costs.data(), costs.data(), nullptr, nullptr, &model), 0);
  smelt_tree* tree = nullptr;
  EXPECT_EQ(smelt_tree_create(model, pattern.c_str(), n, nullptr, root, &tree), 0) << pattern;
  smelt_model_free(model);
  return TreePointer(tree);
}

// How another process ended: its exit status, or 1000 + the signal.
inline int ended(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
inline pid_t in_another_process(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(120);
  _exit(body());
}

// Memory that this process's children share with it.
template <typename T>
class Shared {
 public:
  explicit Shared(size_t count = 1) : bytes_(count * sizeof(T)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    all_ = static_cast<T*>(memory);
  }
  ~Shared() { munmap(static_cast<void*>(all_), bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator[](size_t i) const { return all_[i]; }

 private:
  size_t bytes_;
  T* all_;
};

// Now and then a thread is late.
class Delays {
 public:
  explicit Delays(unsigned seed) : random_(seed) {}
  void maybe() {
    const unsigned what = random_() % 64;
    if (what == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
    if (what < 4) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

}  // namespace smelt::test
