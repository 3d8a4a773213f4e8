import { useEffect, useState } from 'react';

export function Search({ label, value, set }: { label: string; value: string; set: (text: string) => void }) {
  const [text, type] = useState(value);
  useEffect(() => type(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const soon = setTimeout(() => set(text), 250);
    return () => clearTimeout(soon);
  }, [text, value, set]);
  return (
    <input
      type="search"
      className="input search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => type(event.target.value)}
    />
  );
}

interface Choice {
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[];
  readonly set: (value: string) => void;
}

export function Choose({ label, value, options, set }: Choice) {
  return (
    <select className="input" aria-label={label} value={value} onChange={(event) => set(event.target.value)}>
      <option value="">{label}: any</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {option.toLowerCase().replaceAll('_', ' ')}
        </option>
      ))}
    </select>
  );
}
