// Numbers as people read them. The same rules as src/base/text/human.c, so that page and terminal
// agree.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/**
 * Rounds as C's printf does: a value halfway between two numbers goes to the even one. toFixed
 * takes the larger.
 */
function fixed(value: number, decimals: number): string {
  const units = value * 10 ** decimals;
  const below = Math.floor(units);
  const isTie = units - below === 0.5 && below % 2 === 0;
  return (isTie ? below / 10 ** decimals : value).toFixed(decimals);
}

function scaled(value: number, unit: string): string {
  const decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${fixed(value, decimals)} ${unit}`;
}

export function bytes(n: number | null): string {
  if (n === null) return "not known";
  const size = Math.abs(n);
  const sign = n < 0 ? "-" : "";
  if (size < 1024) return `${sign}${Math.round(size)} B`;
  let value = size;
  let unit = 0;
  while (value >= 1023.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit++;
  }
  return sign + scaled(value, UNITS[unit]!);
}

export function delta(n: number): string {
  return (n > 0 ? "+" : "") + bytes(n);
}

export function count(n: number): string {
  return Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 block", "2 blocks" */
export function plural(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

export function exactBytes(n: number): string {
  return `${count(n)} B`;
}

export function duration(us: number): string {
  const sign = us < 0 ? "-" : "";
  const left = Math.abs(us);
  const seconds = Math.floor(left / 1e6);
  if (left < 1000) return `${sign}${Math.round(left)} µs`;
  if (left < 1e6) return sign + scaled(left / 1e3, "ms");
  if (seconds < 120) return sign + scaled(left / 1e6, "s");
  if (seconds < 7200) return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  if (seconds < 172800) return `${sign}${hours} h ${String(minutes).padStart(2, "0")} min`;
  return `${sign}${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A time of an input with a clock; without one, times are numbers of events. */
export function span(us: number, hasTime: boolean): string {
  return hasTime ? duration(us) : plural(us, "event");
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value.toFixed(value !== 0 && Math.abs(value) < 10 ? 1 : 0)} %`;
}

export function address(high: number, low: number): string {
  const digits =
    high > 0 ? high.toString(16) + low.toString(16).padStart(8, "0") : low.toString(16);
  return `0x${digits}`;
}

/** A sentence's first letter; a name of a file stays as it is. */
export function capital(text: string): string {
  return /^[a-z]+(?:[ ,:]|$)/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text;
}

/** "train.py" of "/home/a/train.py". */
export function baseName(path: string): string {
  const at = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return at < 0 ? path : path.slice(at + 1);
}

/** The last two parts: enough to tell two files of one name apart. */
export function shortPath(path: string): string {
  const parts = path.split("/").filter((p) => p !== "");
  return parts.length <= 2 ? path : parts.slice(-2).join("/");
}
