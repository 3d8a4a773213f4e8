import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from './Dialog';
import { Problem } from './Problem';

export interface Asking {
  readonly title: string;
  /** What will be touched, in a sentence. */
  readonly what: ReactNode;
  readonly verb: string;
  readonly harmful?: boolean;
  readonly close: () => void;
  readonly children?: ReactNode;
}

/** Asks before acting, and names what is touched. */
export function Asked(props: Asking & { readonly act: () => Promise<unknown> }) {
  const acting = useMutation({ mutationFn: props.act, onSuccess: props.close });
  return (
    <Dialog open close={props.close} title={props.title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          acting.mutate();
        }}
      >
        <p>{props.what}</p>
        {props.children}
        {acting.error && <Problem error={acting.error} />}
        <footer>
          <button type="button" className="button" onClick={props.close}>
            Leave it
          </button>
          <button
            type="submit"
            className={props.harmful ? 'button harm' : 'button primary'}
            disabled={acting.isPending}
          >
            {props.verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
