#include "profile/text/read.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>

#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr uint64_t kLargestFile = 128u << 20;  // four matrices of 1,024 CPUs in generous decimal

}  // namespace

std::string read_text_file(const std::string& path, const char* hint) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw UserError(fmt::format("{}: {}{}", path, std::strerror(errno), errno == ENOENT ? hint : ""));
  if (!S_ISREG(status.st_mode)) throw UserError(path + ": not a regular file");
  if (static_cast<uint64_t>(status.st_size) > kLargestFile)
    throw UserError(fmt::format("{}: {} MB are too large for a machine file", path, status.st_size >> 20));
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(status.st_size), '\0');  // once: a stream of strings holds it twice
  if (file) file.read(text.data(), status.st_size);
  if (file.bad() || !file.is_open())
    throw UserError(fmt::format("{}: cannot be read ({})", path, std::strerror(errno)));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

ProfileImage read_packed_profile(const std::string& path) {
  Profile profile;
  Refusal why;
  const int error = load_profile_file(path.c_str(), 0, &profile, &why);
  if (error) throw UserError(why.text[0] ? why.text : fmt::format("{}: {}", path, std::strerror(-error)));
  ProfileImage image = image_from_profile(profile);
  unload_profile(&profile);
  return image;
}

ProfileImage read_profile(const std::string& path) {
  const std::string text = read_text_file(path, " (a profile, as 'smelt profile export' writes it, is expected)");
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '{') return profile_from_json(text, path);
  if (!text.starts_with("SMELTPRF"))
    throw UserError(path + " is not a Smelt profile, neither JSON nor packed ('smelt profile export' writes one)");
  return read_packed_profile(path);
}

ProfileImage present_profile(std::string* path) {
  Profile profile;
  Refusal why;
  if (load_profile(&profile, &why) != 0) throw UserError("out of memory for this machine's profile");
  ProfileImage image = image_from_profile(profile);
  *path = profile.path;
  const bool guess = profile.source == ProfileSource::kGuess;
  unload_profile(&profile);
  if (guess) throw UserError(why.text[0] ? why.text : "this machine has no profile; run 'smelt calibrate'");
  return image;
}

}  // namespace smelt
