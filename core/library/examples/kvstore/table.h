// The table of one replica: 8-byte keys, values of any length, open addressing with linear probing. Only the thread of
// the replica touches it, so it needs no atomics: that is what a replica per node is for.
//
// Beside its value an entry has its position: how far the agreed order must be known for this value to be the key's
// (members.h). Values of up to kInline bytes lie in the entry, longer ones in a block of their own, which is kept for
// the next value as long as that fits.
#ifndef KVSTORE_TABLE_H
#define KVSTORE_TABLE_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace kvstore {

using Bytes = std::span<const uint8_t>;

class Table {
 public:
  static constexpr size_t kInline = 16;

  struct Entry {
    uint64_t key = 0;
    uint64_t position = 0;  // 0: there is no such key
    uint32_t bytes = 0, room = kInline;
    uint8_t here[kInline];
    std::unique_ptr<uint8_t[]> elsewhere;

    uint8_t* data() { return room == kInline ? here : elsewhere.get(); }
    Bytes value() const { return {room == kInline ? here : elsewhere.get(), bytes}; }
  };

  // Room for so many keys before it must grow.
  explicit Table(size_t keys = 1024) : entries_(std::bit_ceil(std::max<size_t>(2 * keys, 2))) {}

  // NULL: never set. Valid until the next set().
  const Entry* find(uint64_t key) const {
    const Entry& entry = entries_[slot(key)];
    return entry.position == 0 ? nullptr : &entry;
  }

  // `position` is not 0.
  void set(uint64_t key, Bytes value, uint64_t position) {
    std::ranges::copy(value, open(key, value.size(), position));
  }

  // The memory of the key's new value of `bytes`, to be filled.
  uint8_t* open(uint64_t key, size_t bytes, uint64_t position) {
    if (entries_[slot(key)].position == 0 && 2 * ++size_ > entries_.size()) grow();
    Entry& entry = entries_[slot(key)];
    entry.key = key;
    entry.position = position;
    if (bytes > entry.room) {
      entry.room = static_cast<uint32_t>(bytes);
      entry.elsewhere = std::make_unique_for_overwrite<uint8_t[]>(bytes);
    }
    entry.bytes = static_cast<uint32_t>(bytes);
    return entry.data();
  }

  size_t size() const { return size_; }

 private:
  // Where the key is, or else would be put. Half of the entries at least are free, so there is an end.
  size_t slot(uint64_t key) const {
    const uint64_t mixed = key * 0x9e3779b97f4a7c15;  // neighbours come apart, and the high bits depend on all
    for (size_t i = (mixed ^ mixed >> 32) & (entries_.size() - 1);; i = (i + 1) & (entries_.size() - 1))
      if (entries_[i].position == 0 || entries_[i].key == key) return i;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (Entry& entry : old)
      if (entry.position != 0) entries_[slot(entry.key)] = std::move(entry);
  }

  std::vector<Entry> entries_;
  size_t size_ = 0;
};

}  // namespace kvstore

#endif
