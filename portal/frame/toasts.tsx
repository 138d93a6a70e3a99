// Messages at the edge of the page, also for screen readers: successes disappear by themselves,
// refusals stay until dismissed.

import { createContext, type ReactNode, useCallback, useContext, useMemo } from "react";
import { asRefused } from "../api.ts";
import {
  Link,
  Toast,
  ToastBody,
  Toaster,
  ToastTitle,
  ToastTrigger,
  useId,
  useToastController,
} from "../fluent.ts";

export interface Say {
  readonly done: (words: string, more?: string) => void;
  /** What is not done yet. */
  readonly note: (words: string, more?: string) => void;
  readonly refused: (title: string, error: unknown) => void;
}

const SayContext = createContext<Say>({ done: () => {}, note: () => {}, refused: () => {} });

export function useSay(): Say {
  return useContext(SayContext);
}

export function SayProvider({ children }: { readonly children: ReactNode }) {
  const toasterId = useId("say");
  const { dispatchToast } = useToastController(toasterId);
  const tell = useCallback(
    (intent: "success" | "info", words: string, more?: string) =>
      dispatchToast(
        <Toast>
          <ToastTitle>{words}</ToastTitle>
          {more !== undefined && <ToastBody>{more}</ToastBody>}
        </Toast>,
        { intent, timeout: 4_000 },
      ),
    [dispatchToast],
  );
  const done = useCallback<Say["done"]>((...words) => tell("success", ...words), [tell]);
  const note = useCallback<Say["note"]>((...words) => tell("info", ...words), [tell]);
  const refused = useCallback<Say["refused"]>(
    (title, error) =>
      dispatchToast(
        <Toast>
          <ToastTitle
            action={
              <ToastTrigger>
                <Link as="button">Dismiss</Link>
              </ToastTrigger>
            }
          >
            {title}
          </ToastTitle>
          <ToastBody>{asRefused(error).message}</ToastBody>
        </Toast>,
        { intent: "error", timeout: -1 },
      ),
    [dispatchToast],
  );
  const say = useMemo(() => ({ done, note, refused }), [done, note, refused]);
  return (
    <SayContext.Provider value={say}>
      {children}
      <Toaster toasterId={toasterId} position="bottom-end" limit={4} />
    </SayContext.Provider>
  );
}
