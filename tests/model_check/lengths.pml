/* What a waiting participant says it is at, under weak memory. Stands for core/group/wait.cc: tell() writes the number of
 * the call and the bytes of its operands, each time both, with the number withdrawn meanwhile; is_at_odds() reads number,
 * bytes, and the number again. Checked: bytes that are believed belong to the call that was asked about.
 * Mutants: WITHDRAW: the number stays; PUT, TELL, ASK, SEE =RELAXED. CALLS calls, told or not. */
#ifndef CALLS
#define CALLS 3
#endif
#define THREADS 2
#define LOCATIONS 2
#define PLAIN 1
#define MESSAGES (2*CALLS+1)
#ifndef PUT
#define PUT RELEASE
#endif
#ifndef TELL
#define TELL RELEASE
#endif
#ifndef ASK
#define ASK ACQUIRE
#endif
#ifndef SEE
#define SEE ACQUIRE
#endif
#include "weak.pml"
#define call 0
#define bytes 1

proctype Teller(byte me) { byte k=1;
  do
  :: k<=CALLS -> if
       :: skip /* it did not wait in this one */
       ::
#ifndef WITHDRAW
          store(call, 0, RELAXED);
#endif
          store(bytes, 10+k, PUT); store(call, k, TELL)
       fi; k++
  :: else -> break
  od; leave() }
proctype Asker(byte me) { byte v, theirs, k=1;
  do
  :: k<=CALLS ->
     load(call, ASK, v);
     if :: v==k -> load(bytes, SEE, theirs); load(call, RELAXED, v);
           if :: v==k -> assert(theirs==10+k) :: else fi
        :: else fi;
     if :: k++ :: skip; break fi
  :: else -> break
  od; leave() }
init { atomic { run Teller(0); run Asker(1) } }
