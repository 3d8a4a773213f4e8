import { useEffect, useState } from 'react';

/** What a value was when it last stood still for a moment: for asking the server while somebody types. */
export function useSettled<T>(value: T): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const soon = setTimeout(() => settle(value), 250);
    return () => clearTimeout(soon);
  }, [value]);
  return settled;
}
