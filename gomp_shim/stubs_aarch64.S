// Stubs that are taken often (stubs.S): see stubs_x86_64.S for the comments.
// x0-x7 and x8 carry arguments, x16 and x17 are free for stubs like these.

        .macro TO_1_IF_UNMARKED
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_gomp_position
        ldr     x17, [x17, :gottprel_lo12:smelt_gomp_position]
        ldr     w17, [x16, x17]                 // Position::unmarked
        cbnz    w17, 1f
        .endm

        .macro JUMP name
        adrp    x16, smelt_real_\name
        ldr     x16, [x16, :lo12:smelt_real_\name]
        br      x16
        .endm

        .macro MARKING_STUB name
        FUNCTION \name
        TO_1_IF_UNMARKED
        JUMP    \name
1:      LONG_WAY \name, smelt_gomp_mark
        END     \name
        .endm

        // GOMP_task: deferred in w5, flags in w6. That any is run at once when the deque is long, task_entries.cc sees to.
        .macro MAKING_STUB name
        FUNCTION \name
        cbnz    w5, 2f
        tbnz    w6, #1, 2f                      // final
        tbnz    w6, #3, 2f                      // depend
        mrs     x16, tpidr_el0
        adrp    x17, :gottprel:smelt_gomp_position
        ldr     x17, [x17, :gottprel_lo12:smelt_gomp_position]
        add     x16, x16, x17
        ldrb    w17, [x16, #54]                 // Position::unseen
        cbz     w17, 2f
        adrp    x16, smelt_openmp_several
        ldrb    w16, [x16, :lo12:smelt_openmp_several]
        cbnz    w16, 1f
        JUMP    \name
2:      TO_1_IF_UNMARKED
        adrp    x16, smelt_gomp_found
        add     x16, x16, :lo12:smelt_gomp_found
        ldarb   w16, [x16]                      // before the slot: region.cc releases it after
        cbz     w16, 1f
        adrp    x16, smelt_openmp_several
        ldrb    w16, [x16, :lo12:smelt_openmp_several]
        cbnz    w16, 1f
        JUMP    \name
1:      b       smelt_gomp_\name
        END     \name
        .endm

        .macro NOTING_STUB name
        FUNCTION \name
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_offset 30, -24
        stp     x0, x1, [sp, #16]
        adrp    x0, smelt_real_\name
        add     x0, x0, :lo12:smelt_real_\name
        mov     x1, x30                         // where the call returns to
        bl      smelt_gomp_note
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore 30
        br      x16
        END     \name
        .endm
