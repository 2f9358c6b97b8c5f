// The figures of an unfinished calibration, so that the next one goes on from there instead of anew.
//
// A text file beside the profile-to-be, one line per measured pair, each with its checksum and written by one call:
// however the process ends, the file can be read up to its last whole line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/calibrate.h"

namespace smelt {

inline constexpr int kJournalMinutes = 15;  // since the last pair; then the machine may have become another one

class Journal {
 public:
  // Opens or makes the journal of the profile at `packed_path` and keeps other calibrations off it until the end of
  // this object. Pairs of another machine or version, too old ones and, if `fresh`, all are dropped. Throws UserError:
  // the place cannot be written, the file there is not ours alone, another process has it.
  Journal(const std::string& packed_path, uint64_t fingerprint, bool fresh);
  ~Journal();  // a journal without pairs goes
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<MeasuredPair>& known() const { return known_; }  // found at the beginning; each pair once
  // A full disk ends the journal, silently: the profile itself will say it.
  void add(const MeasuredPair& pair);
  uint64_t pairs() const { return pairs_; }  // in the file by now
  void remove();                             // the profile is written, nothing more will be added

 private:
  bool read(uint64_t fingerprint);

  const std::string path_;
  const int fd_;
  std::vector<MeasuredPair> known_;
  uint64_t pairs_ = 0;
  bool full_ = false;
};

}  // namespace smelt
