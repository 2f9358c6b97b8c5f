// smelt profile: carry profiles between machines that are alike, and see what changed.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/fingerprint.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "discover/machine.h"
#include "model/distance.h"
#include "profile/text/diff.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

struct ProfileArguments {
  std::string file;  // of verify: the profile that the machine should have; "": whichever is found here
  std::string other, output;
  bool system = false;  // the profile that all users share, whatever this user has of his own
  bool replace = false;
  bool steady = false;  // a profile that was measured beside other work, or was unsteady, does not hold
  bool json = false, quiet = false;
};

// smelt profile verify: nothing is measured, and hwloc is asked only where something differs: a prologue can afford it.

// The system's profile of this machine. Throws UserError: there is none, or it was refused.
ProfileImage system_profile(std::string* path) {
  *path = shared_profile_path();
  Profile profile;
  Refusal why;
  const int error = load_own_profile_file(path->c_str(), &profile, &why);
  if (error == -ENOENT)
    throw UserError(
        fmt::format("{}: there is none of this machine, as it is now; run 'smelt calibrate --system'", *path));
  if (error != 0) throw UserError(why.text);
  ProfileImage image = image_from_profile(profile);
  unload_profile(&profile);
  return image;
}

// This machine's profile, or why it has none.
std::optional<ProfileImage> own_profile(bool system, std::string* path, std::string* why_not) {
  try {
    ProfileImage image = system ? system_profile(path) : present_profile(path);
    if (image.measured()) return image;
    *why_not = fmt::format("{}: nothing was measured in it; run 'smelt calibrate'", *path);
  } catch (const UserError& error) {
    *why_not = error.what();
  }
  return std::nullopt;
}

// Which of what makes a fingerprint is another, as far as the profile tells.
std::string difference_to_here(const ProfileImage& there) {
  const ProfileImage here = guess_image(discover_machine());
  std::vector<std::string> differs;
  const auto compare = [&differs](const char* what, const std::string& a, const std::string& b) {
    if (a != b)
      differs.push_back(
          fmt::format("{} is {} there, {} here", what, a.empty() ? "unknown" : a, b.empty() ? "unknown" : b));
  };
  compare("the CPU", one_line(there.header.machine), one_line(here.header.machine));
  compare("the kernel", one_line(there.header.kernel), one_line(here.header.kernel));
  compare("the microcode", one_line(there.header.microcode), one_line(here.header.microcode));
  return differs.empty() ? "what differs is the hypervisor, which CPUs are online, or which share caches and nodes"
                         : fmt::format("{}", fmt::join(differs, "; "));
}

// A fleet's machines are alike within what a calibration scatters by.
void compare_costs(const ProfileImage& should, const ProfileImage& is, std::vector<std::string>* reasons) {
  const ProfileChange change = compare_profiles(should, is);
  if (!change.only_a.empty()) reasons->push_back(fmt::format("CPUs that are not here: {}", cpu_ranges(change.only_a)));
  if (!change.only_b.empty()) reasons->push_back(fmt::format("CPUs that are only here: {}", cpu_ranges(change.only_b)));
  for (const ClassChange& one : change.classes) {
    const double ratio = one.change.ratio[0];  // of hops
    if (ratio > 1 + kLargeChange || (ratio > 0 && ratio * (1 + kLargeChange) < 1))
      reasons->push_back(fmt::format("{}: a hop takes {:.1f} {} here, {:.1f} there", distance_name(one.distance),
                                     one.change.b, cost_unit_name(is.costs().unit), one.change.a));
  }
}

std::string verify_text(const Document& document) {
  std::string page;
  if (!document["profile"].is_null())
    page += fact("profile", one_line(told(document, "{profile}: {created}, {machine}")));
  for (const Document& reason : document["reasons"]) page += fact("differs", one_line(reason));
  if (document["holds"]) page += fact("holds", told(document, "for this machine, {fingerprint}"));
  for (const auto& [about, words] : document["notes"].items()) page += fact(about, words.get<std::string>());
  return page;
}

