// Which lane a page opens with: the one that the verdict is about.
import type { FindingMeta, LaneMeta, PageMeta } from "./meta.ts";

type Answer = Pick<PageMeta, "mode" | "verdict" | "lanes" | "findings" | "oom">;

const SEVERITIES: FindingMeta["severity"][] = ["critical", "warning"];

/**
 * The lane of the most severe finding of the verdict's kind; else of the most severe finding that
 * is not a remark; else the one with the highest peak. A comparison opens with its later input.
 */
export function firstLane(page: Answer): number {
  const all = [...page.lanes.keys()];
  const later = page.mode === "diff" ? all.filter((lane) => page.lanes[lane]!.input === 1) : [];
  const lanes = later.length > 0 ? later : all;
  return blamed(page).find((lane) => lanes.includes(lane)) ?? highestPeak(page.lanes, lanes);
}

/** Lanes that findings name, the verdict's own first. */
function blamed({ verdict, findings, oom }: Answer): number[] {
  const bySeverity = SEVERITIES.flatMap((s) => findings.filter((f) => f.severity === s));
  const own = findings.filter((f) => f.kind === verdict);
  const ofVerdict = [
    ...bySeverity.filter((f) => f.kind === verdict),
    ...own.filter((f) => !SEVERITIES.includes(f.severity)),
  ];
  const failed = verdict === "oom" && oom ? [oom.lane] : [];
  return [...failed, ...[...ofVerdict, ...bySeverity].map((f) => f.lane)].filter((l) => l !== null);
}

function highestPeak(lanes: LaneMeta[], among: number[]): number {
  const peak = (lane: number): number => lanes[lane]!.peak_bytes ?? lanes[lane]!.live_bytes;
  const events = (lane: number): number => lanes[lane]!.events;
  return among.reduce((best, lane) => {
    const more = peak(lane) - peak(best) || events(lane) - events(best);
    return more > 0 ? lane : best;
  });
}
