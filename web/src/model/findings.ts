// The same finding on several ranks is one card: a page of 512 ranks must not begin with 512 cards.
import type { FindingMeta, PageMeta } from "./meta.ts";

export interface FindingGroup {
  /** the one with the most bytes */
  lead: FindingMeta;
  others: FindingMeta[];
}

const SEVERITIES: FindingMeta["severity"][] = ["critical", "warning", "info"];

/** The finding that the verdict is about; null where nothing is wrong. */
export function leadFinding({
  verdict,
  findings,
}: Pick<PageMeta, "verdict" | "findings">): FindingMeta | null {
  const own = findings.filter((f) => f.kind === verdict);
  return SEVERITIES.flatMap((s) => own.filter((f) => f.severity === s))[0] ?? null;
}

/** The finding whose advice to show: if a request failed because of a leak, the leak. */
export function findingToFix(
  page: Pick<PageMeta, "verdict" | "findings" | "oom">,
): FindingMeta | null {
  const lead = leadFinding(page);
  if (page.verdict !== "oom" || page.oom?.cause !== "leak") return lead;
  return leadFinding({ verdict: "leak", findings: page.findings }) ?? lead;
}

/** Same kind, same line, another lane. In the order of the first of each. */
export function groupFindings(findings: FindingMeta[]): FindingGroup[] {
  const groups = new Map<string, FindingMeta[]>();
  findings.forEach((f, i) => {
    const key = JSON.stringify([f.kind, f.subkind, f.severity, f.site]);
    const known = groups.get(key);
    if (!known) groups.set(key, [f]);
    else if (f.lane === null || known.some((k) => k.lane === f.lane))
      groups.set(`${key}#${i}`, [f]);
    else known.push(f);
  });
  return [...groups.values()].map((all) => {
    const lead = all.reduce((a, b) => ((b.bytes ?? 0) > (a.bytes ?? 0) ? b : a));
    return { lead, others: all.filter((f) => f !== lead) };
  });
}
