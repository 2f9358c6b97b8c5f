// What the parsers do with damaged input, a minute each: they accept what makes sense, refuse the rest in one line,
// and nothing else. The sanitizer builds run it too, and find what is read or written beside a buffer on the way.
//
//   SMELT_TEST_FUZZ_SECONDS for how long (60)
//   SMELT_TEST_FUZZ_CASES   how many cases instead
//   SMELT_TEST_FUZZ_SEED    where they begin (1): case k of seed s is case 0 of seed s + k, so one can be had alone
//
// A case is a function of its seed. The seed at work is in the file that is named at the start, and stays there if the
// process dies of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../cli/program.h"
#include "../core/folder.h"
#include "../core/profile/packed.h"
#include "discover/machine.h"
#include "discover/machine_file.h"
#include "generate/registry.h"
#include "mutator.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/image.h"
#include "profile/text/network.h"
#include "profile/text/read.h"
#include "rail/packed.h"
#include "schedule/validate.h"
#include "schedule/winner.h"

// hwloc (2.9) forgets the memory it attached to a level when it refuses the description for what comes later.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc.so\n"; }

namespace smelt::test {
namespace {

uint64_t number_from(const char* name, uint64_t usual) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : usual;
}

// Over what is there: a file that is cut to nothing and written again is flushed by some file systems.
void overwrite(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes.size())), 0);
  ::close(file);
}

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

std::vector<std::string> profiles() {
  std::vector<std::string> out;
  for (const auto& packed : {Packed(1, 0), Packed(3, 2), Packed(3, 1, true), Packed(17, 4, true)})
    out.push_back(packed.bytes);
  for (const char* shape : {"pack:2 numa:1 l3:2 core:2 pu:2", "pu:1"}) {
    const std::vector<std::byte> image = guess_image(machine_from_synthetic(shape)).pack();
    out.emplace_back(reinterpret_cast<const char*>(image.data()), image.size());
  }
  return out;
}

// Everything that a program does with a profile it believes.
void use(const Profile& profile) {
  EXPECT_TRUE(costs_are_sane(profile.costs));
  const ProfileImage image = image_from_profile(profile);
  const ProfileImage again = profile_from_json(profile_to_json(image), "again");
  EXPECT_EQ(again.hop, image.hop);
  EXPECT_EQ(again.winner_words.size(), image.winner_words.size());
  for (const Winner& winner : image.winners) {
    std::vector<uint16_t> members(image.winner_words.begin() + winner.first_word,
                                  image.winner_words.begin() + winner.first_word + winner.participants);
    MappedArena arena(generation_bytes(winner.participants));
    StoredWinner stored;
    Verdict verdict;
    if (stored_winner(profile, static_cast<Operation>(winner.operation), -1, members, arena, &stored) == 0) {
      EXPECT_EQ(validate(stored.schedule, arena, &verdict), 0);
    }
  }
}

TEST_F(Fuzz, PackedProfiles) {
  const std::vector<std::string> corpus = profiles();
  const std::string path = folder_.path("case.profile");
  each_case([&](Mutator& mutator) {
    std::string bytes = mutator.any(corpus);
    if (mutator.one_in(3)) {
      bytes = mutator.damage(bytes, mutator.any(corpus));
    } else {  // one field, or two: what only the checks behind the checksum can find
      for (uint64_t fields = 1 + mutator.below(2); fields > 0; --fields) {
        const uint32_t words[] = {
            0,          1,          2,          3,          64,
            1024,       1025,       0x7fffffff, 0x80000000, 0xffffffff,
            0x7f800000, 0x7fc00000, 0xbf800000, 0x4e6e6b28, static_cast<uint32_t>(mutator.below(1u << 31))};
        const uint32_t word = words[mutator.below(std::size(words))];
        const size_t at =
            (mutator.one_in(2) ? mutator.below(sizeof(PackedHeader)) : mutator.below(bytes.size() - 4)) & ~size_t{3};
        bytes.replace(at, 4, reinterpret_cast<const char*>(&word), 4);
      }
    }
    if (bytes.size() >= sizeof(PackedHeader) && !mutator.one_in(4)) {
      std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
      bytes.resize(bytes.size() / 8 * 8);
      seal_packed(aligned.data(), bytes.size());
      bytes.assign(reinterpret_cast<const char*>(aligned.data()), bytes.size());
    }
    overwrite(path, bytes);
    Profile profile;
    Refusal why;
    const int error = load_profile_file(path.c_str(), 0, &profile, &why);
    if (error == 0) {
      ++accepted_;
      use(profile);
    } else {
      ++refused_;
      EXPECT_STRNE(why.text, "");
      EXPECT_EQ(std::string(why.text).find('\n'), std::string::npos) << why.text;
    }
    unload_profile(&profile);
    parse([&] { read_machine_file(path); });
  });
  expect_both();
}

