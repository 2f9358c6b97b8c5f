// What the parsers do with damaged input, a minute each: they accept what makes sense, refuse the rest in one line,
// and nothing else. The sanitizer builds run it too, and find what is read or written beside a buffer on the way.
//
//   SMELT_TEST_FUZZ_SECONDS for how long (60)
//   SMELT_TEST_FUZZ_CASES   how many cases instead
//   SMELT_TEST_FUZZ_SEED    where they begin (1): case k of seed s is case 0 of seed s + k, so one can be had alone
//
// A case is a function of its seed. The seed at work is in the file that is named at the start, and stays there if the
// process dies of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "../core/folder.h"
#include "mutator.h"
#include "profile/text/error.h"

namespace smelt::test {

inline uint64_t number_from(const char* name, uint64_t usual) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : usual;
}

// Over what is there: a file that is cut to nothing and written again is flushed by some file systems.
inline void overwrite(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes.size())), 0);
  ::close(file);
}

inline const std::vector<std::string> kJsonWords = {"0",
                                                    "-1",
                                                    "1",
                                                    "2",
                                                    "1025",
                                                    "65535",
                                                    "65536",
                                                    "4294967296",
                                                    "1e9",
                                                    "1e308",
                                                    "1e999",
                                                    "-0.0",
                                                    "null",
                                                    "true",
                                                    "[]",
                                                    "{}",
                                                    "\"\"",
                                                    "[[",
                                                    "]",
                                                    "}",
                                                    ",",
                                                    ":",
                                                    "\"ns\"",
                                                    "\"cycles\"",
                                                    "\\u0000",
                                                    "\xff",
                                                    "\"",
                                                    "1e-320",
                                                    "18446744073709551616",
                                                    "\"cpus\":[0],",
                                                    "\"shape\":\"pu:1\",",
                                                    "\"t_send\":[[0]],"};

class Fuzz : public testing::Test {
 protected:
  void each_case(const std::function<void(Mutator&)>& one) {
    const uint64_t first = number_from("SMELT_TEST_FUZZ_SEED", 1), cases = number_from("SMELT_TEST_FUZZ_CASES", 0);
    const std::chrono::seconds time(number_from("SMELT_TEST_FUZZ_SECONDS", 60));
    const std::string at_work =
        (std::filesystem::temp_directory_path() / ("smelt-fuzz-" + std::to_string(::getpid()) + ".seed")).string();
    std::printf("seeds from %llu on; should this process die, SMELT_TEST_FUZZ_SEED is in %s\n",
                static_cast<unsigned long long>(first), at_work.c_str());
    std::fflush(stdout);
    const auto begin = std::chrono::steady_clock::now();
    uint64_t seed = first;
    for (; !HasFailure() && (cases ? seed < first + cases : std::chrono::steady_clock::now() - begin < time); ++seed) {
      overwrite(at_work, std::to_string(seed) + "\n");
      SCOPED_TRACE("SMELT_TEST_FUZZ_SEED=" + std::to_string(seed));
      Mutator mutator(seed);
      one(mutator);
    }
    std::printf("%llu cases\n", static_cast<unsigned long long>(seed - first));
    if (!HasFailure()) ::unlink(at_work.c_str());
  }

  // Refusals are one line, but for what they quote; the count of both says whether the cases reach anything.
  void parse(const std::function<void()>& parser, const std::string& quoted = "") {
    try {
      parser();
      ++accepted_;
    } catch (const UserError& error) {
      ++refused_;
      const std::string text = error.what();
      EXPECT_FALSE(text.empty());
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), std::count(quoted.begin(), quoted.end(), '\n')) << text;
    }
    // Anything else that is thrown fails the test.
  }

  void expect_both() const {
    std::printf("%llu accepted, %llu refused\n", static_cast<unsigned long long>(accepted_),
                static_cast<unsigned long long>(refused_));
    if (accepted_ + refused_ < 500) return;
    EXPECT_GT(accepted_, 0u);
    EXPECT_GT(refused_, 0u);
  }

  Folder folder_;
  uint64_t accepted_ = 0, refused_ = 0;
};

}  // namespace smelt::test
