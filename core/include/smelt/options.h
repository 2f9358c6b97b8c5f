/* The settings, as a table: for hosts that offer them under their own names (MCA parameters) or list them. */
#ifndef SMELT_OPTIONS_H
#define SMELT_OPTIONS_H

#include <smelt/base.h>
#include <stddef.h>

SMELT_BEGIN

/* The part of Smelt that reads a setting; no other part should offer it. */
typedef enum smelt_option_scope {
  SMELT_OPTION_BOTH = 0,
  SMELT_OPTION_THREADS = 1,  /* teams of threads and the OpenMP shim */
  SMELT_OPTION_PROCESSES = 2 /* groups of processes and the Open MPI component */
} smelt_option_scope;

typedef struct smelt_option {
  const char *name;     /* "SMELT_VERBOSE"; a word of SMELT_TUNE as it is written there: "SMELT_TUNE=spin_us" */
  const char *type;     /* "bool", "integer", "choice", "text", "list" */
  const char *unit;     /* "" where it has none */
  const char *range;    /* "0..2", "64..32768 by 64, or -1", "auto|spin|sleep", "" for text */
  const char *fallback; /* the default, as text */
  const char *help;     /* one sentence */
  smelt_option_scope scope;
  char value[256];      /* the value in force, as text */
  const char *from;     /* "default", "environment", "default (bad value)", "host" */
} smelt_option;

/* The i-th row. 0, or -ENOENT past the end. Thread-safe. */
SMELT_API int smelt_option_get(unsigned i, smelt_option *option);

/* Sets one value for this process, as if the environment had said so; the text is copied. Call it before anything else
 * uses the setting; not synchronised. A bad value warns in one line, keeps the value in force and returns -EINVAL;
 * -ENOENT for an unknown name. The name of a list, SMELT_TUNE or SMELT_OPENMP, sets all its words. */
SMELT_API int smelt_option_set(const char *name, const char *value);

/* For hosts that count what they did: appends `line`, up to 2047 characters without a line feed, to the file that the
 * setting SMELT_STATS names. 0; -ENOENT where none is named or it does not exist, -EINVAL for NULL, -E2BIG for a
 * longer line, or the error of writing. Thread-safe. */
SMELT_API int smelt_stats_append(const char *line);

/* One line for people, "smelt: `who`: ..." up to 1,023 characters, to standard error in one write, so that the lines of
 * several processes do not mix. errno stays as it is. Thread-safe. */
SMELT_API void smelt_say(const char *who, const char *format, ...) __attribute__((format(printf, 2, 3)));

SMELT_END

#endif
