// When a picture is drawn: the first time at once, in the task that shows it, because a browser
// that is busy or takes a screenshot may let the next frame come late or never; after that at most
// once per frame.

/** Runs at most once per frame, however often it is called. */
export function perFrame(work: () => void): () => void {
  let pending = false;
  return () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      work();
    });
  };
}

interface Sized {
  element: Element;
  /** drawn for this width; 0 = not drawn yet */
  width: number;
  draw: (width: number) => void;
}

const unseen = new Set<Sized>();

/** Whole pixels that the content has, without a scroll bar. 0 while the element is hidden. */
function widthOf(element: Element): number {
  return Math.min(Math.floor(element.getBoundingClientRect().width), element.clientWidth);
}

/**
 * Draws an element with its width when showFirst() finds it on the page, and after each change of
 * its width.
 */
export function onWidth(element: Element, draw: (width: number) => void): void {
  const sized: Sized = { element, width: 0, draw };
  unseen.add(sized);
  // On the next frame: a ResizeObserver reports an error when its callback changes sizes.
  const follow = perFrame(() => drawIfChanged(sized));
  new ResizeObserver(follow).observe(element);
}

function drawIfChanged(sized: Sized): void {
  const width = widthOf(sized.element);
  if (width === 0 || width === sized.width) return;
  unseen.delete(sized);
  sized.width = width;
  sized.draw(width);
}

/**
 * To be called after elements were put on the page or unhidden: draws those that were never drawn.
 */
export function showFirst(): void {
  for (const sized of unseen) drawIfChanged(sized);
}

/** A picture of an element's width. The result draws it again, once it was drawn at all. */
export function drawToWidth(element: Element, draw: (width: number) => void): () => void {
  let width = 0;
  onWidth(element, (now) => {
    width = now;
    draw(width);
  });
  const again = perFrame(() => draw(width));
  return () => {
    if (width > 0) again();
  };
}
