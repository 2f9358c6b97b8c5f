#include "profile/text/image.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace smelt {

Costs ProfileImage::costs() const {
  Costs costs;
  costs.n = n();
  costs.unit = static_cast<CostUnit>(header.unit);
#define MATRIX(name) costs.name = name.data();
#define COSTS_ID(type, name, json) costs.name = name.data();
#include "profile/fields.def"
  costs.poller = header.poller;
  costs.core = core.data();
  costs.package = package.data();
  std::copy_n(header.service, kDistances, costs.service);
  std::copy_n(header.crossing, kDistances, costs.crossing);
  return costs;
}

std::vector<uint32_t> ProfileImage::cpus_of(const Winner& winner) const {
  std::vector<uint32_t> cpus;
  for (uint32_t i = 0; i < winner.participants; ++i) cpus.push_back(os_cpu[winner_words[winner.first_word + i]]);
  return cpus;
}

void ProfileImage::add_winner(Winner winner, const std::vector<uint32_t>& words) {
  winner.first_word = static_cast<uint32_t>(winner_words.size());
  winner.words = static_cast<uint32_t>(words.size());
  winners.push_back(winner);
  winner_words.insert(winner_words.end(), words.begin(), words.end());
}

std::vector<std::byte> ProfileImage::pack() const {
  PackedHeader complete = header;
  complete.cpus = n();
#define ROWS(type, name, count, most, json, what) complete.count = static_cast<uint32_t>(name.size());
#define WORDS(name, most, what) complete.name = static_cast<uint32_t>(name.size());
#include "profile/fields.def"
  const PackedLayout at = packed_layout(counts_of(complete));
  std::vector<std::byte> bytes(at.bytes);
  std::memcpy(bytes.data(), &complete, sizeof complete);
  const auto put = [&bytes](uint64_t offset, const auto& values) {
    if (!values.empty()) std::memcpy(bytes.data() + offset, values.data(), values.size() * sizeof values[0]);
  };
#define SINGLE(type, name) put(at.name, std::span(&name, 1));
#define ARRAY(type, name, length, where) put(at.name, name);
#include "profile/fields.def"
  seal_packed(bytes.data(), bytes.size());
  return bytes;
}

ProfileImage make_image(uint32_t cpus) {
  const PackedCounts counts{.cpus = cpus};
  ProfileImage image;
  image.header.cpus = cpus;
#define SINGLE(type, name)
#define ARRAY(type, name, length, where) image.name.resize(length);
#include "profile/fields.def"
  return image;
}

ProfileImage image_from_profile(const Profile& profile) {
  const PackedCounts counts = counts_of(profile.header);
  ProfileImage image;
  image.header = profile.header;
#define SINGLE(type, name) image.name = *profile.name;
#define ARRAY(type, name, length, where) image.name.assign(profile.where, profile.where + (length));
#include "profile/fields.def"
  return image;
}

void set_text(char* field, size_t bytes, std::string_view text) {
  size_t length = text.size() < bytes ? text.size() : bytes - 1;
  if (length < text.size())
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  std::memset(field, 0, bytes);
  std::memcpy(field, text.data(), length);
  // The loader refuses control characters; names from firmware may well contain a tab.
  for (size_t i = 0; i < length; ++i)
    if (static_cast<unsigned char>(field[i]) < 0x20 || field[i] == 0x7f) field[i] = ' ';
}

}  // namespace smelt