int verify_profile(const ProfileArguments& arguments) {
  std::string own_path, why_not;
  const std::optional<ProfileImage> own = own_profile(arguments.system, &own_path, &why_not);
  std::optional<ProfileImage> wanted;
  std::vector<std::string> reasons;
  if (!arguments.file.empty()) {
    wanted = read_profile(arguments.file);
    if (wanted->header.fingerprint != machine_fingerprint())
      reasons.push_back(fmt::format("this is machine {:016x}, the profile is of {:016x}: {}", machine_fingerprint(),
                                    wanted->header.fingerprint, difference_to_here(*wanted)));
    if (own) compare_costs(*wanted, *own, &reasons);
  } else if (!own) {
    reasons.push_back(why_not);
  }
  const ProfileImage* const judged = own ? &*own : wanted ? &*wanted : nullptr;
  const std::string conditions = judged ? conditions_text(judged->header) : "";
  Document notes = Document::object();
  if (!conditions.empty() && arguments.steady)
    reasons.push_back(fmt::format("it was measured {}; run 'smelt calibrate' when the machine is quiet", conditions));
  else if (!conditions.empty())
    notes["beware"] = "it was measured " + conditions;
  if (wanted && !own) notes["about"] = "its costs were not compared: " + one_line(why_not);

  Document out = {{"holds", reasons.empty()}, {"fingerprint", fmt::format("{:016x}", machine_fingerprint())},
                  {"profile", nullptr},       {"compared", wanted && own},
                  {"reasons", reasons},       {"notes", std::move(notes)}};
  if (const ProfileImage* const found = wanted ? &*wanted : judged) {
    out["profile"] = wanted ? arguments.file : own_path;
    out["created"] = date_text(found->header.created);
    out["machine"] = found->header.machine;
  }
  if (arguments.json || !arguments.quiet) show(out, arguments.json, verify_text);
  return reasons.empty() ? 0 : kExitWarning;
}

// smelt profile diff: the changes from one profile to another.
Document hops_row(const HopChange& change) {
  Document row = {{"pairs", change.pairs}, {"a", change.a}, {"b", change.b}};
  for (size_t m = 0; m < std::size(kMatrices); ++m)
    row[kMatrixNames[m]] = change.ratio[m] > 0 ? Document(change.ratio[m]) : Document(nullptr);
  return row;
}

Document profile_row(const ProfileImage& image, const std::string& file) {
  return {{"file", file},
          {"machine", image.header.machine},
          {"fingerprint", fmt::format("{:016x}", image.header.fingerprint)},
          {"created", image.header.created},
          {"date", date_text(image.header.created)}};
}

Document change_document(const ProfileChange& change, const ProfileImage& a, const std::string& file_a,
                         const ProfileImage& b, const std::string& file_b) {
  Document out = {{"a", profile_row(a, file_a)},  {"b", profile_row(b, file_b)}, {"cpus", change.common},
                  {"only_a", change.only_a},      {"only_b", change.only_b},     {"overall", hops_row(change.overall)},
                  {"classes", Document::array()}, {"limit", kLargeChange},       {"beyond", change.beyond}};
  for (const ClassChange& c : change.classes) {
    Document row = {{"distance", distance_name(c.distance)}};
    row.update(hops_row(c.change));
    out["classes"].push_back(std::move(row));
  }
  out["farthest"] = change.farthest > 0
                        ? Document{{"cpus", {change.farthest_from, change.farthest_to}}, {"hop", change.farthest}}
                        : Document(nullptr);
  out["winners"] = Document::array();
  const auto pattern = [](const std::string& name) { return name.empty() ? Document(nullptr) : Document(name); };
  for (const WinnerChange& w : change.winners)
    out["winners"].push_back({{"operation", w.operation}, {"cpus", w.cpus}, {"a", pattern(w.a)}, {"b", pattern(w.b)}});
  return out;
}

