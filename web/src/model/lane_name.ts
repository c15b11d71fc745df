// What a lane is called where there are several.
import * as fmt from "./format.ts";
import type { PageMeta } from "./meta.ts";

export function laneName(meta: PageMeta, index: number): string {
  const lane = meta.lanes[index]!;
  const place = lane.device < 0 ? "host" : `device ${lane.device}`;
  const device = lane.rank === null ? place : `rank ${lane.rank}, ${place}`;
  const { name, path } = meta.inputs[lane.input]!;
  return meta.inputs.length > 1 ? `${name ?? fmt.shortPath(path)}, ${device}` : device;
}
