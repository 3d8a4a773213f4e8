import { type ReactNode, useEffect } from 'react';

interface Props {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly filters?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, actions, filters, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Muster`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-head">
        <h1>{title}</h1>
        <div className="actions">{actions}</div>
      </header>
      {filters && <div className="filters">{filters}</div>}
      {children}
    </div>
  );
}
