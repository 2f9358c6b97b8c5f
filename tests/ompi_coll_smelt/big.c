// Proves that lengths beyond 1 GiB and beyond what an int holds in bytes are served: bcast of 2 GiB + 1 MiB as a
// contiguous 1 MiB type and as 600 million ints, allreduce of 1 GiB and of 600 million ints. Skipped where memory does
// not suffice.
#include "check.h"

static size_t available_bytes(void) {
  char line[256];
  unsigned long long kb = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "MemAvailable: %llu", &kb);
  if (file != NULL) fclose(file);
  return (size_t)kb << 10;
}

// All ranks are on this machine; a third of the memory stays for others.
static int enough(size_t bytes_per_rank) {
  int yes = available_bytes() / 3 * 2 > bytes_per_rank * (size_t)world_size, all;
  MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

static uint32_t word_of(size_t k, uint32_t salt) { return (uint32_t)k * 2654435761u + salt; }

static void bcast_words(size_t words, int count, MPI_Datatype type, int root, const char *name) {
  uint32_t *data = calloc(words, sizeof *data);
  CHECK(data != NULL);
  for (size_t k = 0; world_rank == root && k < words; ++k) data[k] = word_of(k, (uint32_t)root);
  MPI_Bcast(data, count, type, root, MPI_COMM_WORLD);
  for (size_t k = 0; k < words; ++k)
    if (data[k] != word_of(k, (uint32_t)root))
      fail("bcast %s count %d root %d: word %zu is wrong", name, count, root, k);
  free(data);
}

static void allreduce_words(size_t words) {
  uint32_t *in = calloc(words, sizeof *in), *out = calloc(words, sizeof *out);
  CHECK(in != NULL && out != NULL);
  for (size_t k = 0; k < words; ++k) in[k] = word_of(k, (uint32_t)world_rank);
  MPI_Allreduce(in, out, (int)words, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
  const uint32_t ranks = (uint32_t)world_size, salts = ranks * (ranks - 1) / 2;
  for (size_t k = 0; k < words; ++k)
    if (out[k] != ranks * word_of(k, 0) + salts)
      fail("allreduce MPI_SUM MPI_UINT32_T count %zu: element %zu is wrong", words, k);
  free(in);
  free(out);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const size_t giga = (size_t)1 << 30, mega = (size_t)1 << 20;
  if (!enough(2 * giga)) return skip("not enough memory for messages of 1 GiB");
  allreduce_words(giga / 4);
  bcast_words(giga / 4, (int)(giga / 4), MPI_UINT32_T, world_size - 1, "MPI_UINT32_T");
  if (enough(2 * giga + mega)) {
    MPI_Datatype megabyte;
    MPI_Type_contiguous((int)mega, MPI_BYTE, &megabyte);
    MPI_Type_commit(&megabyte);
    bcast_words((2 * giga + mega) / 4, 2049, megabyte, 0, "1 MiB of MPI_BYTE");
    MPI_Type_free(&megabyte);
    bcast_words(600000000, 600000000, MPI_UINT32_T, 0, "MPI_UINT32_T");
  } else if (world_rank == 0) {
    puts("not enough memory for broadcasts beyond 2 GiB");
  }
  if (enough(2 * 2400000000u))
    allreduce_words(600000000);
  else if (world_rank == 0)
    puts("not enough memory for an allreduce of 600 million elements");
  return finish();
}
