// The figures of an unfinished sampling, so that the next one goes on from there instead of anew.
//
// A text file beside the profile-to-be, one line per curve, each with its checksum and written by one call: however the
// process ends, the file can be read up to its last whole line. A curve is known by all that it depends on.
#pragma once

#include <map>
#include <string>

#include "rails/network/sampling.h"

namespace smelt {

inline constexpr int kNetworkJournalMinutes = 15;  // since the last curve; then the network may be another one

class NetworkJournal {
 public:
  // Of the profile at `path`. Throws UserError: it cannot be written, or another process samples.
  NetworkJournal(const std::string& path, bool fresh);
  ~NetworkJournal();  // one without curves goes
  NetworkJournal(const NetworkJournal&) = delete;
  NetworkJournal& operator=(const NetworkJournal&) = delete;

  CurveStore store();  // of this object
  size_t known() const { return found_; }
  void remove();  // the profile is written: it goes with this object

 private:
  void read();

  const std::string path_;
  int fd_;
  size_t found_ = 0;
  std::map<std::string, RailCurve> curves_;
};

}  // namespace smelt
