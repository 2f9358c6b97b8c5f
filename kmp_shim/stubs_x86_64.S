// Calls a function with as many words as arguments as there are.
//   void smelt_kmp_call(void* function, uint64_t count, void* const* words)
// The first six go in registers, the others on the stack, the last one highest. AL, the number of vector registers with
// arguments, is 0: the function may be variadic.

        .hidden smelt_kmp_call
        FUNCTION smelt_kmp_call
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %r11                      // the function
        movq    %rdx, %r10                      // the words
        cmpq    $6, %rsi
        jbe     2f
        // An even number of slots keeps the stack aligned: with an odd number of words, one is left below the caller's.
        testq   $1, %rsi
        je      1f
        subq    $8, %rsp
1:      decq    %rsi
        pushq   (%r10,%rsi,8)
        cmpq    $6, %rsi
        ja      1b
2:      cmpq    $6, %rsi
        jae     6f
        cmpq    $5, %rsi
        je      5f
        cmpq    $4, %rsi
        je      4f
        cmpq    $3, %rsi
        je      3f
        cmpq    $2, %rsi
        je      8f
        cmpq    $1, %rsi
        je      7f
        jmp     9f
6:      movq    40(%r10), %r9
5:      movq    32(%r10), %r8
4:      movq    24(%r10), %rcx
3:      movq    16(%r10), %rdx
8:      movq    8(%r10), %rsi
7:      movq    (%r10), %rdi
9:      xorl    %eax, %eax
        call    *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        END     smelt_kmp_call

        // The program's way in. Once the shim has stepped aside (1 in smelt_kmp_aside), libomp's own function takes the
        // call as it came, for a tool is told where it returns to; a frame of ours would stand there otherwise. So it
        // does, and costs least, where a function is handed on (HandedOn in region.h). AL is the caller's.
        FUNCTION __kmpc_fork_call
0:      cmpb    $2, smelt_kmp_aside(%rip)
        jne     2f
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movq    %rdx, %r10                      // the function
        shrq    $4, %r10
        andl    $31, %r10d
        cmpl    $1, %fs:(%r11)                  // .open
        jne     6f
        cmpq    %rdx, %fs:32(%r11,%r10,8)       // .functions[]
        jne     smelt_kmp_fork_call
        cmpl    $1, %fs:8(%r11)                 // .pushed
        je      smelt_kmp_fork_call
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        movq    %fs:24(%r11), %r10              // .regions
        incq    (%r10)                          // nobody else writes it
        movq    $0, %fs:8(%r11)                 // .pushed, .clause
        movq    %rdx, %fs:16(%r11)              // .last
        jmp     *smelt_real___kmpc_fork_call(%rip)
6:      jb      smelt_kmp_fork_call
        cmpq    %rdx, %fs:288(%r11,%r10,8)      // .inner[]
        jne     smelt_kmp_fork_call
        movl    %fs:4(%r11), %r10d              // .inner_pushed
        cmpl    %fs:8(%r11), %r10d              // .pushed
        jne     smelt_kmp_fork_call
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        cmpl    $0, %fs:544(%r11)               // .inner_left
        je      smelt_kmp_fork_call
        decl    %fs:544(%r11)
        movq    $0, %fs:8(%r11)                 // .pushed, .clause
        jmp     *smelt_real___kmpc_fork_call(%rip)
2:      cmpb    $0, smelt_kmp_aside(%rip)
        je      1f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_call
        cmpb    $0, smelt_kmp_hot(%rip)         // a thread with a parked team, perhaps
        jne     smelt_kmp_fork_call
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        cmpl    $1, %fs:8(%r11)                 // .pushed
        je      5f
        ja      4f
3:      movl    $0, %fs:8(%r11)
        jmp     *smelt_real___kmpc_fork_call(%rip)
4:      cmpl    $0, %fs:(%r11)                  // .open: libomp has been told
        jne     3b
5:      KEEP
        call    smelt_kmp_tell_clause
        RESTORE
        jmp     *smelt_real___kmpc_fork_call(%rip)
1:      KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     0b
        END     __kmpc_fork_call

