import { Play, Square } from "lucide-react";
import { useControl } from "@/lib/queries";
import { mayEdit, useSession } from "@/lib/session";
import type { Status } from "@/lib/types";
import { Button } from "./ui/button";

/** Start or stop; shown to those who may. A refusal appears beside it in the server's words. */
export function ControlButton({ kind, id, status }: { kind: "tables" | "pipelines"; id: string; status: Status }) {
  const session = useSession();
  const control = useControl(kind, id);
  if (!mayEdit(session)) {
    return null;
  }
  const running = status === "Running";
  return (
    <>
      {control.error && (
        <span role="alert" className="max-w-80 text-right text-xs text-failed">
          {control.error.message}
        </span>
      )}
      <Button
        variant={running ? "outline" : "default"}
        disabled={control.isPending}
        onClick={() => control.mutate(running ? "stop" : "start")}
      >
        {running ? <Square /> : <Play />}
        {running ? "Stop" : "Start"}
      </Button>
    </>
  );
}
