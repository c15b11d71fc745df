// Sections by name, decoded when first asked for. No DOM: the text of a section comes from a
// callback.
import { COLUMNS, SCHEMA, type SectionName } from "../schema.ts";
import { PageError, decodeColumn, fromBase64, inflate } from "./decode.ts";
import type { FailureMeta, PageMeta, SectionMeta } from "./meta.ts";

export type Columns<S extends SectionName> = Record<keyof (typeof COLUMNS)[S], Float64Array>;

/** Why this page holds no data, where it says so itself. */
export function failureOf(metaText: string): FailureMeta | null {
  const meta = JSON.parse(metaText) as Partial<FailureMeta>;
  return typeof meta.failure === "string" ? (meta as FailureMeta) : null;
}

export class PageData {
  readonly meta: PageMeta;
  private readonly text: (id: string) => string | null;
  private readonly cache = new Map<string, Promise<unknown>>();

  constructor(metaText: string, text: (id: string) => string | null) {
    const meta = JSON.parse(metaText) as PageMeta;
    if (meta.schema !== SCHEMA)
      throw new PageError(
        `this page reads data of version ${SCHEMA}, but the file holds ${String(meta.schema)}`,
      );
    this.meta = meta;
    this.text = text;
  }

  /** The columns of a section; missing columns are empty, a missing section is null. */
  section<S extends SectionName>(name: S, lane?: number): Promise<Columns<S> | null> {
    const id = lane === undefined ? name : `${name}-${lane}`;
    let found = this.cache.get(id);
    if (!found) {
      found = this.load(name, id);
      this.cache.set(id, found);
    }
    return found as Promise<Columns<S> | null>;
  }

  private async load<S extends SectionName>(name: S, id: string): Promise<Columns<S> | null> {
    const meta = this.meta.sections[id];
    const text = meta ? this.text(id) : null;
    if (!meta || text === null) return null;
    const data = unpack(id, meta, text);
    const out: Record<string, Float64Array> = {};
    for (const [column, encoding] of Object.entries(COLUMNS[name])) {
      const [offset, length, cnt] = meta.columns[column] ?? [0, 0, 0];
      out[column] = decodeColumn(encoding, data.subarray(offset, offset + length), cnt);
    }
    return out as Columns<S>;
  }
}

function unpack(id: string, meta: SectionMeta, text: string): Uint8Array {
  try {
    const packed = fromBase64(text);
    const data = meta.deflate ? inflate(packed, meta.bytes) : packed;
    if (data.length === meta.bytes) return data;
    throw new PageError(`it should hold ${meta.bytes} bytes and holds ${data.length}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new PageError(`section ${id} is damaged: ${why}`);
  }
}
