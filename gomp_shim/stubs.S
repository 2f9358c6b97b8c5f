// Tail-jump stubs in front of libgomp's entry points whose arguments are none of our business: symbols.def says which.
//
// MARKED (tasks.h), usual case, four instructions: not in a region that the shim serves, or its next barrier is marked
// already. COOLED (hot_team.h) is a rare call and always takes the long way. NOTED has two arguments at most, and one call
// notes and answers.
// All argument registers and the stack are as the caller left them when libgomp's function is entered.

#define SMELT_SYMBOLS "gomp_shim/symbols.def"
#include "openmp/stubs.S"

        // Calls `function` and goes on to what the name means to the caller (openmp/callers.h).
        .macro LONG_WAY name, function
        KEEP
        INVOKE  \function
        KEPT_JUMP \name
        .endm

        .macro STUB name, function
        FUNCTION \name
        LONG_WAY \name, \function
        END     \name
        .endm

#ifdef __x86_64__
#include "stubs_x86_64.S"
#else
#include "stubs_aarch64.S"
#endif

#define SYMBOL(name)
#define MAKES(name) MAKING_STUB name
#define MARKED(name) MARKING_STUB name
#define LEFT(name) STUB name, smelt_gomp_leave
#define COOLED(name) STUB name, smelt_gomp_cool
#define NOTED(name) NOTING_STUB name
#include "symbols.def"
