// smelt_paper from outside: every figure and table prints numbers that say where they come from, and draws them. Times
// are not judged.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "epcc/child.h"
#include "xml.h"

using namespace smelt::epcc;

namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Finished run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), from_environment("SMELT_PAPER"));
  return run_child(arguments, Environment::of_this_process(), 500);
}

// Removed with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("smelt_paper_test." + std::to_string(getpid()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Columns stand two spaces apart or more.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> out;
  for (size_t at = line.find_first_not_of(' '); at != line.npos; at = line.find_first_not_of(' ', at)) {
    const size_t end = std::min(line.find("  ", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

struct Table {
  std::string title;
  std::vector<std::string> head;  // "kind", what the rows are, the series, perhaps "a hop, ns"
  std::vector<std::vector<std::string>> rows;

  bool is_paper() const { return rows.front().front() == "paper"; }
};

std::vector<Table> tables_of(const std::string& text) {
  std::vector<Table> out;
  std::istringstream lines(text);
  std::string before;
  for (std::string line; std::getline(lines, line); before = line) {
    if (line.starts_with("  kind ")) {
      out.push_back({before, columns_of(line), {}});
    } else if (!out.empty() && line.starts_with("  ") && !line.starts_with("  #")) {
      out.back().rows.push_back(columns_of(line));
    }
  }
  return out;
}

// 0: no number stands there.
double number_of(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  const std::string rest = end;
  return rest.empty() || rest.starts_with(" ±") ? value : 0;
}

bool is_known_words(const std::string& cell) { return cell == "-" || cell[0] == '<' || cell.find(" to ") != cell.npos; }

void expect_row(const Table& table, const std::vector<std::string>& row, std::map<std::string, int>* kinds) {
  ASSERT_EQ(row.size(), table.head.size()) << table.title << ": " << row[0] << " " << row[1];
  ASSERT_TRUE(row[0] == "measured" || row[0] == "predicted" || row[0] == "paper") << row[0];
  ++(*kinds)[row[0]];
  for (const char* kind : {"measured", "predicted"})
    if (table.title.find(kind) != table.title.npos) {
      EXPECT_EQ(row[0], kind) << table.title;
    }
  bool any = false;
  for (size_t c = 2; c < row.size(); ++c) {
    const bool number = number_of(row[c]) > 0;
    EXPECT_TRUE(number || is_known_words(row[c])) << table.title << ": " << row[1] << ": " << row[c];
    if (table.head[c] == "a hop, ns")
      EXPECT_EQ(number, row[0] == "measured") << table.title << ": " << row[1];
    else
      any = any || number || (row[0] == "paper" && row[c] != "-");
  }
  EXPECT_TRUE(any) << table.title << ": " << row[1] << " has no number";
}

// Series to how many marks (bars, points, boxes) are drawn for it in the whole file: an element for each mark, or one
// with the marks inside.
std::map<std::string, int> marks_of(const std::string& svg) {
  std::map<std::string, int> out;
  const std::string begin = "id=\"p0-series:";
  for (size_t at = svg.find(begin); at != svg.npos; at = svg.find(begin, at + 1)) {
    const size_t name = at + begin.size(), end = svg.find("</g>", at);
    int inside = 0;
    for (size_t mark = svg.find("<use ", name); mark < end; mark = svg.find("<use ", mark + 1)) ++inside;
    out[svg.substr(name, svg.find('"', name) - name)] += std::max(inside, 1);
  }
  return out;
}

// A number for each mark and a mark for each number; a table out of the paper's text need not be drawn.
void expect_series(const std::vector<Table>& tables, const std::string& svg) {
  std::map<std::string, int> least, most;
  for (const Table& table : tables)
    for (size_t c = 2; c < table.head.size(); ++c) {
      if (table.head[c] == "a hop, ns") continue;
      int numbers = 0;
      for (const auto& row : table.rows) numbers += number_of(row[c]) > 0;
      if (numbers == 0) continue;
      most[table.head[c]] += numbers;
      least[table.head[c]] += table.is_paper() ? 0 : numbers;
    }
  std::map<std::string, int> marks = marks_of(svg);
  for (const auto& [name, count] : marks) EXPECT_TRUE(most.contains(name)) << name << ": drawn, and in no table";
  for (const auto& [name, count] : most) {
    EXPECT_GE(marks[name], least[name]) << name;
    EXPECT_LE(marks[name], count) << name;
  }
}

struct Expected {
  const char* name;
  const char* measured_by;  // "": this program, wherever there are two CPUs; else the build's program
  bool predicted, paper;
  const char* words;  // of the text
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.name; }

bool can_measure(const Expected& expected) {
  const std::string by = expected.measured_by;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return false;
  const auto build = std::filesystem::path(from_environment("SMELT_PAPER")).parent_path().parent_path().parent_path();
  return by.empty() || std::filesystem::exists(build / by);
}

class Figures : public testing::TestWithParam<Expected> {};

TEST_P(Figures, PrintsAndDrawsIt) {
  const Expected& expected = GetParam();
  const Folder folder;
  const auto svg_path = folder.path / "figure.svg";
  const Finished finished = run({expected.name, "--quick", "--svg", svg_path});
  ASSERT_TRUE(finished.ok) << finished.failure;
  const std::vector<Table> tables = tables_of(finished.out);
  std::map<std::string, int> kinds;
  for (const Table& table : tables) {
    ASSERT_FALSE(table.rows.empty()) << table.title;
    for (const auto& row : table.rows) expect_row(table, row, &kinds);
  }
  EXPECT_EQ(kinds["measured"] > 0, can_measure(expected)) << finished.out;
  EXPECT_EQ(kinds["predicted"] > 0, expected.predicted);
  EXPECT_EQ(kinds["paper"] > 0, expected.paper);
  EXPECT_NE(finished.out.find(expected.words), finished.out.npos) << finished.out;
  if (!expected.paper) {
    EXPECT_NE(finished.out.find("plot only"), finished.out.npos) << finished.out;
  }

  const std::string svg = read_file(svg_path);
  std::string words;
  EXPECT_EQ(smelt::test::xml_flaw(svg, &words), "");
  expect_series(tables, svg);
  for (const Table& table : tables)
    if (!table.is_paper()) {
      EXPECT_NE(words.find(table.head[1]), words.npos) << "no label: " << table.head[1];
    }
}

INSTANTIATE_TEST_SUITE_P(
    SmeltPaper, Figures,
    testing::Values(Expected{"osdi16-fig8", "", true, false, "I KNC 1x60x4"},
                    Expected{"osdi16-fig9", "", true, true, "1.53"},
                    Expected{"osdi16-fig10", "", true, true, "AT against the best static topology"},
                    Expected{"osdi16-fig11", "", true, true, "1.19 to 1.41"},
                    Expected{"osdi16-fig12", "core/library/onepaxos", true, false, "times the throughput of 1Paxos"},
                    Expected{"osdi16-fig13", "core/library/kvstore", true, false, "sets"},
                    Expected{"osdi16-table2", "epcc/compare", false, true, "COPYPRIV"},
                    Expected{"osdi16-table3", "", true, true, "38494"},
                    Expected{"osdi16-table4", "core/library/streamcluster", false, true, "parlib MCS"},
                    Expected{"hotpar09-fig2", "", true, false, "Pthread Lib"},
                    Expected{"hotpar09-fig3", "", true, true, "Strict over loose"},
                    Expected{"hotpar09-fig4", "", true, false, "Trees are cheaper"},
                    Expected{"hotpar09-fig5", "", true, false, "Niagara2"},
                    Expected{"hotpar09-fig6", "", true, false, "Clovertown"},
                    Expected{"hotpar09-table2", "", true, true, "tree radix"},
                    Expected{"cluster11-limits", "a sampled network", false, true, "genepi"},
                    Expected{"eurompi16-table1", "core/library/thread_bench", false, true, "Argobots"},
                    Expected{"eurompi16-fig5", "core/library/thread_bench", false, true, "MVAPICH2"},
                    Expected{"eurompi16-fig7", "a program of NPB's", false, true, "shuffle"},
                    Expected{"eurompi16-fig8", "core/library/breadth_first_smelt", false, true, "the reference"},
                    Expected{"eurompi16-fig9", "core/library/tree_search_smelt", false, true, "Argobots"}),
    [](const testing::TestParamInfo<Expected>& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// What was copied out of the papers by hand twice must be the same twice.
std::map<std::string, double> paper_rows(const char* command, const std::vector<std::string>& series) {
  std::map<std::string, double> out;
  for (const Table& table : tables_of(run({command, "--quick"}).out))
    for (const auto& row : table.rows)
      if (row[0] == "paper")
        for (size_t c = 2; c < row.size(); ++c)
          if (std::count(series.begin(), series.end(), table.head[c]))
            out[row[1] + ": " + table.head[c]] = number_of(row[c]);
  return out;
}

nlohmann::json measured_rows(const std::string& file) {
  return nlohmann::json::parse(read_file(from_environment("MEASURED") + "/" + file)).at("measured");
}

size_t cpus_in(const std::string& list) {
  return list == "0-31" ? 32 : static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1;
}

TEST(PaperData, Table3IsThatOfTheResults) {
  const auto rows = paper_rows("osdi16-table3", {"dissemination", "Smelt (the paper's tree)"});
  EXPECT_EQ(rows.size(), 12u);
  for (const auto& [machine, file] : {std::pair{"A IL 4x4x2", "osdi16-interlagos-4x4x2.json"},
                                      {"I NL 4x8x2", "osdi16-nehalem-4x8x2.json"},
                                      {"I SB 4x8x2", "osdi16-sandy-bridge-4x8x2.json"}})
    for (const auto& row : measured_rows(file)) {
      const std::string series = row.at("name") == "Smelt" ? "Smelt (the paper's tree)" : "dissemination";
      const std::string key = std::string(machine) + ", " + std::to_string(cpus_in(row.at("cpus"))) + ": " + series;
      ASSERT_TRUE(rows.contains(key)) << key;
      EXPECT_EQ(rows.at(key), row.at("time")) << key;
    }
}

TEST(PaperData, RadicesAreThoseOfTheResults) {
  const auto rows = paper_rows("hotpar09-table2", {"Barcelona Strict"});
  EXPECT_EQ(rows.size(), 5u);
  for (const auto& row : measured_rows("hotpar09-barcelona-8x4.json")) {
    const std::string pattern = row.at("pattern");
    EXPECT_EQ(rows.at(pattern.substr(pattern.find(':') + 1) + ": Barcelona Strict"), row.at("time"));
  }
}

// By hand from the profile, whose samples are straight lines (us of n bytes, fast0 and slow0): eager 60 + 0.042 n and
// 400 + 0.102 n; rendezvous 150 + 0.04 n and 1000 + 0.1 n; gathered 0.5 more than eager; a copy 0.1 + 0.0002 n.
TEST(SmeltPaper, OurNetworksStandBesideThePapers) {
  const Folder folder;
  const auto svg = folder.path / "figure.svg";
  const Finished finished =
      run({"cluster11-limits", "--quick", "--network", from_environment("NETWORK"), "--svg", svg});
  ASSERT_TRUE(finished.ok) << finished.failure;
  const std::vector<Table> tables = tables_of(finished.out);
  ASSERT_EQ(tables.size(), 3u) << finished.out;
  EXPECT_EQ(finished.out.find("not measured"), finished.out.npos) << finished.out;
  EXPECT_EQ(smelt::test::xml_flaw(read_file(svg), nullptr), "");
  const auto row = [](const Table& table, const std::string& kind, const std::string& name) {
    for (const auto& one : table.rows)
      if (one.size() == table.head.size() && one[0] == kind && one[1] == name)
        return std::vector<std::string>(one.begin() + 2, one.end());
    ADD_FAILURE() << table.title << ": no row of " << kind << ", " << name;
    return std::vector<std::string>(table.head.size() - 2, "-");
  };
  using Words = std::vector<std::string>;

  const Table& limits = tables[0];
  EXPECT_EQ(row(limits, "paper", "joe, with Myri-10G"), (Words{"-", "-", "-", "12288", "98"}));
  EXPECT_EQ(row(limits, "measured", "slow0 (veth)"), (Words{"never", "never", "never", "-", "-"}))
      << "0.97 x 0.102 is less than 0.1";
  const Words fast = row(limits, "measured", "fast0 (veth)");
  EXPECT_EQ((Words{fast[0], fast[2], fast[3], fast[4]}), (Words{"never", "never", "-", "-"}));
  EXPECT_NEAR(number_of(fast[1]), (150 - 0.97 * 60) / (0.97 * 0.042 - 0.04), 20);
  const Words all = row(limits, "predicted", "all rails");
  // From there on the slow one takes enough of it to gain 3 %, in 400 us and more
  EXPECT_NEAR(number_of(all[3]), (400 + 0.102 / 0.97 - 60) / 0.042, 1500);
  EXPECT_NEAR(number_of(all[4]), 99.8, 0.11);

  const Table& costs = tables[1];
  EXPECT_EQ(row(costs, "paper", "joe"), (Words{"-", "-", "84"}));
  const auto by = [](double worse, double better) { return 100 * (worse / better - 1); };
  const double k16 = 16 << 10, k17 = 17 << 10, k32 = 32 << 10;
  struct Line {
    const char* name;
    double eager, per_byte, rendezvous, announced_per_byte;
  };
  for (const Line& line : {Line{"fast0", 60, 0.042, 150, 0.04}, Line{"slow0", 400, 0.102, 1000, 0.1}}) {
    const Words percent = row(costs, "measured", line.name);
    const auto announced = [&](double n) {
      return by(line.rendezvous + line.announced_per_byte * n, line.eager + line.per_byte * n);
    };
    const double eager = line.eager + line.per_byte * k16;
    EXPECT_NEAR(number_of(percent[0]), by(eager + 0.1 + 0.0002 * k16, eager + 0.5), 0.01) << line.name;
    EXPECT_NEAR(number_of(percent[1]), announced(k17), 0.06) << line.name;
    EXPECT_NEAR(number_of(percent[2]), announced(k32), 0.06) << line.name;
  }

  const Table& together = tables[2];
  EXPECT_EQ(row(together, "paper", "joe: InfiniBand, Myrinet"), (Words{"-", "98"}));
  const Words ours = row(together, "predicted", "ours");
  const double whole = 16 << 20, half = whole / 2;
  const double sum = whole / (150 + 0.04 * whole) + whole / (1000 + 0.1 * whole);
  EXPECT_NEAR(number_of(ours[0]), 100 * whole / (1000 + 0.1 * half) / sum, 0.06);
  EXPECT_EQ(ours[1], all[4]) << "the same twice";
}

TEST(SmeltPaper, AllGoesIntoAFolder) {
  const Folder folder;
  const auto out = folder.path / "all";
  const Finished finished = run({"all", out, "--quick"});
  ASSERT_TRUE(finished.ok) << finished.failure << finished.out;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    files.insert(entry.path().filename());
    if (entry.path().extension() == ".svg") {
      EXPECT_EQ(smelt::test::xml_flaw(read_file(entry.path()), nullptr), "");
    }
  }
  EXPECT_EQ(files.size(), 22u);
  const std::string text = read_file(out / "paper.txt");
  EXPECT_EQ(std::count(text.begin(), text.end(), '='), 2 * 21) << text;
  EXPECT_NE(finished.out.find(" 0 failed"), finished.out.npos);
}

TEST(SmeltPaper, BadInputIsRefused) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"osdi16-fig7"}, {"osdi16-fig8", "--machines", "/no/such/folder"}}) {
    const Finished finished = run(arguments);
    EXPECT_FALSE(finished.ok);
    EXPECT_NE(finished.failure.find("exit status 2"), finished.failure.npos) << finished.failure;
  }
  const Finished unwritable = run({"osdi16-table4", "--quick", "--svg", "/no/such/folder/x.svg"});
  EXPECT_NE(unwritable.failure.find("exit status 1"), unwritable.failure.npos) << unwritable.failure;
}

}  // namespace
