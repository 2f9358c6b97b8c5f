// The JSON form of a machine profile: for people, plots and other programs. One line per CPU, matrix row and measured
// struct. fields.def says what it holds, rows.cc how a struct is written; here they are bound together.
#include <algorithm>
#include <unordered_map>

#include "profile/check.h"
#include "profile/text/image.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

constexpr const char* kMachineFormat = "smelt machine profile";

// "name": [ a line per row ]
std::string list_member(const char* name, const std::vector<std::string>& rows) {
  return rows.empty() ? fmt::format("\"{}\": []", name)
                      : fmt::format("\"{}\": [\n    {}\n  ]", name, fmt::join(rows, ",\n    "));
}

std::string object_of(const std::vector<std::string>& members) {
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

std::vector<std::string> cpu_rows(const ProfileImage& image) {
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < image.n(); ++i) {
    std::vector<std::string> members;
#define CPU_ID(type, name, json) members.push_back(fmt::format("\"{}\": {}", json, image.name[i]));
#define COSTS_ID(type, name, json) CPU_ID(type, name, json)
#include "profile/fields.def"
    rows.push_back(object_of(members));
  }
  return rows;
}

std::vector<std::string> matrix_rows(const std::vector<float>& values, uint32_t n) {
  std::vector<std::string> rows;
  for (size_t i = 0; i < n; ++i)
    rows.push_back(fmt::format("[{}]", fmt::join(values.data() + i * n, values.data() + (i + 1) * n, ", ")));
  return rows;
}

// Participants go by the kernel's numbers of their CPUs; only the programs stay numbers.
void add_words(const ProfileImage& image, const Winner& winner, std::vector<std::string>& members) {
  const auto words = image.winner_words.begin() + winner.first_word;
  members.push_back(fmt::format("\"cpus\": [{}]", fmt::join(image.cpus_of(winner), ", ")));
  members.push_back(
      fmt::format("\"program\": [{}]", fmt::join(words + winner.participants, words + winner.words, ", ")));
}

template <typename Row>
std::vector<std::string> rows_of(const ProfileImage& image, const std::vector<Row>& structs) {
  std::vector<std::string> rows;
  for (const Row& one : structs) {
    std::vector<std::string> members = json_members(kDescription<Row>, &one);
    if constexpr (std::is_same_v<Row, Winner>) add_words(image, one, members);
    rows.push_back(object_of(members));
  }
  return rows;
}

class Reader {
 public:
  Reader(const JsonChecks& checks, ProfileImage& image) : checks_(checks), image_(image) {
    for (uint32_t i = 0; i < image.n(); ++i) index_of_[image.os_cpu[i]] = i;
  }

  template <typename Row>
  void read(const Json& object, Row& into) const {
    read_members(object, checks_, kDescription<Row>, image_.n(), &into);
  }

  template <typename Row>
  void add(const Json& object, std::vector<Row>& into) const {
    read(object, into.emplace_back());
  }

  void add(const Json& object, std::vector<Winner>&) const {
    Winner winner{};
    read(object, winner);
    std::vector<uint32_t> words;
    for (const Json& cpu : checks_.list(object, "cpus", kMaxParticipants, "CPUs")) {
      const auto found = index_of_.find(checks_.whole(cpu, "a CPU of a winner", UINT32_MAX));
      if (found == index_of_.end()) checks_.fail("a winner has CPU {}, which is not one of \"cpus\"", cpu.dump());
      words.push_back(found->second);
    }
    winner.participants = static_cast<uint32_t>(words.size());
    const auto room = static_cast<uint32_t>(
        kMaxWinnerWords - std::min<size_t>(kMaxWinnerWords, image_.winner_words.size() + words.size()));
    for (const Json& word : checks_.list(object, "program", room, "numbers (all winners' together)"))
      words.push_back(checks_.whole(word, "a number of a winner's program", UINT32_MAX));
    image_.add_winner(winner, words);
  }

 private:
  const JsonChecks& checks_;
  ProfileImage& image_;
  std::unordered_map<uint32_t, uint32_t> index_of_;
};

}  // namespace

std::string profile_to_json(const ProfileImage& image) {
  std::vector<std::string> members = {fmt::format("\"format\": \"{}\"", kMachineFormat),
                                      fmt::format("\"version\": {}", kProfileVersion)};
  for (std::string& member : json_members(kDescription<PackedHeader>, &image.header))
    members.push_back(std::move(member));
  members.push_back(list_member("cpus", cpu_rows(image)));
  members.emplace_back("\"matrices\": \"row = sender, column = receiver, both as in cpus\"");
#define MATRIX(name) members.push_back(list_member(#name, matrix_rows(image.name, image.n())));
#define ROWS(type, name, count, most, json, what) members.push_back(list_member(json, rows_of(image, image.name)));
#define SINGLE(type, name) \
  members.push_back(fmt::format("\"{}\": {}", #name, object_of(json_members(kDescription<type>, &image.name))));
#include "profile/fields.def"
  return fmt::format("{{\n  {}\n}}\n", fmt::join(members, ",\n  "));
}

ProfileImage profile_from_json(std::string_view text, const std::string& name) {
  const JsonChecks checks(name);
  const Json root = checks.parse(text);
  if (checks.text(root, "format") != kMachineFormat) checks.fail("\"format\" is not \"{}\"", kMachineFormat);
  const uint32_t version = checks.whole(checks.member(root, "version"), "\"version\"", UINT32_MAX);
  if (version != kProfileVersion)
    checks.fail("format version {}, this Smelt reads {}; export it anew", version, kProfileVersion);

  const Json& cpus = checks.member(root, "cpus");
  if (!cpus.is_array() || cpus.empty() || cpus.size() > kMaxProfileCpus)
    checks.fail("\"cpus\" is not a list of 1 to {} CPUs", kMaxProfileCpus);
  const auto n = static_cast<uint32_t>(cpus.size());
  ProfileImage image = make_image(n);
  for (uint32_t i = 0; i < n; ++i) {
#define CPU_ID(type, name, json)     \
  image.name[i] = static_cast<type>( \
      checks.whole(checks.member(cpus[i], json), fmt::format("\"{}\" of CPU {}", json, i), static_cast<type>(~0u)));
#define COSTS_ID(type, name, json) CPU_ID(type, name, json)
#include "profile/fields.def"
    if (i > 0 && image.os_cpu[i] <= image.os_cpu[i - 1]) checks.fail("the \"os\" numbers of \"cpus\" do not ascend");
  }
  const Reader reader(checks, image);
  reader.read(root, image.header);
#define MATRIX(name) image.name = checks.matrix(root, #name, n);
#define ROWS(type, name, count, most, json, what) \
  for (const Json& row : checks.list(root, json, most, what)) reader.add(row, image.name);
#define SINGLE(type, name) reader.read(checks.member(root, #name), image.name);
#include "profile/fields.def"

  // All other faults for which the packed form would be refused.
  const std::vector<std::byte> packed = image.pack();
  Profile profile;
  attach_image(packed.data(), &profile);
  if (const char* nonsense = nonsense_in(profile)) checks.fail("not believable: {}", nonsense);
  return image;
}

}  // namespace smelt
