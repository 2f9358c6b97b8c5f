// An error as the one line that the user reads: the fault, the file, the remedy. cli/ prints it after "smelt: ".
#pragma once

#include <stdexcept>

namespace smelt {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace smelt
