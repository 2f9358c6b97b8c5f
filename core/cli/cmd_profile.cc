// smelt profile: carry profiles between machines that are alike, and see what changed.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <filesystem>
#include <memory>

#include "base/fingerprint.h"
#include "cli/command.h"
#include "cli/picture.h"
#include "cli/profile_diff.h"
#include "cli/profile_verify.h"
#include "cli/terminal.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

struct ProfileArguments {
  std::string file, other, output;
  bool system = false, replace = false, steady = false, json = false, quiet = false;
};

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

int verify(const ProfileArguments& arguments) {
  return verify_profile({arguments.file, arguments.system, arguments.steady, arguments.json, arguments.quiet});
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
  does(verifying, "verify --system --steady --quiet || smelt calibrate --system", verify);

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
