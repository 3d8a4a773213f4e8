import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got } from '../api/client';
import { FormDialog } from '../ui/FormDialog';

interface Props {
  readonly workflow: { readonly id: string; readonly name: string };
  readonly version?: number;
  readonly close: () => void;
  readonly started: (executionId: string) => void;
}

/** Start one by hand. */
export function StartDialog({ workflow, version, close, started }: Props) {
  const [text, setText] = useState('{}');
  const starting = useMutation({
    mutationFn: async () => {
      const context = objectOf(text);
      return got(
        api.POST('/api/workflow/execute', {
          body: { workflowId: workflow.id, context, ...(version ? { version } : {}) },
          params: { query: {} },
        }),
      );
    },
    onSuccess: (answer) => started((answer as { executionId: string }).executionId),
  });
  return (
    <FormDialog title={`Run ${workflow.name}`} close={close} acting={starting} verb="Run">
      <label className="field">
        <span>Context</span>
        <textarea
          className="input"
          rows={7}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <small>A JSON object: what the first node finds.</small>
      </label>
    </FormDialog>
  );
}

export function objectOf(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() || '{}');
  } catch (error) {
    throw new Error(`That is no JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('That is JSON, but no object: { … }');
  return value as Record<string, unknown>;
}
