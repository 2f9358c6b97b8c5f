#include "cli/profile_verify.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <vector>

#include "base/fingerprint.h"
#include "cli/command.h"
#include "draw/picture.h"
#include "model/distance.h"
#include "profile/text/diff.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

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

// What this machine has, or why it has none.
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

}  // namespace

int verify_profile(const VerifyArguments& arguments) {
  std::string own_path, why_not;
  const std::optional<ProfileImage> own = own_profile(arguments.system, &own_path, &why_not);
  std::optional<ProfileImage> wanted;
  std::vector<std::string> reasons;
  if (!arguments.file.empty()) {
    wanted = read_profile(arguments.file);
    if (wanted->header.fingerprint != machine_fingerprint())
      reasons.push_back(fmt::format(
          "this is machine {:016x}, the profile is of {:016x} ({}): another CPU, microcode, kernel or number of CPUs",
          machine_fingerprint(), wanted->header.fingerprint, one_line(wanted->header.machine)));
    if (own) compare_costs(*wanted, *own, &reasons);
  } else if (!own) {
    reasons.push_back(why_not);
  }

  const ProfileImage* const shown = wanted ? &*wanted : own ? &*own : nullptr;
  const std::string path = wanted ? arguments.file : own_path;
  if (arguments.json) {
    const Document out = {{"holds", reasons.empty()},
                          {"fingerprint", fmt::format("{:016x}", machine_fingerprint())},
                          {"profile", shown ? Document(path) : Document(nullptr)},
                          {"compared", wanted && own},
                          {"reasons", reasons}};
    put(document_text(out));
  } else if (!arguments.quiet) {
    if (shown)
      put(fmt::format("profile     {}: {:%Y-%m-%dT%H:%M:%SZ}, {}\n", path,
                      fmt::gmtime(static_cast<std::time_t>(shown->header.created)), one_line(shown->header.machine)));
    for (const std::string& reason : reasons) put(fmt::format("differs     {}\n", one_line(reason)));
    if (reasons.empty()) put(fmt::format("holds       for this machine, {:016x}\n", machine_fingerprint()));
    if (wanted && !own) put(fmt::format("about       its costs were not compared: {}\n", one_line(why_not)));
  }
  return reasons.empty() ? 0 : kExitWarning;
}

}  // namespace smelt
