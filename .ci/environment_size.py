"""Print what the packages of this Python's environment take, largest first; fail above a limit in MB.

python .ci/environment_size.py --most 900
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import distributions
from pathlib import Path


def sizes(site: str) -> dict[str, int]:
    """Return the bytes of each package in a site-packages folder, without bytecode, which Python writes later."""
    found: dict[str, int] = {}
    for package in distributions(path=[site]):
        paths = (Path(str(package.locate_file(file))) for file in package.files or ())
        found[package.name] = sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=float("inf"), help="limit of all together, in MB")
    given = parser.parse_args()
    found = sizes(next(path for path in sys.path if path.endswith("site-packages")))
    for name, size in sorted(found.items(), key=lambda item: -item[1])[:12]:
        print(f"{size / 1e6:7.1f} MB  {name}")
    total = sum(found.values()) / 1e6
    print(f"{total:7.1f} MB  {len(found)} packages")
    if total > given.most:
        sys.exit(f"more than {given.most:g} MB")


if __name__ == "__main__":
    main()
