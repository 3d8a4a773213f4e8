import { type RefObject, useLayoutEffect } from 'react';

const [SMALLEST, LARGEST] = [12, 72];

/** As large as it can be and still be seen whole: the size of a wall's type, by which all on it is measured. Looked
 * at anew where `shape`, what there is to be shown, is another. */
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
    return () => {
      removeEventListener('resize', enlarge);
      element.style.removeProperty('font-size');
    };
  }, [board, wall, shape]);
}
