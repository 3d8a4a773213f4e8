import { useEffect, useRef } from 'react';
import { follow, type Told } from './stream';

/** Follow a stream while shown; `told` may be a new function each time. */
export function useLive(path: string | null, told: (event: Told) => void): void {
  const heard = useRef(told);
  heard.current = told;
  useEffect(() => (path === null ? undefined : follow(path, (event) => heard.current(event))), [path]);
}