const std::vector<std::string> kJsonWords = {"0",
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

std::vector<std::string> machine_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(from_environment("SMELT_TEST_FUZZ_CORPUS")))
    if (entry.path().extension() == ".json") out.push_back(read_file(entry.path().string()));
  std::sort(out.begin(), out.end());
  for (const std::string& packed : profiles()) {
    Folder folder;
    out.push_back(profile_to_json(read_packed_profile(folder.write("p.profile", packed))));
  }
  return out;
}

TEST_F(Fuzz, JsonMachineFiles) {
  const std::vector<std::string> corpus = machine_files();
  ASSERT_GE(corpus.size(), 9u) << "the corpus is missing";
  const std::string path = folder_.path("case.json");
  each_case([&](Mutator& mutator) {
    overwrite(path, mutator.damage_text(mutator.any(corpus), mutator.any(corpus), kJsonWords));
    parse([&] {
      const MachineFile file = read_machine_file(path);
      EXPECT_TRUE(costs_are_sane(file.overlap));
      EXPECT_TRUE(costs_are_sane(file.paper));
      EXPECT_EQ(file.cpus.size(), file.overlap.n);
      EXPECT_EQ(file.package.size(), file.overlap.n);
      EXPECT_EQ(file.core.size(), file.overlap.n);
    });
  });
  expect_both();
}

// Everything that a program does with a network profile it believes.
void use_rails(Mutator& mutator, const Rail* rails, uint32_t count, const RailCurve& copy) {
  RailCurve curves[kMaxRails];
  RailNow now[kMaxRails];
  for (uint32_t r = 0; r < count; ++r) {
    limits_of(rails[r], copy);
    curves[r] = transfer_curve(rails[r]);
    ASSERT_LE(curves[r].count, kRailSizes);
    EXPECT_TRUE(std::is_sorted(curves[r].us, curves[r].us + curves[r].count));
    now[r] = {&curves[r], static_cast<double>(mutator.below(3) * 1000), mutator.one_in(3) ? 2.5 : 1,
              mutator.one_in(3) ? static_cast<double>(1 + mutator.below(1 << 20)) : HUGE_VAL};
    const uint64_t packets[] = {mutator.below(16000), mutator.below(100), 0, mutator.below(5000)};
    EXPECT_GE(aggregate_packets(rails[r], copy, packets, 4), 1u);
    EXPECT_TRUE(std::isfinite(rail_bandwidth(curves[r])));
  }
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{20'000}, mutator.below(1 << 20) + 1, uint64_t{1} << 40}) {
    RailSplit split;
    if (choose_split(now, count, bytes, &split) != 0) continue;
    uint64_t sum = 0;
    for (const uint64_t part : split.bytes) sum += part;
    EXPECT_EQ(sum, bytes);
    EXPECT_TRUE(split.finish_us > 0 && std::isfinite(split.finish_us)) << split.finish_us;
  }
}

TEST_F(Fuzz, JsonNetworkProfiles) {
  std::vector<std::string> corpus = {read_file(from_environment("SMELT_TEST_NETWORK"))};
  ASSERT_FALSE(corpus[0].empty());
  NetworkProfile one = network_from_json(corpus[0], "the corpus");
  one.rails.resize(1);
  for (RailCurve& curve : one.rails[0].rail.method) curve.count = 3;
  corpus.push_back(network_to_json(one));
  each_case([&](Mutator& mutator) {
    const std::string text = mutator.damage_text(mutator.any(corpus), mutator.any(corpus), kJsonWords);
    parse([&] {
      const NetworkProfile profile = network_from_json(text, "case.json");
      std::vector<Rail> rails;
      for (const NetworkRail& rail : profile.rails) rails.push_back(rail.rail);
      use_rails(mutator, rails.data(), static_cast<uint32_t>(rails.size()), profile.copy);
      const std::string again = network_to_json(profile);
      EXPECT_EQ(network_to_json(network_from_json(again, "again")), again);
      const PackedNetwork packed = packed_network(profile);
      EXPECT_EQ(network_fault(&packed, sizeof packed), nullptr);
    });
  });
  expect_both();
}