std::string change_text(const Document& document) {
  std::string out;
  out += fact("A", one_line(told(document, "{a.file}: {a.date}, {a.machine}")));
  out += fact("B", one_line(told(document, "{b.file}: {b.date}, {b.machine}")));
  if (document["a"]["fingerprint"] != document["b"]["fingerprint"])
    out += fact("machines", told(document, "{a.fingerprint} and {b.fingerprint}: not alike"));
  out += fact("CPUs", fmt::format("{} in both: {}", document["cpus"].size(), shown(document, "cpus", As::kCpus)));
  if (!document["only_a"].empty()) out += fact("only in A", shown(document, "only_a", As::kCpus));
  if (!document["only_b"].empty()) out += fact("only in B", shown(document, "only_b", As::kCpus));
  const Document& overall = document["overall"];
  if (overall["pairs"] > 0) {
    Document rows = document["classes"];
    Document all = {{"distance", "all"}};
    all.update(overall);
    rows.push_back(std::move(all));
    Table table{"median, B/A by pair", columns("distance; pairs|0; hop A=a|1; hop B=b|1"), std::move(rows)};
    constexpr const char* kTitles[] = {"hop", "send", "receive", "read"};
    for (size_t m = 0; m < std::size(kMatrices); ++m)
      table.columns.push_back({kTitles[m], kMatrixNames[m], As::kHundredths});
    out += table_text(table);
    const Document& farthest = document["farthest"];
    out += fact("changed", told(document, "{beyond} of {overall.pairs} pairs by more than {limit|%}") +
                               (farthest.is_null() ? ""
                                                   : fmt::format("; most, CPU {} to {}: {}", farthest["cpus"][0].dump(),
                                                                 farthest["cpus"][1].dump(),
                                                                 shown(farthest, "hop", As::kHundredths))));
  }
  for (const Document& w : document["winners"]) {
    const auto pattern = [&w](const char* letter) { return w[letter].is_null() ? "none" : shown(w, letter); };
    out += fact("winner", fmt::format("{} on CPUs {}: {}, now {}", shown(w, "operation"), shown(w, "cpus", As::kCpus),
                                      pattern("a"), pattern("b")));
  }
  return out;
}

namespace fs = std::filesystem;

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int export_profile(const ProfileArguments& arguments) {
  std::string path;
  const ProfileImage image = present_profile(&path);
  if (arguments.output.empty())
    put(profile_to_json(image));
  else if (arguments.output.ends_with(".profile"))
    write_file(arguments.output, as_text(image.pack()));
  else
    write_file(arguments.output, profile_to_json(image));
  return 0;
}

