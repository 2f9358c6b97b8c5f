/* examples/kvstore/members.h: when an answer may leave, and the return of a replica that was excluded.
 *
 * Member A has applied the one set there is. It tells its clients of it as soon as all members have published as much;
 * somebody excludes R at any time. R learns of the set late or never, and answers gets. Once anybody was told of the new
 * value, no get that is looked up afterwards may be answered with the old one.
 *
 * Each step is one access to shared memory, and they are seq_cst, so their interleavings are all there is. RELEASE: A's
 * line waits in a store buffer, also while A looks at the word; what A tells leaves the buffer behind it.
 * Faults: AT_ONCE: R returns without reading how far the others are. NOT_AGAIN: an answer that was prepared before the
 * return leaves after it. NO_LAST_LOOK: R does not look at the word before an answer leaves. NO_WAIT: A tells of the
 * set as soon as it has applied it. A is never excluded itself. */
byte line_a, line_r;  /* how far each has published */
bool excluded;        /* R */
bool told;            /* somebody knows of the new value */
bool buffered;        /* A's line is on its way */

active proctype A() {
  byte other; bool without;
#ifdef RELEASE
  buffered = true;
#else
  line_a = 1;
#endif
end:
  do
  :: true ->
     other = line_r; without = excluded;
     if
#ifdef NO_WAIT
     :: true -> told = true
#else
     :: without || other == 1 -> !buffered; told = true
#endif
     :: else
     fi
  od
}

active proctype Buffer() { end: buffered -> atomic { line_a = 1; buffered = false } }

active proctype Impatient() {
end:
  do
  :: !excluded -> excluded = true
  od
}

active proctype R() {
  byte applied, from, answer; bool asked, returning, told_before;
end:
  do
  :: applied == 0 -> applied = 1; line_r = 1  /* it may, or not */
  :: excluded -> returning = true;
     excluded = false;
#ifdef AT_ONCE
     from = 0
#else
     from = line_a
#endif
  :: returning && applied >= from -> returning = false;
#ifndef NOT_AGAIN
     answer = applied
#endif
  :: !asked -> atomic { asked = true; answer = applied; told_before = told }
  :: asked && !returning ->
     if
     :: answer == 0 || line_a == 1 ->
#ifndef NO_LAST_LOOK
        if
        :: excluded
        :: else ->
           assert(answer == 1 || !told_before); asked = false
        fi
#else
        assert(answer == 1 || !told_before); asked = false
#endif
     :: else
     fi
  od
}
