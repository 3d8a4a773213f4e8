import type { IconName } from '../ui/Icon';

export interface Place {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
}

/** The rail: only pages that exist are in it. */
export const GROUPS: readonly (readonly [string, readonly Place[]])[] = [
  [
    'Build',
    [
      { path: '/workflows', title: 'Workflows', icon: 'workflow' },
      { path: '/templates', title: 'Templates', icon: 'layout' },
      { path: '/schedules', title: 'Schedules', icon: 'clock' },
      { path: '/triggers', title: 'Triggers', icon: 'bolt' },
    ],
  ],
  [
    'Run',
    [
      { path: '/executions', title: 'Executions', icon: 'play' },
      { path: '/waits', title: 'Waits', icon: 'hourglass' },
      { path: '/commands', title: 'Commands', icon: 'exchange' },
      { path: '/external-tasks', title: 'External tasks', icon: 'cog' },
      { path: '/approvals', title: 'Approvals', icon: 'person' },
      { path: '/outbox', title: 'Outbox', icon: 'send' },
      { path: '/dead-letters', title: 'Dead letters', icon: 'letter' },
    ],
  ],
  [
    'Watch',
    [
      { path: '/wallboard', title: 'Wallboard', icon: 'board' },
      { path: '/items', title: 'Items', icon: 'lines' },
      { path: '/alerts', title: 'Alerts', icon: 'bell' },
    ],
  ],
  [
    '',
    [
      { path: '/instances', title: 'Instances', icon: 'server' },
      { path: '/settings', title: 'Settings', icon: 'key' },
    ],
  ],
];

export const PLACES: readonly Place[] = GROUPS.flatMap(([, places]) => places);
