import * as Radix from '@radix-ui/react-dialog';
import type { ReactNode } from 'react';

interface Props {
  readonly open: boolean;
  readonly close: () => void;
  readonly title: string;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** Whoever opens it types at once, where there is something to type. */
function toTheFirstField(event: Event): void {
  const field = (event.target as HTMLElement).querySelector<HTMLElement>('input, textarea, select');
  if (!field) return;
  event.preventDefault();
  field.focus();
}

export function Dialog({ open, close, title, wide, children }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && close()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content
          className={wide ? 'dialog wide' : 'dialog'}
          aria-describedby={undefined}
          onOpenAutoFocus={toTheFirstField}
        >
          <header>
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close className="icon-button" aria-label="Close">
              ✕
            </Radix.Close>
          </header>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