TEST_F(Fuzz, PackedNetworkProfiles) {
  const PackedNetwork good =
      packed_network(network_from_json(read_file(from_environment("SMELT_TEST_NETWORK")), "the corpus"));
  const std::string whole(reinterpret_cast<const char*>(&good), sizeof good);
  each_case([&](Mutator& mutator) {
    std::string bytes = whole;
    if (mutator.one_in(4)) {
      bytes = mutator.damage(bytes, whole);
    } else {
      const uint64_t words[] = {0,
                                1,
                                26,
                                uint64_t{1} << 24,
                                UINT64_MAX,
                                0x7ff0000000000000,
                                0x7ff8000000000000,
                                0xbff0000000000000,
                                0x41cdcd6500000000,
                                0x0000000000000001,
                                mutator.below(UINT64_MAX)};
      for (uint64_t fields = 1 + mutator.below(3); fields > 0; --fields) {
        const size_t used = offsetof(PackedNetwork, rail) + 2 * sizeof(PackedRail);
        const size_t at = mutator.below(mutator.one_in(2) ? 96 : used - 8) & ~size_t{3};
        bytes.replace(at, 8, reinterpret_cast<const char*>(&words[mutator.below(std::size(words))]), 8);
      }
    }
    PackedNetwork network;
    const auto fault_of = [&] {  // the checks read it where a program would: in memory of its own, of its size
      std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
      return network_fault(aligned.data(), bytes.size());
    };
    if (bytes.size() == sizeof network && !mutator.one_in(4)) {
      std::memcpy(static_cast<void*>(&network), bytes.data(), sizeof network);
      const uint32_t rails = network.rails;
      seal_network(&network);
      EXPECT_EQ(network.rails, rails);
      bytes.assign(reinterpret_cast<const char*>(&network), sizeof network);
    }
    const char* fault = fault_of();
    if (fault) {
      ++refused_;
      EXPECT_EQ(std::string(fault).find('\n'), std::string::npos) << fault;
      return;
    }
    ++accepted_;
    std::memcpy(static_cast<void*>(&network), bytes.data(), sizeof network);
    std::vector<Rail> rails;
    for (uint32_t r = 0; r < network.rails; ++r) rails.push_back(network.rail[r].rail);
    use_rails(mutator, rails.data(), network.rails, network.copy);
  });
  expect_both();
}

// What lstopo writes of a machine of that shape.
std::string xml_of(const char* shape) {
  hwloc_topology_t topology = nullptr;
  char* text = nullptr;
  int bytes = 0;
  std::string out;
  if (hwloc_topology_init(&topology) == 0 && hwloc_topology_set_synthetic(topology, shape) == 0 &&
      hwloc_topology_load(topology) == 0 && hwloc_topology_export_xmlbuffer(topology, &text, &bytes, 0) == 0) {
    out.assign(text, static_cast<size_t>(bytes) - 1);
    hwloc_free_xmlbuffer(topology, text);
  }
  hwloc_topology_destroy(topology);
  return out;
}

// Between the file and ours stand hwloc's parser and what it makes of trees that no machine has.
TEST_F(Fuzz, HwlocXml) {
  std::vector<std::string> corpus;
  for (const char* shape : {"pack:2 numa:1 l3:2 core:2 pu:2", "pu:1", "pack:1 [numa] [numa] core:4 pu:1"})
    corpus.push_back(xml_of(shape));
  for (const std::string& text : corpus) ASSERT_GT(text.size(), 500u);
  const std::vector<std::string> words = {"0",
                                          "-1",
                                          "4294967295",
                                          "18446744073709551615",
                                          "0x0",
                                          "0xf...f",
                                          "0xffffffff,0x0",
                                          "\"",
                                          "/>",
                                          "</object>",
                                          "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\">",
                                          "<object type=\"NUMANode\" os_index=\"7\">",
                                          "<info name=\"CPUModel\" value=\"&lt;\"/>",
                                          "type=\"Group\"",
                                          "type=\"Machine\"",
                                          "cpuset=\"\"",
                                          "os_index=\"5\""};
  const std::string path = folder_.path("case.xml");
  each_case([&](Mutator& mutator) {
    overwrite(path, mutator.damage_text(mutator.any(corpus), mutator.any(corpus), words));
    parse([&] {
      const MachineFile file = read_machine_file(path);
      EXPECT_GE(file.cpus.size(), 1u);
      EXPECT_LE(file.cpus.size(), kMaxProfileCpus);
      EXPECT_TRUE(costs_are_sane(file.overlap));
      EXPECT_TRUE(costs_are_sane(file.paper));
    });
  });
  expect_both();
}

