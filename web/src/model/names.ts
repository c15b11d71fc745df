// Strings, frames and stacks.
import type { Columns } from "./data.ts";
import { baseName, shortPath } from "./format.ts";

export interface Frame {
  file: string;
  function: string;
  line: number;
  user: boolean;
}

/** The file of a frame that is no code but the path of the module that ran (src/model/stack.h). */
const MODULE_FILE = "<module>";

export class Names {
  private readonly strings: string[] = [];
  private readonly first: Float64Array;
  private readonly cols: Columns<"names">;

  constructor(cols: Columns<"names">) {
    this.cols = cols;
    const bytes = Uint8Array.from(cols.text);
    const decoder = new TextDecoder(); // not UTF-8 becomes U+FFFD
    let at = 0;
    for (const length of cols.length) {
      this.strings.push(decoder.decode(bytes.subarray(at, at + length)));
      at += length;
    }
    this.first = new Float64Array(cols.stack_depth.length + 1);
    for (let i = 0; i < cols.stack_depth.length; i++)
      this.first[i + 1] = this.first[i]! + cols.stack_depth[i]!;
  }

  get frameCnt(): number {
    return this.cols.frame_file.length;
  }

  get stackCnt(): number {
    return this.cols.stack_depth.length;
  }

  text(id: number): string {
    return this.strings[id] ?? "";
  }

  frame(id: number): Frame | null {
    if (id >= this.frameCnt) return null;
    return {
      file: this.text(this.cols.frame_file[id]!),
      function: this.text(this.cols.frame_function[id]!),
      line: this.cols.frame_line[id]!,
      user: this.cols.frame_user[id] === 1,
    };
  }

  isUser(frame: number): boolean {
    return this.cols.frame_user[frame] === 1;
  }

  isModule(frame: number): boolean {
    return this.text(this.cols.frame_file[frame] ?? 0) === MODULE_FILE;
  }

  /** The path of the innermost module of a stack; null when it has no module. */
  moduleOf(stack: number): string | null {
    const frame = this.stackFrames(stack).find((f) => this.isModule(f));
    return frame === undefined ? null : this.text(this.cols.frame_function[frame]!);
  }

  /** Python source, or a name that Python gives to code without a file. */
  isPython(frame: number): boolean {
    const file = this.text(this.cols.frame_file[frame] ?? 0);
    return file.endsWith(".py") || file.startsWith("<") || this.isUser(frame);
  }

  depth(stack: number): number {
    return this.cols.stack_depth[stack] ?? 0;
  }

  /** Frame ids, innermost first. */
  stackFrames(stack: number): number[] {
    if (stack >= this.stackCnt) return [];
    const first = this.first[stack]!;
    return Array.from(this.cols.stack_frame.subarray(first, first + this.depth(stack)));
  }

  /** Frame of the user's line, or of the text that says why there is none. */
  siteOf(stack: number): number {
    return this.cols.stack_site[stack] ?? 0;
  }

  /** "train.py:12 step"; only that text when there is no line */
  label(frame: number): string {
    const f = this.frame(frame);
    if (!f) return "";
    if (f.file === MODULE_FILE) return `module ${f.function}`;
    if (f.line > 0) return `${baseName(f.file)}:${f.line} ${f.function}`;
    return f.file === "" ? f.function : `${f.function} (${baseName(f.file)})`;
  }

  /** "/home/a/dir/train.py:12" */
  wholePlace(frame: number): string {
    const f = this.frame(frame);
    if (!f) return "";
    return f.line > 0 ? `${f.file}:${f.line}` : f.file;
  }

  /** "dir/train.py:12" */
  place(frame: number): string {
    const f = this.frame(frame);
    if (!f || f.file === "") return "";
    return f.line > 0 ? `${shortPath(f.file)}:${f.line}` : shortPath(f.file);
  }
}
