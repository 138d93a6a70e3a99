// Dialogs: a form in one, and the question before what cannot be undone, with a red button.

import type { ReactNode } from "react";
import type { Refused } from "../api.ts";
import {
  Button,
  Dialog,
  DialogActions,
  DialogBody,
  DialogContent,
  DialogSurface,
  DialogTitle,
  makeStyles,
  tokens,
} from "../fluent.ts";
import { Form, useOrder } from "./form.tsx";
import { Refusal } from "./page.tsx";

const useStyles = makeStyles({
  surface: { maxWidth: "640px" },
  red: {
    backgroundColor: tokens.colorStatusDangerBackground3,
    ":hover": { backgroundColor: tokens.colorStatusDangerBackground3Hover },
    ":hover:active": { backgroundColor: tokens.colorStatusDangerBackground3Pressed },
  },
});

export function FormDialog({
  title,
  isOpen,
  onClose,
  ...form
}: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly refused: Refused | null;
  readonly submitWords: string;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  return (
    <Dialog
      open={isOpen}
      // A click beside it must not lose what was typed.
      onOpenChange={(_, { open, type }) => !open && type !== "backdropClick" && onClose()}
    >
      <DialogSurface className={styles.surface}>
        <DialogBody>
          <DialogTitle>{title}</DialogTitle>
          <DialogContent>
            <Form {...form} onCancel={onClose} />
          </DialogContent>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  );
}

/** For actions that cannot be undone. */
export function Confirm({
  title,
  isOpen,
  words,
  onYes,
  onClose,
  children,
}: {
  readonly title: string;
  readonly isOpen: boolean;
  /** On the button: `Delete it`. */
  readonly words: string;
  readonly onYes: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const styles = useStyles();
  const { refused, run } = useOrder();
  const yes = () =>
    void run(async () => {
      await onYes();
      onClose();
    });
  return (
    <Dialog modalType="alert" open={isOpen} onOpenChange={(_, { open }) => !open && onClose()}>
      <DialogSurface>
        <DialogBody>
          <DialogTitle>{title}</DialogTitle>
          <DialogContent>
            {children}
            {refused !== null && <Refusal refused={refused} />}
          </DialogContent>
          <DialogActions>
            <Button onClick={onClose}>Cancel</Button>
            <Button appearance="primary" className={styles.red} onClick={yes}>
              {words}
            </Button>
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  );
}
