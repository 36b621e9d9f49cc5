"""Builds the documentation site into `site/`: docs/, the READMEs, and a page for every problem of the catalogue.

    pip install -e '.[docs]' && python tools/make_site.py [--only-lay-out]

The pages open from the folder and fetch nothing from elsewhere; their search wants a server, such as
`python -m http.server -d site`. The build fails on a link that leads nowhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAID_OUT = ROOT / "build" / "docs"
#: files of the root that are pages, too
PAGES = ("README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md")
#: links between the root and docs/, which become one folder
_DOWN = re.compile(r"(\]\()docs/")
_UP = re.compile(r"(\]\()\.\./(?=(?:README|CONTRIBUTING|CHANGELOG)\b)")


def lay_out(folder: Path) -> int:
    """Put all pages into a folder, which is emptied first; how many there are."""
    from doctor.catalogue.pages.docs import pages, write

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for name in PAGES:
        shutil.copy(ROOT / name, folder / name)
    for page in folder.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_UP.sub(r"\1", _DOWN.sub(r"\1", text)), encoding="utf-8")
    write(folder / "problems", pages())
    return sum(1 for _ in folder.rglob("*.md"))


def main() -> int:
    """Lay out, and build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only-lay-out", action="store_true", help="stop before MkDocs")
    options = parser.parse_args()
    print(f"{lay_out(LAID_OUT)} pages in {LAID_OUT}")
    if options.only_lay_out:
        return 0
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # Material's word on its own future
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    return subprocess.run(build, cwd=ROOT, env=quiet, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
