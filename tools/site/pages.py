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


def on_page_markdown(markdown, page, config, files):
    markdown = turned(markdown, "../")
    return re.sub(r"^```c\+\+ (\S+)$", r'```cpp title="\1"', markdown, flags=re.M)
