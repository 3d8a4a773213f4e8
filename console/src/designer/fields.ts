/** What a field of a form knows of where it is. */
import { createContext, useContext } from 'react';
import type { ProblemEntry } from '../api/client';

/** Whether what is shown may be changed. */
export const Editing = createContext(true);

/** Whether its texts are just that, and hold no expressions. */
export const Plain = createContext(false);

/** The pointer of a field, below what the form is about. */
export const At = createContext('');

/** What is wrong with what the form is about, by pointers below it. */
export const Marks = createContext<ReadonlyMap<string, ProblemEntry>>(new Map());

export function useMarked(): ProblemEntry | undefined {
  const at = useContext(At);
  return useContext(Marks).get(at);
}
