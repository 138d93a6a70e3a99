// The start of the portal in the browser: styles get the nonce of the page, and the frame is drawn.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createDOMRenderer, RendererProvider } from "./fluent.ts";

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.nonce ?? "";
const renderer = createDOMRenderer(document, { styleElementAttributes: { nonce } });
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");

createRoot(root).render(
  <StrictMode>
    <RendererProvider renderer={renderer}>
      <App />
    </RendererProvider>
  </StrictMode>,
);
