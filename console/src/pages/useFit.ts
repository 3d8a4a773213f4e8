import { type RefObject, useLayoutEffect } from 'react';

const [SMALLEST, LARGEST] = [12, 72];
/** How long a part of what does not fit stays in sight. */
export const TURN = 10_000;

/** As large as it can be and still be seen whole: the size of a wall's type, by which all on it is measured. What does
 * not fit where it can just be read is shown part by part. Looked at anew where `shape`, what there is to be shown, is
 * another. */
export function useFit(board: RefObject<HTMLElement | null>, wall: boolean, shape: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown decides the size, and is not read here
  useLayoutEffect(() => {
    const element = board.current;
    if (!element || !wall) return undefined;
    const enlarge = () => {
      let [small, large] = [SMALLEST, LARGEST];
      while (large - small > 0.5) {
        const size = (small + large) / 2;
        element.style.fontSize = `${size}px`;
        if (element.scrollHeight <= element.clientHeight) small = size;
        else large = size;
      }
      element.style.fontSize = `${small}px`;
    };
    enlarge();
    addEventListener('resize', enlarge);
    const turning = setInterval(() => turn(element), TURN);
    return () => {
      clearInterval(turning);
      removeEventListener('resize', enlarge);
      element.style.removeProperty('font-size');
    };
  }, [board, wall, shape]);
}

/** On to the next part, and from the last one back to the first. */
function turn(element: HTMLElement): void {
  const atTheEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
  // A little less than what is in sight: nothing is cut in two by the edge without being seen whole once.
  element.scrollTop = atTheEnd ? 0 : element.scrollTop + element.clientHeight * 0.85;
}
