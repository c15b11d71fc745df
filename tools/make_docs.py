#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the documentation as a site: BUILD/docs-site/site. Usage: make_docs.py BUILD

Pages are the documents as they are: those of docs/, README.md as the first page, and what else it links to. Links to pages lead to
their place in the site; links to other files of the repository become plain text. mkdocs draws them (strict: a warning fails), then
every link and anchor of the result is followed, and nothing may be loaded from another host. What is not in the navigation of
docs/mkdocs.yml is an error."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import yaml
from source_tree import ROOT

DOCS = ROOT / "docs"
# Documents outside docs/, and their names in the site.
OTHERS = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "ARCHITECTURE.md": "architecture.md",
          "CONTRIBUTING.md": "contributing.md", "tests/README.md": "tests.md"}
PICTURES = (".png", ".svg")
CSS = """.md-grid { max-width: 82rem; }
.md-typeset table:not([class]) { display: table; font-size: 0.66rem; width: 100%; }
.md-typeset table:not([class]) th { min-width: 3rem; }
.md-typeset table:not([class]) td, .md-typeset table:not([class]) th { padding: 0.4em 0.8em; }
.md-typeset table:not([class]) code { word-break: normal; overflow-wrap: anywhere; font-size: 0.92em; }
@media (min-width: 60em) { .md-typeset table:not([class]) td:first-child code { overflow-wrap: break-word; } }
.md-typeset h1, .md-typeset h2 { font-weight: 500; }
.md-typeset__scrollwrap { overflow-x: auto; }
"""


def fail(text):
    sys.exit(f"make docs: {text}")


# --- Pages -----------------------------------------------------------------------------------------------------------

def pages():
    """{document: its name in the site}."""
    found = {ROOT / source: name for source, name in OTHERS.items()}
    # docs/README.md is the index for who reads the folder; the site has its navigation instead.
    found |= {path: str(path.relative_to(DOCS)) for path in sorted(DOCS.rglob("*.md")) if path != DOCS / "README.md"}
    found[DOCS / "cli" / "README.md"] = "cli/index.md"
    return found


def relative(target, base):
    """The path of one page of the site, seen from another one."""
    up = "../" * (len(Path(base).parts) - 1)
    return f"{up}{target}"


def nav_titles(part):
    """{page: the name it has in the navigation}."""
    if isinstance(part, list):
        return {name: title for entry in part for name, title in nav_titles(entry).items()}
    if isinstance(part, dict):
        return {name: title for head, below in part.items()
                for name, title in ({below: head} if isinstance(below, str) else nav_titles(below)).items()}
    return {}


TITLES = nav_titles(yaml.safe_load((DOCS / "mkdocs.yml").read_text())["nav"])


def with_links(text, document, names):
    """Links as they must be in the site, with titles instead of file names. Blocks are left alone."""
    def change(match):
        label, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        there = (document.parent / path).resolve()
        indexes = {DOCS / "README.md": ROOT / "README.md", DOCS: ROOT / "README.md", DOCS / "cli": DOCS / "cli" / "README.md"}
        there = indexes.get(there, there)
        if there in names:
            # "[compat.md](compat.md)" is good in a folder, not in a site.
            is_file = re.fullmatch(r"[\w./-]+\.md", label) and there not in (ROOT / "README.md", document)
            label = TITLES.get(names[there], label) if is_file else label
            return f"[{label}]({relative(names[there], names[document])}{'#' + anchor if anchor else ''})"
        if there.suffix in PICTURES and match[0].startswith("!"):
            return f"![{label}]({relative(there.name, names[document])})"
        return label

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else re.sub(r"!?\[([^\]]*)\]\(([^)\s]+)\)", change, part) for part in parts)


def with_bars(line):
    """A bar in code in a table is written with a backslash, which GitHub takes away and mkdocs shows."""
    return re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), line)


def with_lists(text):
    """What GitHub and mkdocs read differently: a list or table right after a paragraph wants an empty line before it; bars in tables."""
    lines, result, is_code = text.split("\n"), [], False
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        is_code ^= line.startswith("```")
        begins = re.match(r"([-*] |\d+\. |\|)", line)
        if begins and not is_code and before.strip() and not re.match(r"([-*] |\d+\. |\||\s|#)", before):
            result.append("")
        result.append(with_bars(line) if line.startswith("|") and not is_code else line)
    return "\n".join(result)


def write_pages(folder):
    names = pages()
    for document, name in names.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_lists(with_links(document.read_text(), document, names)))
    for picture in DOCS.rglob("*"):
        if picture.suffix in PICTURES:
            shutil.copy(picture, folder)
    (folder / "site.css").write_text(CSS)
    return names


def title(path):
    return path.read_text().split("\n", 1)[0].lstrip("# ")


def settings(folder, names):
    made = yaml.safe_load((DOCS / "mkdocs.yml").read_text())
    commands = sorted(name for name in names.values() if name.startswith("cli/") and name != "cli/index.md")
    decisions = sorted(name for name in names.values() if name.startswith("decisions/"))
    for part in made["nav"]:
        if "Commands" in part:
            part["Commands"] = [{"All commands": "cli/index.md"}] + [{title(folder / name): name} for name in commands]
        if "Develop" in part:
            part["Develop"][-1] = {"Decisions": [{title(folder / name): name} for name in decisions]}
    missing = set(names.values()) - set(re.findall(r"[\w./-]+\.md", yaml.safe_dump(made["nav"])))
    if missing:
        fail(f"not in the navigation of docs/mkdocs.yml: {', '.join(sorted(missing))}")
    return made


# --- Links of the result ---------------------------------------------------------------------------------------------

class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        text = path.read_text()
        self.has_bars = re.search(r"<td[^>]*>[^\n]*\\\|", text) is not None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        source = found.get("src") or (found.get("href") if tag == "link" else None)
        if source:
            self.loaded.append(source)


def check_site(site):
    made = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    wrong, links = [], 0
    for path, page in made.items():
        wrong += [f"{path.relative_to(site)} loads {url}" for url in page.loaded if re.match(r"(https?:)?//", url)]
        wrong += [f"{path.relative_to(site)} shows a backslash before a bar in a table"] * page.has_bars
        for link in page.links + page.loaded:
            # 404.html has absolute links, because it is shown for any path.
            if re.match(r"[a-z]+:|//", link) or path.name == "404.html":
                continue
            links += 1
            target, _, anchor = link.partition("#")
            there = (path.parent / target).resolve() if target else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists():
                wrong.append(f"{path.relative_to(site)}: {link} does not exist")
            elif anchor and there in made and anchor not in made[there].ids:
                wrong.append(f"{path.relative_to(site)}: {link} has no such heading")
    if wrong:
        fail("\n  ".join([f"{len(wrong)} things are wrong", *wrong[:40]]))
    return len(made), links


def main(argv):
    work = Path(argv[0]).resolve() / "docs-site"
    shutil.rmtree(work, ignore_errors=True)
    names = write_pages(work / "pages")
    (work / "mkdocs.yml").write_text(yaml.safe_dump(settings(work / "pages", names), sort_keys=False))
    done = subprocess.run(["/usr/bin/mkdocs", "build", "--strict", "--quiet", "-f", work / "mkdocs.yml"], capture_output=True, text=True)
    if done.returncode or done.stderr.strip():
        fail(f"mkdocs\n{done.stdout}{done.stderr}")
    count, links = check_site(work / "site")
    print(f"{work / 'site' / 'index.html'}: {count} pages, {links} links followed")


if __name__ == "__main__":
    main(sys.argv[1:])
