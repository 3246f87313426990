"""Pages of the site that stand beside the code, and links between all of them as they are in the repository."""

import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

REPO = Path(__file__).parents[2]
# Where each page is in the repository: where it is on the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "performance.md",
    "samples/README.md": "samples.md",
    "tests/README.md": "tests.md",
}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def on_files(files, config):
    for path, page in PAGES.items():
        files.append(File.generated(config, page, content=(REPO / path).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links as relative paths of the site. Raises PluginError for one to a file that is not in the repository."""
    on_site = page.file.src_uri
    here = next((path for path, name in PAGES.items() if name == on_site), f"docs/{on_site}")

    def moved(link: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        place = PAGES.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
        if place is None:
            raise PluginError(f"{here}: the link to {link[1]} is to no page of the site; name the file in backquotes instead")
        return posixpath.relpath(place, posixpath.dirname(on_site) or ".") + (link[2] or "")

    return LINK.sub(moved, markdown)
