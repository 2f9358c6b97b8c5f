// A machine profile in the making: the profile of profile/profile.h, but owning its memory and editable. Three forms of
// the same numbers: this struct, the packed file, the JSON file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/measured.h"
#include "profile/profile.h"

namespace smelt {

struct ProfileImage {
  PackedHeader header{};  // magic, version, bytes, checksum and the arrays' lengths are filled in by pack()
  // The arrays of fields.def, each as long as it says: os_cpu[n], hop[n * n], classes[at most kMaxClasses] ...
#define SINGLE(type, name) type name{};
#define ARRAY(type, name, length, where) std::vector<type> name;
#include "profile/fields.def"

  // `words`: the participants' indices, then their programs. The winner's place in the pool and number of words are set
  // here.
  void add_winner(Winner winner, const std::vector<uint32_t>& words);
  std::vector<uint32_t> cpus_of(const Winner& winner) const;  // kernel numbers, in the participants' order

  uint32_t n() const { return static_cast<uint32_t>(os_cpu.size()); }
  bool measured() const { return is_measured(header); }  // false: guessed from the topology
  Costs costs() const;                                   // points into the vectors
  std::vector<std::byte> pack() const;
};

// Its matrices, for code that treats all alike, and their names.
inline constexpr std::vector<float> ProfileImage::*kMatrices[] = {
#define MATRIX(name) &ProfileImage::name,
#include "profile/fields.def"
};
inline constexpr const char* kMatrixNames[] = {
#define MATRIX(name) #name,
#include "profile/fields.def"
};

ProfileImage make_image(uint32_t cpus);  // all zero; vectors with an element for each CPU have their size
ProfileImage image_from_profile(const Profile& profile);

// JSON with units, method, ISO 8601 date, fingerprint, CPUs and one matrix row per line.
std::string profile_to_json(const ProfileImage& image);
// Throws UserError with one line that begins with `name` (the file's).
ProfileImage profile_from_json(std::string_view text, const std::string& name);

// Cuts at the field's end without splitting a UTF-8 character.
void set_text(char* field, size_t bytes, std::string_view text);

}  // namespace smelt
