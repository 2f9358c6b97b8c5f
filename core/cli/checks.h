// Checks for numbers that the parser's own checks let through: "nan" is in no range and outside of none, and a number
// that does not fit is cut off at the largest that does.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

// A finite number from `least` to `most`.
CLI::Validator number_between(double least, double most);

// A whole number of 64 bits, decimal: for seeds.
CLI::Validator whole_number();

}  // namespace smelt
