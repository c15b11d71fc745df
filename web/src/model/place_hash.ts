// The part of a page's address after "#": where the reader was. It holds only what differs from the
// state in which the page opens, so that a fresh page has a plain address. No DOM.

export interface Place {
  lane?: number;
  view?: string;
  axis?: string;
  /** how the timeline splits the bytes */
  by?: string;
  /** events */
  from?: number;
  to?: number;
  at?: number;
  find?: string;
}

const NUMBERS = ["lane", "from", "to", "at"] as const;
const TEXTS = ["view", "axis", "by", "find"] as const;

/** "lane=1&view=flame&at=40"; "" when nothing differs. */
export function placeToHash(place: Place): string {
  const words = new URLSearchParams();
  for (const name of [...NUMBERS, ...TEXTS])
    if (place[name] !== undefined) words.set(name, String(place[name]));
  return words.toString();
}

/** Anybody may write an address: parts that are not valid are ignored. */
export function placeOfHash(hash: string): Place {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const place: Place = {};
  for (const name of NUMBERS) {
    const text = words.get(name) ?? "";
    if (/^-?\d{1,15}$/.test(text)) place[name] = Number(text);
  }
  for (const name of TEXTS) {
    const text = words.get(name);
    if (text) place[name] = text;
  }
  return place;
}
