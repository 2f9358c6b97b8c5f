// The zoo: machines that people do not own, as data inside the program.
//
// zoo/ has one file each, in the form that class_file.h describes; meson.build makes them text in this
// room's object file, so that an installed program needs no folder. Names are vendor-model-shape, and the shape is
// packages x cores of each [x threads of each core].
#pragma once

#include <span>
#include <string>

namespace smelt {

struct ZooEntry {
  const char* name;  // "amd-epyc-7742-2x64x2"
  const char* text;  // its file's
};

std::span<const ZooEntry> zoo();  // ascending by name

const ZooEntry* find_in_zoo(const std::string& name);  // nullptr: not there

// The entry probably meant: the first that contains the words, else the nearest by edits; nullptr: none is near.
const ZooEntry* nearest_in_zoo(const std::string& words);

}  // namespace smelt
