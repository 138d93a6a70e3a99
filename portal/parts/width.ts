// The width of an element, so that charts are drawn to fit and their labels stay legible.

import { type RefObject, useEffect, useRef, useState } from "react";

export function useWidth<T extends Element>(
  usual: number,
): readonly [place: RefObject<T | null>, width: number] {
  const place = useRef<T>(null);
  const [width, setWidth] = useState(usual);
  useEffect(() => {
    if (place.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(120, Math.floor(entry.contentRect.width)));
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}
