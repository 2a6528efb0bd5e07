// Totals become rates by the difference of two polls. One process-wide book keeps the
// recent past of every counter, so that a sparkline survives navigation.

interface Track {
  total: number;
  at: number;
  rates: number[];
}

export const historyLength = 60;
const tracks = new Map<string, Track>();

/** Notes a counter's total and returns its recent rates per second, oldest first. */
export function note(name: string, total: number, at: number): number[] {
  const track = tracks.get(name);
  if (!track) {
    tracks.set(name, { total, at, rates: [] });
    return [];
  }
  if (at - track.at < 400) {
    return track.rates; // a second reader of the same poll
  }
  // A counter that went down was restarted: what it shows is since then.
  const grown = total >= track.total ? total - track.total : total;
  push(track, (grown * 1000) / (at - track.at));
  track.total = total;
  track.at = at;
  return track.rates;
}

/** Notes a rate that the server computed itself. */
export function noteRate(name: string, value: number, at: number): number[] {
  const track = tracks.get(name) ?? { total: 0, at: 0, rates: [] };
  tracks.set(name, track);
  if (at - track.at >= 400) {
    push(track, value);
    track.at = at;
  }
  return track.rates;
}

function push(track: Track, value: number) {
  track.rates = [...track.rates.slice(-(historyLength - 1)), value];
}

/** Forgets everything; for tests and after a login as somebody else. */
export function resetRates() {
  tracks.clear();
}
