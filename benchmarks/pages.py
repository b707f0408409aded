"""`python -m benchmarks.pages`: how lens `pages` bears on a server and a large heap."""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks import pages_growth, pages_latency

RESULTS = Path(__file__).parent / "results/pages.json"


def main() -> int:
    """Measure, print the tables and keep the numbers."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pages", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=8000, help="heap in MB")
    parser.add_argument("--only", choices=["latency", "growth", "recall"])
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    sizes = tuple(one for one in pages_growth.SIZES_MB if one <= arguments.largest)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory(prefix="leakline-pages-") as folder:
        scratch = Path(folder)
        if arguments.only in (None, "latency"):
            latency = pages_latency.measure(scratch, arguments.rounds)
            print(pages_latency.render(latency), flush=True)
            known["latency_us"] = [asdict(one) for one in latency]
        if arguments.only in (None, "growth"):
            growth = pages_growth.measure(scratch, sizes, arguments.rounds)
            print(pages_growth.render(growth), flush=True)
            known["growth"] = [asdict(one) for one in growth]
        if arguments.only in (None, "recall"):
            found = pages_growth.find(scratch, sizes)
            print(pages_growth.render_found(found), flush=True)
            known["recall"] = [asdict(one) for one in found]
    arguments.output.write_text(json.dumps(known, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
