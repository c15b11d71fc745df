// Alerts over a plot: a button for each, which says which threshold was crossed, for pointer,
// keyboard and screen reader.
import type uPlot from "uplot";
import * as fmt from "../model/format.ts";
import type { AlertMeta } from "../model/meta.ts";
import { h, replace } from "./dom.ts";

export function alertText(alert: AlertMeta): string {
  const threshold = fmt.bytes(alert.threshold_bytes);
  return `${alert.text}: ${fmt.bytes(alert.value_bytes)}, threshold ${threshold}`;
}

/** "Alert 241 ms after the start, host memory: …" */
export function alertSentence(alert: AlertMeta): string {
  const where = alert.device < 0 ? ", host memory" : "";
  return `Alert ${fmt.duration(alert.time_us)} after the start${where}: ${alertText(alert)}`;
}

export interface AlertMarks {
  /** puts the marks where they belong after the plot was drawn */
  place: (u: uPlot, toX: (us: number) => number) => void;
}

export function alertMarks(
  alerts: AlertMeta[],
  choose: (alert: AlertMeta) => void,
  say: (text: string) => void,
): AlertMarks {
  const buttons = alerts.map((alert) =>
    h("button", {
      type: "button",
      class: "alert-mark",
      title: alertSentence(alert),
      "aria-label": alertSentence(alert),
      on: {
        click: (e) => {
          e.stopPropagation();
          choose(alert);
        },
        focus: () => say(alertSentence(alert)),
        mouseenter: () => say(alertSentence(alert)),
      },
    }),
  );
  const box = h("div", { class: "alert-marks" });
  replace(box, ...buttons);
  return {
    place: (u, toX) => {
      if (alerts.length === 0) return;
      if (box.parentElement !== u.over) u.over.append(box);
      alerts.forEach((alert, i) => {
        const x = u.valToPos(toX(alert.time_us), "x");
        buttons[i]!.hidden = !(x >= 0 && x <= u.over.clientWidth);
        buttons[i]!.style.left = `${x}px`;
      });
    },
  };
}

/** Every alert in words. */
export function alertList(alerts: AlertMeta[]): HTMLElement | null {
  if (alerts.length === 0) return null;
  return h("ul", { class: "alerts" }, ...alerts.map((a) => h("li", {}, alertSentence(a))));
}
