// A place in the code, "train.py:12": plain text, or a link that opens it in an editor where the
// reader chose one.
import { prefer, preferences } from "../preferences.ts";
import { h, type Child } from "./dom.ts";

interface Editor {
  name: string;
  link: (file: string, line: number) => string;
}

/** Like encodeURI, but also encodes the characters that would end the path. */
function encoded(file: string): string {
  return encodeURI(file).replace(/[?#]/g, encodeURIComponent);
}

function codeFamily(scheme: string): Editor["link"] {
  return (file, line) =>
    `${scheme}://file/${encoded(file.replace(/^\//, ""))}:${Math.max(line, 1)}`;
}

export const EDITORS: Record<string, Editor> = {
  vscode: { name: "VS Code", link: codeFamily("vscode") },
  vscodium: { name: "VSCodium", link: codeFamily("vscodium") },
  cursor: { name: "Cursor", link: codeFamily("cursor") },
  idea: {
    name: "PyCharm, IntelliJ",
    link: (file, line) => `idea://open?file=${encodeURIComponent(file)}&line=${Math.max(line, 1)}`,
  },
};

/** Only an absolute path identifies a file: "/a/b.py", "C:\\a\\b.py". */
function isWhole(file: string): boolean {
  return /^(\/|[A-Za-z]:[\\/])/.test(file);
}

function point(link: HTMLElement): void {
  const editor = EDITORS[preferences().editor];
  const { file, line } = link.dataset;
  if (editor && isWhole(file!)) link.setAttribute("href", editor.link(file!, Number(line)));
  else link.removeAttribute("href");
}

/** An anchor without a target is plain text. */
export function placeLink(file: string, line: number, ...text: Child[]): HTMLElement {
  const link = h("a", { class: "place", "data-file": file, "data-line": line }, ...text);
  point(link);
  return link;
}

/** "" = no links. */
export function setEditor(key: string): void {
  prefer({ editor: key });
  document.querySelectorAll<HTMLElement>("a.place").forEach(point);
}
