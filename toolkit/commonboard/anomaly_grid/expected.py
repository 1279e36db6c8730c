"""What the grid is expected to say, written down from the literature before anything was proved. A test compares.

`!` permits, `.` prevents, `-` does not apply. The columns, in order: last writer wins on one copy, and between replicas;
compare-and-set by value, and by version; a CRDT between replicas; a single writer; snapshot and serializable transactions.
"""

from __future__ import annotations

from typing import Literal

Answer = Literal["permits", "prevents", "does not apply"]

_SIGNS: dict[str, Answer] = {"!": "permits", ".": "prevents", "-": "does not apply"}

_GRID = """
lost update                     ! ! . . . . . .
ABA                             ! ! ! . - . . .
check-then-act                  ! ! . . ! . . .
dirty write                     ! ! ! ! ! . . .
aborted read                    ! ! ! ! ! ! . .
intermediate read               ! ! ! ! ! ! . .
circular information flow       ! ! ! ! ! . . .
torn multi-key update           ! ! ! ! ! ! . .
read skew                       ! ! ! ! ! ! . .
write skew                      ! ! ! ! ! . ! .
phantom                         ! ! ! ! ! . ! .
read-only anomaly               ! ! ! ! ! . ! .
long fork                       . ! . . ! . . .
stale read                      . ! . . ! . . .
read your writes broken         . ! . . ! . . .
monotonic reads broken          . ! . . ! . . .
monotonic writes broken         . ! . . ! . . .
writes follow reads broken      . ! . . ! . . .
clock-skew loss                 - ! - - . - - -
forgotten write                 - ! - - ! - - -
converged but lost              - ! - - . - - -
resurrected delete              ! ! . . . . . .
semantic conflict after a merge - - . . ! . . .
"""

EXPECTED: dict[str, tuple[Answer, ...]] = {
    line[:31].strip(): tuple(_SIGNS[sign] for sign in line[31:].split()) for line in _GRID.strip().splitlines()
}
"""By row, the answers in the order of the columns."""
