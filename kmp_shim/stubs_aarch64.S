// Calls a function with as many words as arguments as there are.
//   void smelt_kmp_call(void* function, uint64_t count, void* const* words)
// The first eight go in registers, the others on the stack, the last one highest; a variadic function takes words the
// same way.

        .hidden smelt_kmp_call
        FUNCTION smelt_kmp_call
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov     x29, sp
        .cfi_def_cfa_register 29
        mov     x16, x0                         // the function
        mov     x9, x1                          // how many are left
        mov     x10, x2                         // the words
        cmp     x9, #8
        b.ls    2f
        sub     x11, x9, #7                     // those on the stack, rounded up to an even number
        and     x11, x11, #-2
        sub     sp, sp, x11, lsl #3
1:      sub     x9, x9, #1
        ldr     x12, [x10, x9, lsl #3]
        sub     x13, x9, #8
        str     x12, [sp, x13, lsl #3]
        cmp     x9, #8
        b.hi    1b
2:      adr     x13, 3f
        mov     x14, #8
        sub     x14, x14, x9
        add     x13, x13, x14, lsl #2           // past the loads of those that there are not
        br      x13
3:      ldr     x7, [x10, #56]
        ldr     x6, [x10, #48]
        ldr     x5, [x10, #40]
        ldr     x4, [x10, #32]
        ldr     x3, [x10, #24]
        ldr     x2, [x10, #16]
        ldr     x1, [x10, #8]
        ldr     x0, [x10]
        blr     x16
        mov     sp, x29
        ldp     x29, x30, [sp], #16
        .cfi_restore 29
        .cfi_restore 30
        .cfi_def_cfa 31, 0
        ret
        END     smelt_kmp_call

        // The program's way in. Once the shim has stepped aside (1 in smelt_kmp_aside), libomp's own function takes the
        // call as it came, for a tool is told where it returns to; a frame of ours would stand there otherwise. So it
        // does, and costs least, where a function is handed on (HandedOn in region.h).
        FUNCTION __kmpc_fork_call
0:      adrp    x16, smelt_kmp_aside
        ldrb    w16, [x16, :lo12:smelt_kmp_aside]
        cbz     w16, 2f
        cmp     w16, #2
        b.ne    3f
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        ubfx    x17, x2, #4, #5                 // of the function
        add     x17, x16, x17, lsl #3
        ldr     w15, [x16]                      // .open
        cmp     w15, #1
        b.ne    7f
        ldr     x17, [x17, #32]                 // .functions[]
        cmp     x17, x2
        b.ne    1f
        ldr     w15, [x16, #8]                  // .pushed
        cmp     w15, #1
        b.eq    1f
        adrp    x17, smelt_openmp_several
        ldrb    w17, [x17, :lo12:smelt_openmp_several]
        cbnz    w17, 1f
        ldr     x17, [x16, #24]                 // .regions; nobody else writes it
        ldr     x15, [x17]
        add     x15, x15, #1
        str     x15, [x17]
        stp     xzr, x2, [x16, #8]              // .pushed, .clause; .last
        b       4f
7:      b.lo    1f
        ldr     x17, [x17, #288]                // .inner[]
        cmp     x17, x2
        b.ne    1f
        ldp     w15, w17, [x16, #4]             // .inner_pushed, .pushed
        cmp     w15, w17
        b.ne    1f
        adrp    x17, smelt_openmp_several
        ldrb    w17, [x17, :lo12:smelt_openmp_several]
        cbnz    w17, 1f
        ldr     w15, [x16, #544]                // .inner_left
        cbz     w15, 1f
        sub     w15, w15, #1
        str     w15, [x16, #544]
        str     xzr, [x16, #8]                  // .pushed, .clause
        b       4f
3:      adrp    x17, smelt_openmp_several
        ldrb    w17, [x17, :lo12:smelt_openmp_several]
        cbnz    w17, 1f
        adrp    x17, smelt_kmp_hot              // a thread with a parked team, perhaps
        ldrb    w17, [x17, :lo12:smelt_kmp_hot]
        cbnz    w17, 1f
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        ldr     w15, [x16, #8]                  // .pushed
        cmp     w15, #1
        b.eq    6f
        b.lo    5f
        ldr     w15, [x16]                      // .open: libomp has been told
        cbz     w15, 6f
5:      str     wzr, [x16, #8]
4:      adrp    x17, smelt_real___kmpc_fork_call
        ldr     x17, [x17, :lo12:smelt_real___kmpc_fork_call]
        cbz     x17, 1f                         // plain loads: the word above may be seen before the slot
        br      x17
1:      b       smelt_kmp_fork_call
2:      KEEP
        bl      smelt_kmp_look
        RESTORE
        b       0b
6:      KEEP
        bl      smelt_kmp_tell_clause
        RESTORE
        b       4b
        END     __kmpc_fork_call

#define FIRST w0
#define SECOND w1

        // By the shortcut (hot_team.h).
        .macro  SHORTCUT name
        adrp    x16, smelt_kmp_shortcut_\name
        ldr     x16, [x16, :lo12:smelt_kmp_shortcut_\name]
        br      x16
smelt_kmp_long_\name:
        SHORTCUT_TO \name
        .endm
        .macro  GO_ON name
1:      adrp    x16, smelt_openmp_several
        ldrb    w16, [x16, :lo12:smelt_openmp_several]
        cbnz    w16, 2f
        adrp    x16, smelt_real_\name
        ldr     x16, [x16, :lo12:smelt_real_\name]
        cbz     x16, 2f
        br      x16
2:      KEEP
        KEPT_JUMP \name
        END     \name
        .endm

        // Identity in identity.h: further on at 1 where the register is not .own; and .serial in its place.
        .macro  IS_OWN register
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_identity
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_identity]
        add     x16, x16, x17
        ldr     w17, [x16]
        cmp     w17, \register
        b.ne    1f
        .endm
        .macro  EXCHANGE register
        IS_OWN  \register
        ldr     \register, [x16, #4]
        .endm

        // Leagues of teams. As __kmpc_fork_call; but the end of a league is noted. Here, where nothing else is to be done,
        // and all arguments are in registers.
        FUNCTION __kmpc_fork_teams
0:      adrp    x16, smelt_kmp_aside
        ldrb    w16, [x16, :lo12:smelt_kmp_aside]
        cmp     w16, #1
        b.hi    3f
        b.eq    1f
        KEEP
        bl      smelt_kmp_look
        RESTORE
        b       0b
3:      mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        ldr     w15, [x16, #8]                  // .pushed
        cbnz    w15, 4f
        adrp    x17, smelt_kmp_league
        add     x17, x17, :lo12:smelt_kmp_league
        ldr     x15, [x17]                      // .master
        cmp     x15, x16
        b.ne    4f
        ldrb    w15, [x17, #8]                  // .at_work
        cbnz    w15, 4f
        cmp     w1, #5
        b.hi    4f
        adrp    x15, smelt_openmp_several
        ldrb    w15, [x15, :lo12:smelt_openmp_several]
        cbnz    w15, 4f
        mrs     x16, tpidr_el0
        adrp    x15, :gottprel:smelt_kmp_identity
        ldr     x15, [x15, :gottprel_lo12:smelt_kmp_identity]
        ldr     w15, [x16, x15]                 // a parked team is to end
        tbz     w15, #31, 4f
        adrp    x16, smelt_real___kmpc_fork_teams
        ldr     x16, [x16, :lo12:smelt_real___kmpc_fork_teams]
        cbz     x16, 4f
        mov     w15, #1
        strb    w15, [x17, #8]
        mov     w15, #3
        adrp    x17, smelt_kmp_aside
        strb    w15, [x17, :lo12:smelt_kmp_aside]
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset 29, 0
        .cfi_rel_offset 30, 8
        mov     x29, sp
        blr     x16
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore 29
        .cfi_restore 30
        adrp    x17, smelt_kmp_league
        add     x17, x17, :lo12:smelt_kmp_league
        strb    wzr, [x17, #8]
        mov     w15, #2
        adrp    x17, smelt_kmp_aside
        strb    w15, [x17, :lo12:smelt_kmp_aside]
        ret
4:      b       smelt_kmp_fork_teams
        GO_ON   __kmpc_fork_teams

        // The region of an `if` clause that is false: clauses that were announced (HandedOn: .pushed, .clause) are its
        // own.
        FUNCTION __kmpc_serialized_parallel
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        str     xzr, [x16, #8]
        SHORTCUT __kmpc_serialized_parallel
        EXCHANGE w1
        GO_ON   __kmpc_serialized_parallel

        // The end of a single's block, of which libomp has nothing to note (real.cc).
        FUNCTION __kmpc_end_single
        adrp    x16, smelt_kmp_ends_singles
        ldrb    w16, [x16, :lo12:smelt_kmp_ends_singles]
        cbz     w16, 1f
        adrp    x16, smelt_openmp_several
        ldrb    w16, [x16, :lo12:smelt_openmp_several]
        cbnz    w16, 2f
        ret
        GO_ON   __kmpc_end_single

        // HandedOn: .pushed. What is not positive counts as no clause.
        FUNCTION __kmpc_push_num_threads
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        cmp     w2, #0
        csel    w17, w2, wzr, gt
        str     w17, [x16, #8]
        cmp     w2, #1
        b.eq    3f
        ldr     w17, [x16]                      // .open
        cbz     w17, 3f
2:      SHORTCUT __kmpc_push_num_threads
        IS_OWN  w1
        ret                                     // libomp is told if it is to run the region
3:      adrp    x17, smelt_kmp_aside
        ldrb    w17, [x17, :lo12:smelt_kmp_aside]
        cmp     w17, #1
        b.eq    4f
        b.lo    5f
        adrp    x17, smelt_openmp_several
        ldrb    w17, [x17, :lo12:smelt_openmp_several]
        cbnz    w17, 2b
        ret
4:      mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_kmp_handed_on
        ldr     x17, [x17, :gottprel_lo12:smelt_kmp_handed_on]
        add     x16, x16, x17
        str     wzr, [x16, #8]                  // nobody else is to tell it
        b       2b
5:      KEEP
        bl      smelt_kmp_look
        RESTORE
        b       3b
        GO_ON   __kmpc_push_num_threads
