// The reader's preferences for all pages: stored by the browser if it allows that.
import type { ThemeChoice } from "./draw/colors.ts";

export interface Preferences {
  theme: ThemeChoice;
  /** a key of EDITORS (draw/place.ts); "" = places are plain text */
  editor: string;
}

const KEY = "stormlog.preferences";
const DEFAULTS: Preferences = { theme: "system", editor: "" };

/** A page from disk may have no storage, and what is stored may be anything. */
function read(): Preferences {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, unknown>;
    const { theme, editor } = { ...DEFAULTS, ...stored };
    return {
      theme: theme === "light" || theme === "dark" ? theme : "system",
      editor: typeof editor === "string" ? editor : "",
    };
  } catch {
    return { ...DEFAULTS };
  }
}

const current = read();

export function preferences(): Readonly<Preferences> {
  return current;
}

export function prefer(change: Partial<Preferences>): void {
  Object.assign(current, change);
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Then the choice is valid for this page until it is closed.
  }
}
