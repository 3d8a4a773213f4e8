/** A sentence of the server's: what stands between backticks is a name, and moments are told in the viewer's zone. */
import { Fragment } from 'react';
import { exactly } from './time';

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

export function Worded({ text }: { text: string }) {
  return text.split('`').map((part, at) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a sentence have no names but their places
    if (at % 2) return <code key={at}>{part}</code>;
    // biome-ignore lint/suspicious/noArrayIndexKey: likewise
    return <Fragment key={at}>{part.replace(MOMENT, (moment) => exactly(new Date(moment)))}</Fragment>;
  });
}
