import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { mayEdit, useSession } from "@/lib/session";
import { Button } from "./ui/button";

/** Leads to the page that writes a new table or pipeline; shown to those who may. */
export function NewButton({ to, label }: { to: "/tables/new" | "/pipelines/new"; label: string }) {
  if (!mayEdit(useSession())) {
    return null;
  }
  return (
    <Button asChild>
      <Link to={to}>
        <Plus /> {label}
      </Link>
    </Button>
  );
}
