import { Pause, Play } from "lucide-react";
import { Dot } from "./status";
import { Button } from "./ui/button";

/** Holds the rows still for reading. */
export function LiveToggle({ live, onChange }: { live: boolean; onChange: (live: boolean) => void }) {
  return (
    <Button variant="outline" size="sm" aria-pressed={!live} onClick={() => onChange(!live)}>
      {live ? (
        <>
          <Dot tone="running" live /> Live <Pause className="text-muted-foreground" />
        </>
      ) : (
        <>
          <Dot tone="stopped" /> Paused <Play className="text-muted-foreground" />
        </>
      )}
    </Button>
  );
}
