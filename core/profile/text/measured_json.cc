// A list per part, a line per row: classes, fans, curves and winners are read by people, so distances, marks and
// operations go by their names and participants by the kernel's numbers of their CPUs. Only the programs of a winner
// stay numbers.
//
// Floats are printed as the shortest decimal that reads back as the same float, so that both forms carry the same
// numbers.
#include "profile/text/measured_json.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "model/distance.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

std::array<const char*, kDistances> distance_names() {
  std::array<const char*, kDistances> names;
  for (uint32_t d = 0; d < kDistances; ++d) names[d] = distance_name(static_cast<Distance>(d));
  return names;
}

// "name": [ a line per row ]
template <typename Row, typename Line>
void append_list(std::string& out, const char* name, const std::vector<Row>& rows, const char* end, Line line) {
  out += fmt::format("  \"{}\": [", name);
  for (const Row& row : rows) out += fmt::format("{}    {}", &row == &rows.front() ? "\n" : ",\n", line(row));
  out += fmt::format("{}]{}\n", rows.empty() ? "" : "\n  ", end);
}

template <size_t size>
std::string numbers(const float (&values)[size]) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string line_of(const CurveSet& set) {
  std::string out = fmt::format("{{\"participants\": {}, \"sizes\": [{}], \"ns\": {{\n", set.participants,
                                fmt::join(kSampledBytes, ", "));
  for (uint32_t m = 0; m < kCurveMethods; ++m)
    out +=
        fmt::format("      \"{}\": {}{}\n", kCurveMethodNames[m], numbers(set.ns[m]), m + 1 < kCurveMethods ? "," : "");
  return out + "    }}";
}

std::string line_of(const ClassFigures& c) {
  std::vector<std::string> marks;
  for (uint32_t m = 0; m < kClassMarks; ++m)
    if (c.marks >> m & 1) marks.push_back(fmt::format("\"{}\"", kClassMarkNames[m]));
  return fmt::format(
      R"({{"distance": "{}", "part": {}, "pairs": {}, "samples": {}, "marks": [{}], "hop": {}, "send_busy": {}, )"
      R"("recv_busy": {}, "ready_read": {}, "spread": {}}})",
      distance_name(static_cast<Distance>(c.distance)), c.part, c.pairs, c.samples, fmt::join(marks, ", "), c.hop,
      c.send_busy, c.recv_busy, c.ready_read, c.spread);
}

std::string line_of(const FanCurves& fan) {
  return fmt::format(R"({{"distance": "{}", "children": [{}], "gather": {}, "scatter": {}}})",
                     distance_name(static_cast<Distance>(fan.distance)), fmt::join(kFanChildren, ", "),
                     numbers(fan.gather), numbers(fan.scatter));
}

std::string line_of(const DistanceCurves& curves) {
  return fmt::format(R"({{"distance": "{}", "sizes": [{}], "copy": {}, "single_copy": {}, "reduce": {}}})",
                     distance_name(static_cast<Distance>(curves.distance)), fmt::join(kSampledBytes, ", "),
                     numbers(curves.copy), numbers(curves.single_copy), numbers(curves.reduce));
}

std::string line_of(const Winner& winner, const ProfileImage& image) {
  const auto words = image.winner_words.begin() + winner.first_word;
  return fmt::format(
      R"({{"operation": "{}", "pattern": {}, "predicted": {}, "measured": {}, "spread": {}, "hop": {}, "cpus": [{}], )"
      R"("program": [{}]}})",
      kWinnerOperationNames[winner.operation],
      Json(winner.pattern).dump(-1, ' ', false, Json::error_handler_t::replace), winner.predicted, winner.measured,
      winner.spread, winner.hop, fmt::join(image.cpus_of(winner), ", "),
      fmt::join(words + winner.participants, words + winner.words, ", "));
}

// --- reading ---

class Reader {
 public:
  Reader(const JsonChecks& checks, ProfileImage& image) : checks_(checks), image_(image) {
    for (uint32_t i = 0; i < image.n(); ++i) index_of_[image.os_cpu[i]] = i;
  }

  CurveSet curve_set(const Json& row) const {
    CurveSet set{};
    set.participants = whole(row, "participants", kMaxParticipants);
    if (set.participants < 2) checks_.fail("\"participants\" is {}, not 2 to {}", set.participants, kMaxParticipants);
    expect(row, "sizes", kSampledBytes);
    const Json& ns = checks_.member(row, "ns");
    for (uint32_t m = 0; m < kCurveMethods; ++m) costs(ns, kCurveMethodNames[m], set.ns[m]);
    return set;
  }

  ClassFigures class_figures(const Json& row) const {
    ClassFigures out{};
    out.distance = distance(row);
    out.part = whole(row, "part", UINT32_MAX);
    out.pairs = whole(row, "pairs", UINT32_MAX);
    out.samples = whole(row, "samples", UINT32_MAX);
    for (const Json& mark : checks_.list(row, "marks", kClassMarks, "marks"))
      out.marks |= 1u << checks_.one_of(mark, "a mark", kClassMarkNames, kClassMarks);
    out.hop = cost(row, "hop");
    out.send_busy = cost(row, "send_busy");
    out.recv_busy = cost(row, "recv_busy");
    out.ready_read = cost(row, "ready_read");
    out.spread = cost(row, "spread");
    return out;
  }

