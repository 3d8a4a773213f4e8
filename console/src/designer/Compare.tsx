import { useState } from 'react';
import type { Schemas } from '../api/client';
import type { Flow } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { Problem } from '../ui/Problem';
import { comparable } from './comparable';
import { Diff } from './Diff';
import { useVersion } from './SaveDialog';

type Whole = Schemas['WorkflowWhole'];

interface Props {
  readonly workflow: Whole;
  readonly flow: Flow;
}

/** Two versions beside one another, or one and what is on the canvas. */
export function Compare({ workflow, flow }: Props) {
  const [before, setBefore] = useState(workflow.activeVersion ?? workflow.latestVersion);
  const [after, setAfter] = useState<number | null>(null);
  const one = useVersion(workflow.id, before);
  const other = useVersion(workflow.id, after ?? before);
  const error = one.error ?? other.error;
  const now = after === null ? writeFlow(flow) : other.data?.definition;
  return (
    <div className="stack">
      <div className="inline">
        <Version label="Compare" workflow={workflow} value={before} set={(to) => setBefore(to ?? 1)} />
        <Version label="with" workflow={workflow} value={after} set={setAfter} canvas />
      </div>
      {error && <Problem error={error} />}
      {one.data && now && <Diff of={comparable(one.data.definition, now)} />}
    </div>
  );
}

interface VersionProps {
  readonly label: string;
  readonly workflow: Whole;
  readonly value: number | null;
  readonly set: (version: number | null) => void;
  readonly canvas?: boolean;
}

function Version({ label, workflow, value, set, canvas }: VersionProps) {
  const all = Array.from({ length: workflow.latestVersion }, (_, index) => workflow.latestVersion - index);
  return (
    <label className="inline">
      <span>{label}</span>
      <select
        className="input"
        value={value ?? ''}
        onChange={(event) => set(event.target.value ? Number(event.target.value) : null)}
      >
        {canvas && <option value="">what is on the canvas</option>}
        {all.map((version) => (
          <option key={version} value={version}>
            version {version}
            {version === workflow.activeVersion ? ', active' : ''}
          </option>
        ))}
      </select>
    </label>
  );
}
