import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { TooltipProvider } from "./components/ui/tooltip";
import { createQueryClient } from "./lib/queries";
import { useSession } from "./lib/session";
import { router } from "./router";
import "./styles.css";

const queryClient = createQueryClient();

function App() {
  const session = useSession();
  const user = session?.username;
  useEffect(() => {
    // A login that ended, here or in another tab, leads to the login page and back.
    if (!user && router.state.location.pathname !== "/login") {
      const next = router.state.location.href;
      void router.navigate({ to: "/login", search: { ended: true, ...(next !== "/" && { next }) } });
    }
    // What one user may see is not for the next.
    return () => queryClient.clear();
  }, [user]);
  return (
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <RouterProvider router={router} />
      </TooltipProvider>
    </QueryClientProvider>
  );
}

const element = document.getElementById("root");
if (element) {
  createRoot(element).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
