// Bytes of a section into columns. No DOM.
import { unzlibSync } from "fflate";
import type { Encoding } from "../schema.ts";

export class PageError extends Error {}

export function fromBase64(text: string): Uint8Array {
  const raw = atob(text.trim());
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

const ADLER_PRIME = 65521;
/** This many additions stay exact integers before the remainder must be taken. */
const ADLER_RUN = 5552;

function adler32(data: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < data.length; at += ADLER_RUN) {
    const end = Math.min(at + ADLER_RUN, data.length);
    for (let i = at; i < end; i++) {
      low += data[i]!;
      high += low;
    }
    low %= ADLER_PRIME;
    high %= ADLER_PRIME;
  }
  return high * 65536 + low;
}

/**
 * Decompresses zlib's deflate; `size` is the size of the result. Not by the browser's
 * DecompressionStream, which answers in a later task: the page would be loaded, and a screenshot
 * taken, before anything is drawn.
 */
export function inflate(data: Uint8Array, size: number): Uint8Array {
  const out = unzlibSync(data, { out: new Uint8Array(size) });
  const sum = new DataView(data.buffer, data.byteOffset).getUint32(data.length - 4);
  if (sum !== adler32(out)) throw new PageError("its checksum differs");
  return out;
}

/** LEB128 into doubles: exact below 2^53, the writer's limit. */
export function decodePlain(data: Uint8Array, cnt: number): Float64Array {
  const out = new Float64Array(cnt);
  let at = 0;
  for (let i = 0; i < cnt; i++) {
    let byte = data[at++]!;
    let value = byte & 0x7f;
    let scale = 128;
    while (byte >= 0x80) {
      byte = data[at++]!;
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    out[i] = value;
  }
  if (at !== data.length)
    throw new PageError(`a column ends at byte ${data.length}, its values at ${at}`);
  return out;
}

export function decodeDelta(data: Uint8Array, cnt: number): Float64Array {
  const out = decodePlain(data, cnt);
  let value = 0;
  for (let i = 0; i < cnt; i++) {
    const zigzag = out[i]!;
    value += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    out[i] = value;
  }
  return out;
}

export function decodeColumn(encoding: Encoding, data: Uint8Array, cnt: number): Float64Array {
  if (encoding === "plain") return decodePlain(data, cnt);
  if (encoding === "delta") return decodeDelta(data, cnt);
  return Float64Array.from(data);
}
