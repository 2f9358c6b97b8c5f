// A program as a child of this one: started with other variables, waited for, and said why it could not be.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <csignal>

#include <string>
#include <vector>

#include "cli/launch_environment.h"

namespace smelt {

struct ChildPlan {
  std::vector<std::string> command;
  std::vector<EnvironmentChange> changes;
  bool apart = false;                 // in a session of its own, without a terminal: a signal to -pid ends all of it
  const sigset_t* signals = nullptr;  // held back in it; nullptr: those that are held back here
  int in = -1, out = -1, err = -1;    // its standard input, output and error; -1: ours
};

struct Child {
  pid_t pid = -1;
  int error = 0;         // errno of why there is none
  int64_t begun_ns = 0;  // just before it became the program
};

// Ends with this process, however that ends. Throws UserError where no process can be made.
Child start_child(const ChildPlan& plan);

void set_environment(const std::vector<EnvironmentChange>& changes);
// execvp takes these; they are good as long as `command` is.
std::vector<char*> argument_pointers(const std::vector<std::string>& command);

// The exit code for a program that execvp refused, after a line that says why.
int cannot_execute(const std::string& name, int error);

}  // namespace smelt
