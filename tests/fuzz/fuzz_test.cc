// Profiles, machine files and command lines, damaged (fuzz.h).
#include "fuzz.h"

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
#include "../core/profile/packed.h"
#include "discover/machine.h"
#include "generate/registry.h"
#include "mutator.h"
#include "pictures/machines/machine_file.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "profile/text/image.h"
#include "profile/text/read.h"
#include "schedule/validate.h"
#include "schedule/winner.h"

// hwloc (2.9) forgets the memory it attached to a level when it refuses the description for what comes later.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhwloc.so\n"; }

namespace smelt::test {
namespace {

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
    Validation verdict;
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
