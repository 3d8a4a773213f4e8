export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M7 23V10l9 8 9-8v13" />
      <circle cx="16" cy="18" r="2.6" />
    </svg>
  );
}
