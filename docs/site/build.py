"""Render the site: python docs/site/build.py [SOURCE TARGET [OPTION...]]; a warning is an error.

A link to nowhere is a warning, so it stops the site.
"""

import sys
from pathlib import Path

from sphinx.cmd.build import main

HERE = Path(__file__).parent


def build(source: Path, target: Path, *options: str) -> int:
    """0 when every page was rendered without a warning; the first page is TARGET/html/index.html."""
    folders = ["-c", str(HERE), "-d", str(target / "doctrees"), str(source), str(target / "html")]
    return int(main(["-q", "-W", "--keep-going", *options, *folders]))


if __name__ == "__main__":
    source, target, *options = sys.argv[1:] or [str(HERE.parent), str(HERE.parent / "_build")]
    sys.exit(build(Path(source), Path(target), *options))