// hwloc's parser stands behind ours here: what the check of sizes lets through it has to survive.
TEST_F(Fuzz, SyntheticMachines) {
  const std::vector<std::string> corpus = {"pack:2 numa:1 l3:4 core:8 pu:2",
                                           "2 2 2 2",
                                           "pack:2 [numa(memory=1GB)] core:4 pu:1",
                                           "(memory=64GB) group:2 pack:1 die:2 l2:3 l1d:1 core:1 pu:2(indexes=2*6:1*2)",
                                           "0x4 010 pu:2",
                                           "pack:1(size=2) l3:1(size=1MB) core:2 pu:2(indexes=0,2,1,3)"};
  const std::vector<std::string> words = {"0",      "1",    "2",        "3",          "-1",
                                          "16",     "1024", "1025",     "4294967296", "18446744073709551616",
                                          "0x7",    "077",  " ",        ":",          "[numa]",
                                          "(",      ")",    "indexes=", "pu:2",       "core:2",
                                          "numa:2", "l3:3", "group:2",  "memory=1TB"};
  each_case([&](Mutator& mutator) {
    const std::string description = mutator.damage_text(mutator.any(corpus), mutator.any(corpus), words);
    if (description.find('\0') != description.npos) return;
    parse(
        [&] {
          const Machine machine = machine_from_synthetic(description);
          EXPECT_GE(machine.pus.size(), 1u);
          EXPECT_LE(machine.pus.size(), kMaxProfileCpus);
        },
        description);
  });
  expect_both();
}

// The corpus: a command line per line, words separated by tabs. Words are exchanged, dropped, doubled and damaged.
TEST_F(Fuzz, CommandLines) {
  if (from_environment("SMELT").empty()) GTEST_SKIP() << "the program is not built here";
  std::vector<std::vector<std::string>> corpus;
  std::vector<std::string> words;
  std::istringstream lines(read_file(from_environment("SMELT_TEST_FUZZ_CORPUS") + "/command_lines.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> one;
    std::istringstream parts(line);
    for (std::string word; std::getline(parts, word, '\t');) one.push_back(word);
    words.insert(words.end(), one.begin(), one.end());
    corpus.push_back(one);
  }
  ASSERT_GE(corpus.size(), 20u) << "the corpus is missing";
  const std::string matrix = read_file(from_environment("SMELT_TEST_FUZZ_CORPUS") + "/matrix.json");
  each_case([&](Mutator& mutator) {
    std::vector<std::string> line = mutator.any(corpus);
    for (uint64_t left = mutator.below(3); left > 0; --left) {
      const size_t at = mutator.below(line.size());
      switch (mutator.below(5)) {
        case 0: line.insert(line.begin() + static_cast<std::ptrdiff_t>(at), mutator.any(words)); break;
        case 1:
          if (!line.empty()) line[at] = mutator.any(words);
          break;
        case 2:
          if (!line.empty()) line.erase(line.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 3:
          if (!line.empty()) line.insert(line.begin() + static_cast<std::ptrdiff_t>(at), line[at]);
          break;
        case 4:
          if (!line.empty()) line[at] = mutator.damage_text(line[at], mutator.any(words), words);
          break;
      }
    }
    std::string shown;
    for (std::string& word : line) {
      word = word.substr(0, word.find('\0'));  // no command line can have one
      shown += "'" + word + "' ";
    }
    // What measures, times or runs programs is not for a loop of thousands.
    const auto has = [&](const char* word) { return std::find(line.begin(), line.end(), word) != line.end(); };
    if (has("run") || has("--live") || has("--subsets") || (has("calibrate") && !has("--simulate")) ||
        has("--all-pairs"))
      return;
    Call call{line, {}};
    call.prepare = [&] {
      const rlimit time{60, 60}, size{64u << 20, 64u << 20};
      if (::chdir(folder_.path().c_str()) != 0 || ::setrlimit(RLIMIT_CPU, &time) != 0 ||
          ::setrlimit(RLIMIT_FSIZE, &size) != 0)
        return false;
      std::ofstream("matrix.json") << matrix;
      return true;
    };
    const Outcome outcome = run(call);
    EXPECT_TRUE(outcome.code == 0 || outcome.code == 1 || outcome.code == 2) << shown << outcome.code << "\n"
                                                                             << outcome.err;
    outcome.code == 0 ? ++accepted_ : ++refused_;
    if (outcome.code == 2) {
      EXPECT_TRUE(outcome.err.starts_with("smelt: ")) << shown << outcome.err;
      EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << shown << outcome.err;
      EXPECT_EQ(outcome.out, "") << shown;
    }
  });
  std::printf("%llu exit codes 0, %llu others\n", static_cast<unsigned long long>(accepted_),
              static_cast<unsigned long long>(refused_));
}

}  // namespace
}  // namespace smelt::test
