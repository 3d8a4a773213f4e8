import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { say } from '../ui/toasts';
import type { Whole } from './useDesign';

interface Props {
  readonly workflow: Whole;
  readonly version: number;
  readonly dirty: boolean;
  readonly done: () => void;
}

export function Activate({ workflow, version, dirty, done }: Props) {
  const queries = useQueryClient();
  const activating = useMutation({
    mutationFn: () =>
      got(
        api.POST('/api/workflow/{id}/activate', {
          params: { path: { id: workflow.id } },
          body: { version },
        }),
      ),
    onSuccess: async () => {
      say(`New executions start on version ${version}`);
      done();
      await queries.invalidateQueries({ queryKey: ['workflows'] });
    },
    onError: (error) => say(error.message),
  });
  if (workflow.activeVersion === version && workflow.status === 'ACTIVE') return null;
  return (
    <button
      type="button"
      className="button"
      disabled={dirty || activating.isPending}
      onClick={() => activating.mutate()}
    >
      Activate version {version}
    </button>
  );
}
