// Bytes of a section into columns. No DOM.
import type { Encoding } from "../schema.ts";

export class PageError extends Error {}

export function fromBase64(text: string): Uint8Array {
  const raw = atob(text.trim());
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

export async function inflate(data: Uint8Array): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined")
    throw new PageError(
      "this browser has no DecompressionStream; use a version from 2023 or later",
    );
  const stream = new Blob([data as BlobPart])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** LEB128 into doubles: exact below 2^53, which the writer keeps to. */
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
