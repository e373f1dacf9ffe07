"""Runs the examples and writes their output and figures into docs/examples.md and docs/images.

python tools/write_examples_page.py [NAME...]
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "examples.md"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = sys.argv[1:] or re.findall(r"\(\.\./examples/(\w+)\.py\)", page)
    for name in names:
        picture = ROOT / "docs" / "images" / f"example_{name}.png"
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), str(picture)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines = [line for line in printed.splitlines() if line.strip() and not line.startswith("wrote ")]
        block = re.compile(rf"(\(\.\./examples/{name}\.py\).*?```text\n).*?(```)", re.DOTALL)
        before, inside = block.search(page), "\n".join(lines)
        if before is None:
            raise SystemExit(f"docs/examples.md has no text block for {name}")
        page = f"{page[: before.end(1)]}{inside}\n{page[before.start(2) :]}"
        print(f"{name}: {len(lines)} lines", flush=True)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
