import { useState } from 'react';
import type { Schemas } from '../api/client';
import { Reasoned } from '../ui/Reasoned';
import { BulkJob } from './BulkJob';

interface Props {
  readonly of: 'executions' | 'letters';
  /** `Cancel 3 executions of Renewals`. */
  readonly title: string;
  readonly what: string;
  readonly verb: string;
  readonly harmful?: boolean;
  /** Has it accepted; what it answers is followed. */
  readonly begin: (reason: string) => Promise<Schemas['JobAccepted']>;
  readonly close: () => void;
  /** Some of it may be done by now. */
  readonly begun: () => void;
}

/** Acts on many, after it was asked for a reason, and then shows what became of each. */
export function Many({ of, begin, begun, close, ...asking }: Props) {
  const [job, follow] = useState<string | null>(null);
  if (job !== null) {
    const over = () => {
      begun();
      close();
    };
    return <BulkJob of={of} id={job} title={asking.title} close={over} />;
  }
  return (
    <Reasoned
      {...asking}
      close={close}
      stays
      act={async (reason) => {
        follow((await begin(reason)).jobId);
        begun();
      }}
    />
  );
}
