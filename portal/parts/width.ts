// The width of an element, so that charts are drawn to fit and their labels stay legible.

import { type RefObject, useLayoutEffect, useRef, useState } from "react";

export function useWidth<T extends Element>(
  usual: number,
): readonly [place: RefObject<T | null>, width: number] {
  const place = useRef<T>(null);
  const [width, setWidth] = useState(usual);
  // Before it is seen: the first picture is not drawn for another width.
  useLayoutEffect(() => {
    if (place.current === null) return;
    const setRoom = (room: number) => setWidth(Math.max(120, Math.floor(room)));
    setRoom(place.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setRoom(entry.contentRect.width);
    });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}
