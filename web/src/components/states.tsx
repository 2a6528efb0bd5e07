import { CloudOff, SearchX, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, OfflineError } from "@/lib/api";
import { Button } from "./ui/button";

/** Nothing to show, why, and what to do about it. */
export function Empty({ title, children, icon }: { title: string; children?: ReactNode; icon?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-14 text-center">
      <div className="mb-1 grid size-11 place-items-center rounded-full bg-muted text-muted-foreground [&_svg]:size-5">
        {icon ?? <SearchX />}
      </div>
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-md text-sm text-muted-foreground">{children}</div>}
    </div>
  );
}

/** What went wrong, in the server's words, with a way to try again. */
export function ErrorPanel({ error, retry }: { error: unknown; retry?: () => void }) {
  const offline = error instanceof OfflineError;
  const title = offline
    ? "The server cannot be reached"
    : error instanceof ApiError && error.status === 404
      ? "Not found"
      : "This did not work";
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-14 text-center">
      <div className="mb-1 grid size-11 place-items-center rounded-full bg-failed/12 text-failed [&_svg]:size-5">
        {offline ? <CloudOff /> : <TriangleAlert />}
      </div>
      <p className="font-medium">{title}</p>
      <p className="max-w-md text-sm text-muted-foreground">
        {offline ? "It is asked again every few seconds." : error instanceof Error ? error.message : String(error)}
      </p>
      {retry && (
        <Button variant="outline" size="sm" className="mt-2" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
