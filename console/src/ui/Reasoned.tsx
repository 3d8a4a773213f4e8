import { useState } from 'react';
import { Asked, type Asking } from './Asked';

/** Asks before acting, names what is touched, and takes a reason for the audit log. */
export function Reasoned({
  act,
  children,
  ...asking
}: Asking & { readonly act: (reason: string) => Promise<unknown> }) {
  const [reason, setReason] = useState('');
  return (
    <Asked {...asking} act={() => act(reason)}>
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
    </Asked>
  );
}
