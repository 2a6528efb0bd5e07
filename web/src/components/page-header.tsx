import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect } from "react";

interface PageHeaderProps {
  title: string;
  description?: ReactNode;
  parent?: { to: string; label: string };
  badge?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, description, parent, badge, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · StreamsForge`;
  }, [title]);
  return (
    <header className="mb-6 flex flex-wrap items-start justify-between gap-4">
      <div className="min-w-0">
        {parent && (
          <nav aria-label="Breadcrumb" className="mb-1.5 flex items-center gap-1 text-xs text-muted-foreground">
            <Link to={parent.to} className="rounded-sm hover:text-foreground">
              {parent.label}
            </Link>
            <ChevronRight aria-hidden className="size-3" />
            <span className="truncate">{title}</span>
          </nav>
        )}
        <div className="flex flex-wrap items-center gap-3">
          <h1 className="text-[1.45rem] leading-tight font-semibold tracking-tight">{title}</h1>
          {badge}
        </div>
        {description && <p className="mt-1 text-sm text-muted-foreground">{description}</p>}
      </div>
      {actions && <div className="flex items-center gap-2">{actions}</div>}
    </header>
  );
}
