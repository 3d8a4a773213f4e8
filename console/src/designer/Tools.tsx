import { Icon, type IconName } from '../ui/Icon';

interface Tool {
  readonly icon: IconName;
  readonly title: string;
  /** What it is called, where the title alone would not say it. */
  readonly name?: string;
  readonly act: () => void;
  readonly off?: boolean;
  readonly pressed?: boolean;
}

/** What is done to the drawing as a whole, in pictures. */
export function Tools({ tools }: { readonly tools: readonly Tool[] }) {
  return tools.map(({ icon, title, name, act, off, pressed }) => (
    <button
      key={icon}
      type="button"
      className="icon-button"
      title={title}
      aria-label={name ?? title}
      {...(pressed === undefined ? {} : { 'aria-pressed': pressed })}
      disabled={off ?? false}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  ));
}
