"""Whether an audit log is whole, and whether it is the one that its inputs give (contract sections 1 and 9).

No I/O: records in, findings out. What can and what can't be found is told in docs/audit.md.
"""

from .findings import Finding, Head, Seen, Summary, read_heads, seen_line
from .recompute import Recomputed
from .verifier import AUDITED, Verifier

__all__ = ["AUDITED", "Finding", "Head", "Recomputed", "Seen", "Summary", "Verifier", "read_heads", "seen_line"]
