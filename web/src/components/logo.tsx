/** The mark: a spark over two streams. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" fill="none" className={className} aria-hidden>
      <path
        d="M4 22.5c4.4 0 4.4-4.2 8.8-4.2s4.4 4.2 8.8 4.2 4-2 6.4-3.6"
        stroke="currentColor"
        strokeOpacity="0.75"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
      <path
        d="M4 27c4.4 0 4.4-2.6 8.8-2.6S17.2 27 21.6 27s4-1.2 6.4-2.2"
        stroke="currentColor"
        strokeOpacity="0.38"
        strokeWidth="2"
        strokeLinecap="round"
      />
      <path d="M18.2 2.5 9.6 13.8h5.2l-1.2 6L22.4 8.3h-5.7l1.5-5.8Z" fill="var(--primary)" />
    </svg>
  );
}
