import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Dialog } from './Dialog';
import { Problem } from './Problem';

interface Props {
  readonly title: string;
  /** What will be touched, in a sentence. */
  readonly what: ReactNode;
  readonly verb: string;
  readonly harmful?: boolean;
  readonly close: () => void;
  readonly act: (reason: string) => Promise<unknown>;
  readonly children?: ReactNode;
}

/** Asks before acting, names what is touched, and takes a reason for the audit log. */
export function Reasoned({ title, what, verb, harmful, close, act, children }: Props) {
  const [reason, setReason] = useState('');
  const acting = useMutation({ mutationFn: () => act(reason), onSuccess: close });
  return (
    <Dialog open close={close} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          acting.mutate();
        }}
      >
        <p>{what}</p>
        {children}
        <label className="field">
          <span>Reason</span>
          <input
            className="input"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            maxLength={2000}
          />
          <small>It is kept in the audit log.</small>
        </label>
        {acting.error && <Problem error={acting.error} />}
        <footer>
          <button type="button" className="button" onClick={close}>
            Leave it
          </button>
          <button
            type="submit"
            className={harmful ? 'button harm' : 'button primary'}
            disabled={acting.isPending}
          >
            {verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
