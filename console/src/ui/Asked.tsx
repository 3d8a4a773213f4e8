import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FormDialog } from './FormDialog';

export interface Asking {
  readonly title: string;
  /** What will be touched, in a sentence. */
  readonly what: ReactNode;
  readonly verb: string;
  readonly harmful?: boolean;
  readonly close: () => void;
  /** Whoever asks shows something else once it is done. */
  readonly stays?: boolean;
  readonly children?: ReactNode;
}

/** Asks before acting, and names what is touched. */
export function Asked(props: Asking & { readonly act: () => Promise<unknown> }) {
  const acting = useMutation({ mutationFn: props.act, ...(props.stays ? {} : { onSuccess: props.close }) });
  return (
    <FormDialog {...props} acting={acting} leave="Leave it">
      <p>{props.what}</p>
      {props.children}
    </FormDialog>
  );
}
