"""The docs site builds, its links lead somewhere, and its reference names all that can be declared and typed."""

import subprocess
import sys

import pytest
import typer

from contracts.calendar_entries import Entry, Times
from contracts.feeds import Feed
from contracts.queries import Query
from stack.commands.cli import app
from stack.instance import ROOT


def built(config, site) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", config, "--site-dir", site]
    return subprocess.run(command, cwd=ROOT, env={"NO_MKDOCS_2_WARNING": "1", "HOME": str(site)}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = built(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_on_the_site(site):
    pages = {str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in (ROOT / "docs").rglob("*.md")}
    beside = {"index.html", "contributing.html", "changelog.html", "performance.html", "samples.html", "tests.html"}
    generated = {f"reference/{name}.html" for name in ("declarations", "sundial", "jobs")}
    found = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    reports = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.html")}
    assert found == pages | reports | beside | generated | {"404.html"}


@pytest.mark.parametrize("model", [Feed, Entry, Times, Query])
def test_the_reference_names_every_field_of_a_declaration(site, model):
    page = (site / "reference/declarations.html").read_text()
    assert not [name for name in model.model_fields if f"<td><code>{name}</code></td>" not in page]


def test_the_reference_names_every_command_and_job(site):
    page = (site / "reference/sundial.html").read_text()
    assert not [name for name in typer.main.get_group(app).commands if f"<code>sundial {name}</code>" not in page]
    page = (site / "reference/jobs.html").read_text()
    entry_points = [file.stem for file in (ROOT / "jobs").glob("*.py") if "def main(" in file.read_text()]
    assert not [name for name in entry_points if f"usage: {name} [-h]" not in page]


def built_small(folder, **pages) -> subprocess.CompletedProcess:
    """A site of those pages, of which `index` and `there` are in its navigation, by the settings of the real one."""
    docs = folder / "docs"
    docs.mkdir()
    for name, text in {"index": "# Here", "there": "# There", **pages}.items():
        (docs / f"{name}.md").write_text(text)
    config = folder / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {docs}\nhooks: []\nnav: [index.md, there.md]\n")
    return built(config, folder / "site")


@pytest.mark.parametrize("link", ["nowhere.md", "there.md#nowhere"])
def test_a_broken_link_fails(link, tmp_path):
    done = built_small(tmp_path, index=f"# Here\n\n[a link]({link})\n")
    assert done.returncode != 0
    assert f"'{link}'" in done.stderr


def test_a_page_outside_the_navigation_fails(tmp_path):
    done = built_small(tmp_path, lost="# Lost")
    assert done.returncode != 0
    assert "lost.md" in done.stderr


def test_a_small_site_without_a_fault_builds(tmp_path):
    done = built_small(tmp_path, index="# Here\n\n[a link](there.md#there)\n")
    assert done.returncode == 0, done.stderr
