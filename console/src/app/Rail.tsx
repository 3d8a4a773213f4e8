import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useMe } from '../api/me';
import { session, signOut } from '../api/session';
import { settings } from '../api/settings';
import { useStore } from '../api/store';
import { Icon } from '../ui/Icon';
import { Mark } from './Mark';
import { openPalette } from './palette-state';
import { GROUPS } from './places';
import { chooseTheme, type Theme, theme } from './theme';

export function Rail() {
  const [here] = useLocation();
  const [open, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes it
  useEffect(() => setOpen(false), [here]);
  return (
    <nav className={open ? 'rail open' : 'rail'} aria-label="Pages">
      <div className="brand">
        <Link href="/workflows">
          <Mark />
          Muster
        </Link>
        <button
          type="button"
          className="icon-button menu"
          aria-expanded={open}
          aria-label="Menu"
          onClick={() => setOpen(!open)}
        >
          <Icon name="menu" />
        </button>
      </div>
      <div className="rail-body">
        <button type="button" className="find" onClick={openPalette}>
          <Icon name="search" />
          Find or do
          <kbd>⌘K</kbd>
        </button>
        {GROUPS.map(([title, places]) => (
          <section key={title}>
            {title ? <h2>{title}</h2> : <hr />}
            <ul>
              {places.map((place) => (
                <li key={place.path}>
                  <Link
                    href={place.path}
                    className={() => 'place'}
                    aria-current={here.startsWith(place.path) ? 'page' : undefined}
                  >
                    <Icon name={place.icon} />
                    {place.title}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
        <Foot />
      </div>
    </nav>
  );
}

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

function Foot() {
  const me = useMe();
  const queries = useQueryClient();
  const { token } = useStore(session);
  const chosen = useStore(theme);
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length] ?? 'system';
  return (
    <footer>
      <p className="who">
        <span>{me?.name ?? '…'}</span>
        <span className="quiet">{me?.may.includes('admin') ? 'admin' : me?.may.at(-1)}</span>
      </p>
      <div className="rail-tools">
        <button
          type="button"
          className="icon-button"
          title={`Colours: ${chosen}. Change to ${next}.`}
          aria-label={`Colours: ${chosen}. Change to ${next}.`}
          onClick={() => chooseTheme(next)}
        >
          <Icon name={chosen === 'dark' ? 'moon' : chosen === 'light' ? 'sun' : 'half'} />
        </button>
        <a className="quiet" href="/docs">
          API
        </a>
        <span className="quiet">{settings.version}</span>
        {token && (
          <button
            type="button"
            className="link"
            onClick={() => {
              queries.clear();
              signOut();
            }}
          >
            Sign out
          </button>
        )}
      </div>
    </footer>
  );
}
