import { objectOf } from './StartDialog';

/** How something is tried again: from which node, with which changes, on which version. */
export interface Again {
  readonly from: string;
  readonly patch: string;
  readonly version: string;
}

export const AS_IT_WAS: Again = { from: '', patch: '', version: '' };

/** As the server wants it. */
export function told({ from, patch, version }: Again): Record<string, unknown> {
  return {
    ...(from ? { from } : {}),
    ...(patch.trim() ? { context: objectOf(patch) } : {}),
    ...(version ? { version: Number(version) } : {}),
  };
}

interface Props {
  /** Where it may go on from. */
  readonly nodes: readonly string[];
  /** The version that it was on. */
  readonly version: string;
  readonly value: Again;
  readonly set: (value: Again) => void;
}

export function RetryFields({ nodes, version, value, set }: Props) {
  return (
    <>
      <label className="field">
        <span>From</span>
        <select
          className="input"
          value={value.from}
          onChange={(event) => set({ ...value, from: event.target.value })}
        >
          <option value="">where it failed</option>
          {[...new Set(nodes)].map((id) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>Changes to the context</span>
        <textarea
          className="input"
          rows={3}
          placeholder='{"email": "ada@example.org"}'
          value={value.patch}
          onChange={(event) => set({ ...value, patch: event.target.value })}
        />
      </label>
      <label className="field">
        <span>On version</span>
        <input
          className="input"
          inputMode="numeric"
          placeholder={version}
          value={value.version}
          onChange={(event) => set({ ...value, version: event.target.value })}
        />
      </label>
    </>
  );
}
