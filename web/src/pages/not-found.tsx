import { Link } from "@tanstack/react-router";
import { Empty } from "@/components/states";
import { Button } from "@/components/ui/button";

export function NotFoundPage() {
  return (
    <Empty title="There is no such page">
      <Button asChild variant="outline" size="sm" className="mt-3">
        <Link to="/">To the overview</Link>
      </Button>
    </Empty>
  );
}