  WaitFigures wait(const Json& row) const {
    return {cost(row, "poll"), cost(row, "yield"), cost(row, "futex_wake"), cost(row, "futex_return")};
  }

  FanCurves fan(const Json& row) const {
    FanCurves out{};
    out.distance = distance(row);
    expect(row, "children", kFanChildren);
    costs(row, "gather", out.gather);
    costs(row, "scatter", out.scatter);
    return out;
  }

  DistanceCurves distance_curves(const Json& row) const {
    DistanceCurves out{};
    out.distance = distance(row);
    expect(row, "sizes", kSampledBytes);
    costs(row, "copy", out.copy);
    costs(row, "single_copy", out.single_copy);
    costs(row, "reduce", out.reduce);
    return out;
  }

  void add_winner(const Json& row) {
    Winner winner{};
    winner.operation =
        checks_.one_of(checks_.member(row, "operation"), "\"operation\"", kWinnerOperationNames, kWinnerOperations);
    set_text(winner.pattern, sizeof winner.pattern, checks_.text(row, "pattern"));
    winner.predicted = cost(row, "predicted");
    winner.measured = cost(row, "measured");
    winner.spread = cost(row, "spread");
    winner.hop = cost(row, "hop");
    std::vector<uint32_t> words;
    for (const Json& cpu : checks_.list(row, "cpus", kMaxParticipants, "CPUs")) {
      const auto found = index_of_.find(checks_.whole(cpu, "a CPU of a winner", UINT32_MAX));
      if (found == index_of_.end()) checks_.fail("a winner has CPU {}, which is not one of \"cpus\"", cpu.dump());
      words.push_back(found->second);
    }
    winner.participants = static_cast<uint32_t>(words.size());
    const auto room = static_cast<uint32_t>(
        kMaxWinnerWords - std::min<size_t>(kMaxWinnerWords, image_.winner_words.size() + words.size()));
    for (const Json& word : checks_.list(row, "program", room, "numbers (all winners' together)"))
      words.push_back(checks_.whole(word, "a number of a winner's program", UINT32_MAX));
    image_.add_winner(winner, words);
  }

 private:
  uint32_t whole(const Json& row, const char* key, uint32_t largest) const {
    return checks_.whole(checks_.member(row, key), fmt::format("\"{}\"", key), largest);
  }
  uint32_t distance(const Json& row) const {
    return checks_.one_of(checks_.member(row, "distance"), "\"distance\"", names_.data(), kDistances);
  }
  float cost(const Json& row, const char* key) const { return static_cast<float>(checks_.number(row, key)); }
  template <size_t size>
  void costs(const Json& row, const char* key, float (&into)[size]) const {
    const std::vector<float> values = checks_.costs(row, key, size);
    std::copy(values.begin(), values.end(), into);
  }
  // Sizes that this Smelt does not sample would be read as others.
  template <typename Number, size_t size>
  void expect(const Json& row, const char* key, const Number (&known)[size]) const {
    if (checks_.member(row, key) != Json(known)) checks_.fail("\"{}\" is not [{}]", key, fmt::join(known, ", "));
  }

  const JsonChecks& checks_;
  ProfileImage& image_;
  const std::array<const char*, kDistances> names_ = distance_names();
  std::unordered_map<uint32_t, uint32_t> index_of_;
};

}  // namespace

void append_measured(std::string& out, const ProfileImage& image) {
  const auto line = [](const auto& row) { return line_of(row); };
  append_list(out, "methods", image.curves, ",", line);
  append_list(out, "classes", image.classes, ",", line);
  out += fmt::format("  \"wait\": {{\"poll\": {}, \"yield\": {}, \"futex_wake\": {}, \"futex_return\": {}}},\n",
                     image.wait.poll, image.wait.yield, image.wait.futex_wake, image.wait.futex_return);
  append_list(out, "fans", image.fans, ",", line);
  append_list(out, "distances", image.distances, ",", line);
  append_list(out, "winners", image.winners, "", [&](const Winner& winner) { return line_of(winner, image); });
}

void read_measured(const nlohmann::json& root, const JsonChecks& checks, ProfileImage& image) {
  Reader reader(checks, image);
  for (const Json& row : checks.list(root, "methods", kMaxCurveSets, "sets of curves"))
    image.curves.push_back(reader.curve_set(row));
  for (const Json& row : checks.list(root, "classes", kMaxClasses, "classes"))
    image.classes.push_back(reader.class_figures(row));
  image.wait = reader.wait(checks.member(root, "wait"));
  for (const Json& row : checks.list(root, "fans", kMaxFanCurves, "fans")) image.fans.push_back(reader.fan(row));
  for (const Json& row : checks.list(root, "distances", kMaxDistanceCurves, "curves by distance"))
    image.distances.push_back(reader.distance_curves(row));
  for (const Json& row : checks.list(root, "winners", kMaxWinners, "winners")) reader.add_winner(row);
}

}  // namespace smelt