#define FIRST edi
#define SECOND esi

        // By the shortcut (hot_team.h).
        .macro  SHORTCUT name
        jmp     *smelt_kmp_shortcut_\name(%rip)
        .p2align 4
smelt_kmp_long_\name:
        SHORTCUT_TO \name
        .endm
        .macro  GO_ON name
1:      cmpb    $0, smelt_openmp_several(%rip)
        jne     2f
        movq    smelt_real_\name(%rip), %r11
        testq   %r11, %r11
        je      2f
        jmp     *%r11
2:      KEEP
        KEPT_JUMP \name
        END     \name
        .endm

        // Identity in identity.h: further on at 1 where the register is not .own; and .serial in its place.
        .macro  IS_OWN register
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    %fs:(%r11), %\register
        jne     1f
        .endm
        .macro  EXCHANGE register
        IS_OWN  \register
        movl    %fs:4(%r11), %\register
        .endm

        // Leagues of teams. As __kmpc_fork_call; but the end of a league is noted. Here, where nothing else is to be done,
        // and all arguments are in registers.
        FUNCTION __kmpc_fork_teams
0:      cmpb    $1, smelt_kmp_aside(%rip)
        ja      3f
        je      1f
        KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     0b
3:      movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        cmpl    $0, %fs:8(%r11)                 // .pushed
        jne     smelt_kmp_fork_teams
        addq    %fs:0, %r11
        cmpq    %r11, smelt_kmp_league(%rip)    // .master
        jne     smelt_kmp_fork_teams
        cmpb    $0, 8+smelt_kmp_league(%rip)    // .at_work
        jne     smelt_kmp_fork_teams
        cmpl    $3, %esi
        ja      smelt_kmp_fork_teams
        cmpb    $0, smelt_openmp_several(%rip)
        jne     smelt_kmp_fork_teams
        movq    smelt_kmp_identity@gottpoff(%rip), %r11
        cmpl    $0, %fs:(%r11)                  // a parked team is to end
        jge     smelt_kmp_fork_teams
        movb    $1, 8+smelt_kmp_league(%rip)
        movb    $3, smelt_kmp_aside(%rip)
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    *smelt_real___kmpc_fork_teams(%rip)
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        movb    $0, 8+smelt_kmp_league(%rip)
        movb    $2, smelt_kmp_aside(%rip)
        ret
        GO_ON   __kmpc_fork_teams

        // The region of an `if` clause that is false: clauses that were announced (HandedOn: .pushed, .clause) are its
        // own.
        FUNCTION __kmpc_serialized_parallel
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movq    $0, %fs:8(%r11)
        SHORTCUT __kmpc_serialized_parallel
        EXCHANGE esi
        GO_ON   __kmpc_serialized_parallel

        // The end of a single's block, of which libomp has nothing to note (real.cc).
        FUNCTION __kmpc_end_single
        cmpb    $0, smelt_kmp_ends_singles(%rip)
        je      1f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     2f
        ret
        GO_ON   __kmpc_end_single

        // HandedOn: .pushed. What is not positive counts as no clause.
        FUNCTION __kmpc_push_num_threads
        movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        xorl    %r10d, %r10d
        testl   %edx, %edx
        cmovgl  %edx, %r10d
        movl    %r10d, %fs:8(%r11)
        cmpl    $1, %edx
        je      3f
        cmpl    $0, %fs:(%r11)                  // .open
        je      3f
2:      SHORTCUT __kmpc_push_num_threads
        IS_OWN  esi
        ret                                     // libomp is told if it is to run the region
3:      cmpb    $1, smelt_kmp_aside(%rip)
        je      4f
        jb      5f
        cmpb    $0, smelt_openmp_several(%rip)
        jne     2b
        ret
4:      movq    smelt_kmp_handed_on@gottpoff(%rip), %r11
        movl    $0, %fs:8(%r11)                 // nobody else is to tell it
        jmp     2b
5:      KEEP
        call    smelt_kmp_look
        RESTORE
        jmp     3b
        GO_ON   __kmpc_push_num_threads
