"""``python -m tests.reliability.model``: explores everything and writes docs/guarantees-model.md."""

from __future__ import annotations

import sys
import time

from tests.reliability.model.cases import LIMITS, MAIN, MUTANTS, SOUND, SPARE, Case
from tests.reliability.model.explorer import Result
from tests.reliability.model.page import PAGE, page


def main() -> int:
    """Return 1 if a case ended otherwise than it should."""
    results: dict[Case, Result] = {}
    wrong = 0
    for case in (MAIN, *SOUND, *MUTANTS, *LIMITS, *SPARE):
        start = time.process_time()
        results[case] = result = case.run()
        verdict = "as it should be" if result.broken == case.broken else f"EXPECTED {case.broken or 'no breach'}"
        wrong += result.broken != case.broken
        seconds = time.process_time() - start
        sys.stderr.write(f"{case.name}: {result.states:,} states, {seconds:.1f} s, {result.broken or 'sound'}: {verdict}\n")
    if not wrong:
        PAGE.write_text(page(results), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
