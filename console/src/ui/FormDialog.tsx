import type { ReactNode } from 'react';
import { Dialog } from './Dialog';
import { Problem } from './Problem';

interface Props {
  readonly title: string;
  readonly wide?: boolean;
  readonly close: () => void;
  /** What is done with what was typed. */
  readonly acting: { readonly mutate: () => void; readonly error: Error | null; readonly isPending: boolean };
  /** Without one, it is only shown. */
  readonly verb?: string | undefined;
  readonly harmful?: boolean | undefined;
  readonly leave?: string;
  /** What else could be done. */
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

/** Something to type, and a button that acts on it; stays open with what was wrong. */
export function FormDialog({ acting, leave = 'Not now', ...props }: Props) {
  return (
    <Dialog open close={props.close} title={props.title} wide={props.wide ?? false}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          acting.mutate();
        }}
      >
        {props.children}
        {acting.error && <Problem error={acting.error} />}
        <footer>
          {props.beside}
          <button type="button" className="button" onClick={props.close}>
            {leave}
          </button>
          {props.verb && (
            <button
              type="submit"
              className={props.harmful ? 'button harm' : 'button primary'}
              disabled={acting.isPending}
            >
              {props.verb}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
