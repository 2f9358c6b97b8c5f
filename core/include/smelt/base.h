/* The part that all public headers share: visibility, version, limits. */
#ifndef SMELT_BASE_H
#define SMELT_BASE_H

#ifdef __cplusplus
#define SMELT_BEGIN extern "C" {
#define SMELT_END }
#else
#define SMELT_BEGIN
#define SMELT_END
#endif
#define SMELT_API __attribute__((visibility("default")))

SMELT_BEGIN

enum { SMELT_MAX_PARTICIPANTS = 1024 };

/* "major.minor.patch" of the library that is loaded. It is never NULL, and has static storage. */
SMELT_API const char *smelt_version(void);

SMELT_END

#endif