// Lies the very same profile at `path` already? If another file does, it must not be lost silently.
bool is_there_already(const std::string& path, const ProfileImage& image, bool replace) {
  const std::string json = path.substr(0, path.rfind('.')) + ".json";
  std::error_code ignored;
  std::string there;
  for (const std::string& each : {json, path})
    if (fs::exists(fs::symlink_status(each, ignored))) there = each;
  if (there.empty()) return false;
  Profile profile;
  Refusal why;
  std::string what = "something else";
  if (there == path && load_profile_file(path.c_str(), 0, &profile, &why) == 0) {
    const bool same = image_from_profile(profile).pack() == image.pack();
    what =
        fmt::format("a profile measured on {:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(profile.header.created)));
    unload_profile(&profile);
    if (same && fs::exists(json, ignored)) return true;
  }
  if (!replace)
    throw UserError(fmt::format("{}: {} is there already; --replace puts the new one in its place", there, what));
  return false;
}

int import_profile(const ProfileArguments& arguments) {
  const ProfileImage image = read_profile(arguments.file);
  if (image.header.fingerprint != machine_fingerprint())
    throw UserError(fmt::format("{}: of machine {:016x} ({}), this one is {:016x}", arguments.file,
                                image.header.fingerprint, one_line(image.header.machine), machine_fingerprint()));
  if (!image.measured()) throw UserError(fmt::format("{}: nothing was measured in it", arguments.file));
  const std::string path = arguments.system ? shared_profile_path() : default_profile_path();
  const bool known = is_there_already(path, image, arguments.replace);
  if (!known) write_profile(image, path, arguments.system);
  show({{"profile", path}, {"imported", !known}}, arguments.json, [&](const Document&) {
    return known ? fact("unchanged", path + ": the same profile is there already") : fact("written", path);
  });
  return 0;
}

int diff_profiles(const ProfileArguments& arguments) {
  const ProfileImage a = read_profile(arguments.file);
  std::string name = arguments.other;
  const ProfileImage b = name.empty() ? present_profile(&name) : read_profile(name);
  const ProfileChange change = compare_profiles(a, b);
  if (change.common.empty())
    throw UserError(
        fmt::format("the profiles have no CPU in common: {} and {}", cpu_ranges(a.os_cpu), cpu_ranges(b.os_cpu)));
  show(change_document(change, a, arguments.file, b, name), arguments.json, change_text);
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("profile", "Export, import, verify and compare profiles, for fleets of equal machines");
  verb->require_subcommand(1);
  auto arguments = std::make_shared<ProfileArguments>();
  const auto does = [&chosen, arguments](CLI::App* action, const char* example, int (*work)(const ProfileArguments&)) {
    action->footer(std::string("Example:\n  smelt profile ") + example);
    action->callback([&chosen, arguments, work] { chosen = [arguments, work] { return work(*arguments); }; });
  };

  CLI::App* exporting = verb->add_subcommand("export", "Write the profile that processes on this machine use, as JSON");
  exporting
      ->add_option("-o,--output", arguments->output, "write FILE instead of stdout; packed where it ends in .profile")
      ->type_name("FILE");
  does(exporting, "export -o node7.json", export_profile);

  CLI::App* importing = verb->add_subcommand("import", "Take over the profile of a machine that is the same");
  importing->add_option("file", arguments->file, "a profile, JSON or packed, of this machine's fingerprint")
      ->type_name("FILE")
      ->required();
  importing->add_flag("--system", arguments->system, "as the profile that all users of this machine share");
  importing->add_flag("--replace", arguments->replace, "overwrite the profile that is there");
  importing->add_flag("--json", arguments->json, "for programs");
  does(importing, "import node7.json --system", import_profile);

  CLI::App* verifying = verb->add_subcommand(
      "verify", "Say whether this machine has its profile, or the one that it should have: exit code 0 or 1");
  verifying->add_option("file", arguments->file, "the profile that it should have; without it, any of this machine's")
      ->type_name("FILE");
  verifying->add_flag("--system", arguments->system, "look at the profile that all users of this machine share");
  verifying->add_flag("--steady", arguments->steady,
                      "nor one that was measured beside other work, or did not come out steady");
  verifying->add_flag("--json", arguments->json, "for programs");
  verifying->add_flag("--quiet", arguments->quiet, "the exit code alone");
  does(verifying, "verify --system --steady --quiet || smelt calibrate --system", verify_profile);

  CLI::App* diff = verb->add_subcommand("diff", "Compare two profiles, class by class");
  diff->add_option("a", arguments->file, "a profile, JSON or packed")->type_name("FILE")->required();
  diff->add_option("b", arguments->other, "the other one; without it, the present one of this machine")
      ->type_name("FILE");
  diff->add_flag("--json", arguments->json, "for programs");
  does(diff, "diff node7.json", diff_profiles);

  verb->footer(
      "Examples:\n  smelt profile export -o node7.json\n  smelt profile import node7.json --system\n"
      "  smelt profile verify node7.json\n  smelt profile diff node7.json");
}

}  // namespace smelt
