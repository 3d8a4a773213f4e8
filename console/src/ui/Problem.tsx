import { Refusal } from '../api/client';
import { CopyId } from './CopyId';
import { Worded } from './Worded';

/** What went wrong, in the server's sentence, with its code and the id by which the log knows it. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const refusal = error instanceof Refusal ? error : null;
  return (
    <div className="problem" role="alert">
      <p>
        <span aria-hidden="true">✕ </span>
        <Worded text={error instanceof Error ? error.message : 'Something went wrong here.'} />
      </p>
      {refusal && refusal.errors.length > 0 && (
        <ul>
          {refusal.errors.slice(0, 8).map((each) => (
            <li key={each.pointer + each.code}>
              <code>{each.pointer || '/'}</code> <Worded text={each.message} />{' '}
              <Worded text={each.suggestion ?? ''} />
            </li>
          ))}
        </ul>
      )}
      {refusal && (
        <p className="quiet">
          <code>{refusal.code}</code>
          {refusal.requestId && (
            <>
              {' · request '}
              <CopyId id={refusal.requestId} />
            </>
          )}
        </p>
      )}
      {again && (
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}
