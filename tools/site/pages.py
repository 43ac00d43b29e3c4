"""How the files of the repository become pages of the site: README, CONTRIBUTING and CHANGELOG are pages too, links between them
and docs/ are turned, and blocks that quote a file carry its name."""
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def on_files(files, config):
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text()
        text = re.sub(r"\]\(docs/([^)]*)\)", r"](\1)", text)
        files.append(File.generated(config, page, content=turned(text, "")))
    for name in ("site.css", "iframe-worker.js"):
        files.append(File.generated(config, name, content=pathlib.Path(__file__).with_name(name).read_text()))
    return files


def turned(text, up):
    for name, page in OUTSIDE.items():
        text = re.sub(rf"\]\({re.escape(up + name)}(#[^)]*)?\)", lambda m: f"]({page}{m[1] or ''})", text)
    return text


def with_program(markdown):
    """On the site, the example that a page of the gallery links to stands at its end."""
    if m := re.search(r"\]\(\.\./\.\./(examples/[\w/]+\.cpp)\)", markdown):
        markdown = markdown.replace(m[0], "](#the-whole-program)")
        markdown += f"\n## The whole program\n\n```c++ {m[1]}\n{(ROOT / m[1]).read_text()}```\n"
    return markdown


def on_page_markdown(markdown, page, config, files):
    markdown = with_program(turned(markdown, "../"))
    return re.sub(r"^```c\+\+ (\S+)$", r'```cpp title="\1"', markdown, flags=re.M)
