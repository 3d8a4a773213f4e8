import { JsonTree } from '../ui/JsonTree';
import { objectOf } from './StartDialog';

/** How something is tried again: from which node, with which changes, on which version. */
export interface Again {
  readonly from: string;
  readonly patch: string;
  readonly version: string;
}

export const AS_IT_WAS: Again = { from: '', patch: '', version: '' };

/** As the server wants it. */
export function told({ from, patch, version }: Again) {
  return {
    ...(from ? { from } : {}),
    ...(patch.trim() ? { context: objectOf(patch) } : {}),
    ...(version ? { version: Number(version) } : {}),
  };
}

interface Changing {
  readonly value: Again;
  readonly set: (value: Again) => void;
  /** As it is before it is changed. */
  readonly now: unknown;
}

interface Props extends Changing {
  /** Where it may go on from. */
  readonly nodes: readonly string[];
  /** The version that it was on. */
  readonly version: string;
}

export function RetryFields({ nodes, version, value, set, now }: Props) {
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
      <Patch label="Changes to the context" value={value} set={set} now={now} />
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

/** Fields to be put in the place of what is there. */
export function Patch({ label, value, set, now }: Changing & { readonly label: string }) {
  return (
    <>
      <label className="field">
        <span>{label}</span>
        <textarea
          className="input"
          rows={3}
          spellCheck={false}
          placeholder='{"email": "ada@example.org"}'
          value={value.patch}
          onChange={(event) => set({ ...value, patch: event.target.value })}
        />
        <small>A JSON object: each of its fields takes the place of the one that is there.</small>
      </label>
      {now !== undefined && <JsonTree name="as it is" value={now} open={1} />}
    </>
  );
}
