/** Line icons on a grid of 16; drawn here, so that nothing is fetched. */
const PATHS = {
  workflow: 'M2.5 3h4v4h-4zM9.5 9h4v4h-4zM6.5 5h3a2 2 0 0 1 2 2v2',
  clock: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3l2 1.5',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  play: 'M4.5 2.8v10.4L13 8z',
  hourglass: 'M4 2.5h8M4 13.5h8M5 2.5c0 3 3 3.5 3 5.5s-3 2.5-3 5.5M11 2.5c0 3-3 3.5-3 5.5s3 2.5 3 5.5',
  person: 'M8 8.5a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5zM3 13.5c.5-2.5 2.5-3.5 5-3.5s4.5 1 5 3.5',
  letter: 'M2.5 4h11v8.5h-11zM2.5 4.5 8 9l5.5-4.5',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.5l3 3',
  plus: 'M8 3v10M3 8h10',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.5M8 13v1.5M1.5 8h1.5M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  half: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 1 1 0-11zM8 2.5v11M8 5.5h4.5M8 8h5.4M8 10.5h4.5',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  branch: 'M4 2.5v11M4 8h4a4 4 0 0 0 4-4V2.5',
  mail: 'M2 3.5h12v9H2zM2 4l6 5 6-5',
  globe:
    'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14M8 2C6 4 5.5 6 5.5 8S6 12 8 14',
  data: 'M3 4c0-1 2.2-1.8 5-1.8S13 3 13 4s-2.2 1.8-5 1.8S3 5 3 4zM3 4v8c0 1 2.2 1.8 5 1.8s5-.8 5-1.8V4M3 8c0 1 2.2 1.8 5 1.8S13 9 13 8',
  cog: 'M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4',
  cross: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM6 6l4 4M10 6l-4 4',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3M8 7v4M6.3 9.4 8 11l1.7-1.6',
  lines: 'M3 4h10M3 8h10M3 12h6',
  dot: 'M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z',
  send: 'M14 2 2 7l5 2 2 5zM14 2 7 9',
  exchange: 'M2.5 5.5h10M10 3l2.5 2.5L10 8M13.5 10.5h-10M6 8l-2.5 2.5L6 13',
  board: 'M2.5 3h5v4.5h-5zM9.5 3h4v4.5h-4zM2.5 9h4v4h-4zM8.5 9h5v4h-5z',
  bell: 'M8 2.5a3.5 3.5 0 0 1 3.5 3.5c0 3.5 1.5 4.5 1.5 4.5H3s1.5-1 1.5-4.5A3.5 3.5 0 0 1 8 2.5zM6.7 13h2.6',
  key: 'M5.5 7.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM7.6 8.4 13.5 2.5M11 5l2 2',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6H9a4 4 0 0 1 0 8H6',
  redo: 'M10.5 3l3 3-3 3M13.5 6H7a4 4 0 0 0 0 8h3',
  layout: 'M2 6.5h4v3H2zM10 2.5h4v3h-4zM10 10.5h4v3h-4zM6 8h2M8 4v8M8 4h2M8 12h2',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
