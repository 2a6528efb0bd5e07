import { createRootRoute, createRoute, createRouter, Outlet, redirect } from "@tanstack/react-router";
import { Shell } from "./components/shell";
import { ErrorPanel } from "./components/states";
import { getSession } from "./lib/session";
import { EditPipelinePage, EditTablePage, NewPipelinePage, NewTablePage } from "./pages/edit-query";
import { LoginPage } from "./pages/login";
import { NotFoundPage } from "./pages/not-found";
import { OverviewPage } from "./pages/overview";
import { PipelinePage } from "./pages/pipeline";
import { PipelinesPage } from "./pages/pipelines";
import { SourcePage } from "./pages/source";
import { SourcesPage } from "./pages/sources";
import { TablePage } from "./pages/table";
import { TablesPage } from "./pages/tables";

// What a page shows is in its address: the tab, the filter and the order, so that it can be
// shared and survives a reload.
interface ListSearch {
  q?: string;
}

interface DetailSearch extends ListSearch {
  tab?: string;
  sort?: string;
  desc?: boolean;
}

const text = (v: unknown) => (typeof v === "string" && v !== "" ? v : typeof v === "number" ? String(v) : undefined);

const listSearch = (s: Record<string, unknown>): ListSearch => ({ ...(text(s.q) !== undefined && { q: text(s.q) }) });

const detailSearch = (s: Record<string, unknown>): DetailSearch => ({
  ...listSearch(s),
  ...(text(s.tab) !== undefined && { tab: text(s.tab) }),
  ...(text(s.sort) !== undefined && { sort: text(s.sort) }),
  ...(s.desc === true && { desc: true }),
});

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (s: Record<string, unknown>): { next?: string; ended?: boolean } => ({
    ...(text(s.next) !== undefined && { next: text(s.next) }),
    ...(s.ended === true && { ended: true }),
  }),
  component: LoginPage,
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: ({ location }) => {
    if (!getSession()) {
      throw redirect({ to: "/login", search: location.href === "/" ? {} : { next: location.href } });
    }
  },
  component: Shell,
});

const under = <P extends string>(path: P) => ({ getParentRoute: () => shell, path });

const routes = root.addChildren([
  login,
  shell.addChildren([
    createRoute({ ...under("/"), component: OverviewPage }),
    createRoute({ ...under("/sources"), validateSearch: listSearch, component: SourcesPage }),
    createRoute({ ...under("/sources/$name"), validateSearch: detailSearch, component: SourcePage }),
    createRoute({ ...under("/tables"), validateSearch: listSearch, component: TablesPage }),
    createRoute({ ...under("/tables/new"), component: NewTablePage }),
    createRoute({ ...under("/tables/$key/edit"), component: EditTablePage }),
    createRoute({ ...under("/tables/$key"), validateSearch: detailSearch, component: TablePage }),
    createRoute({ ...under("/pipelines"), validateSearch: listSearch, component: PipelinesPage }),
    createRoute({ ...under("/pipelines/new"), component: NewPipelinePage }),
    createRoute({ ...under("/pipelines/$key/edit"), component: EditPipelinePage }),
    createRoute({ ...under("/pipelines/$key"), validateSearch: detailSearch, component: PipelinePage }),
  ]),
]);

export const router = createRouter({
  routeTree: routes,
  defaultPreload: false,
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorPanel error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
