// Colours from the style sheet, so that light, dark and print are decided in one place.

export interface Theme {
  ink: string;
  muted: string;
  grid: string;
  paper: string;
  live: string;
  reserved: string;
  used: string;
  /** the other input of a comparison */
  other: string;
  limit: string;
  bad: string;
  warn: string;
  rest: string;
  accent: string;
  free: string;
  library: string;
  series: string[];
}

const SERIES_CNT = 12;

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: get("ink"),
    muted: get("muted"),
    grid: get("grid"),
    paper: get("paper"),
    live: get("live"),
    reserved: get("reserved"),
    used: get("used"),
    other: get("s1"),
    limit: get("limit"),
    bad: get("bad"),
    warn: get("warn"),
    rest: get("rest"),
    accent: get("accent"),
    free: get("free"),
    library: get("library"),
    series: Array.from({ length: SERIES_CNT }, (_, i) => get(`s${i}`)),
  };
}

const listeners: (() => void)[] = [];

export function onTheme(work: () => void): void {
  listeners.push(work);
}

function repaint(): void {
  listeners.forEach((l) => l());
}

/** The system's choice changed, or the page is being printed: paper has the light colours. */
for (const query of ["(prefers-color-scheme: dark)", "print"])
  matchMedia(query).addEventListener("change", repaint);

export type ThemeChoice = "system" | "light" | "dark";

const DARK_MEDIA: Record<ThemeChoice, string> = {
  system: "screen and (prefers-color-scheme: dark)",
  light: "not all",
  dark: "screen",
};

/** Decides when the dark colours hold (web/src/dark.css). */
export function setTheme(choice: ThemeChoice): void {
  document.getElementById("dark")!.setAttribute("media", DARK_MEDIA[choice]);
  repaint();
}

/** 0xAABBGGRR as a canvas stores it, from "#rrggbb". */
export function packed(hex: string, alpha = 255): number {
  const n = parseInt(hex.slice(1), 16);
  return ((alpha << 24) | ((n & 0xff) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

/** Lighter (positive) or darker (negative) by a share. */
export function shade(hex: string, share: number): string {
  const n = parseInt(hex.slice(1), 16);
  const to = share > 0 ? 255 : 0;
  const mix = (c: number): number => Math.round(c + (to - c) * Math.abs(share));
  const value = (mix(n >> 16) << 16) | (mix((n >> 8) & 255) << 8) | mix(n & 255);
  return `#${value.toString(16).padStart(6, "0")}`;
}

/** Black or white, whichever reads better on the colour. */
export function inkOn(hex: string): string {
  const n = parseInt(hex.slice(1), 16);
  const linear = (c: number): number =>
    c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
  const light =
    0.2126 * linear(n >> 16) + 0.7152 * linear((n >> 8) & 255) + 0.0722 * linear(n & 255);
  return light > 0.18 ? "#000000" : "#ffffff";
}

/** Once all colours are used they repeat, paler or darker. */
const GROUP_SHADES = [0, 0.5, -0.35, 0.72];

/** The colour of the nth group of a stacked view, which may have more groups than colours. */
export function groupColor(nth: number, t: Theme): string {
  const own = SERIES_CNT - 1;
  return shade(t.series[nth % own]!, GROUP_SHADES[Math.floor(nth / own) % GROUP_SHADES.length]!);
}

/** The colour of a line in every view: the lines that held most have a colour each. */
export function lineColors(
  groups: { frame: number | null }[],
  t: Theme,
): (frame: number) => string {
  const own = new Map<number, string>();
  groups.forEach((g, i) => {
    if (g.frame !== null) own.set(g.frame, groupColor(i, t));
  });
  return (frame) => own.get(frame) ?? stable(frame, t);
}

/** A series colour that depends only on the number, not on what else is shown. */
export function stable(id: number, t: Theme): string {
  const mixed = Math.imul(id + 1, 0x9e3779b1) >>> 0;
  const base = t.series[mixed % (SERIES_CNT - 1)]!;
  return shade(base, 0.25 + ((mixed >>> 8) % 4) * 0.08);
}
