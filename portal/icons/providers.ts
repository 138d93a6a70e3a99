// Fluent tells its icons in which direction the page is read. Ours look the same in both.

import type { ReactNode } from "react";

export function IconDirectionContextProvider({ children }: { readonly children?: ReactNode }) {
  return children;
}
