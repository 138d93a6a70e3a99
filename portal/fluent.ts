// The parts of Fluent that the portal uses, each from its own package: the package of all of them
// is twice as large.

export { Badge } from "@fluentui/react-badge";
export { Button } from "@fluentui/react-button";
export { Checkbox } from "@fluentui/react-checkbox";
export { Dropdown, Option } from "@fluentui/react-combobox";
export {
  Dialog,
  DialogActions,
  DialogBody,
  DialogContent,
  DialogSurface,
  DialogTitle,
} from "@fluentui/react-dialog";
export { Field } from "@fluentui/react-field";
export { Input } from "@fluentui/react-input";
export { Label } from "@fluentui/react-label";
export { Link } from "@fluentui/react-link";
export {
  Menu,
  MenuItem,
  MenuItemLink,
  MenuItemRadio,
  MenuList,
  MenuPopover,
  MenuTrigger,
} from "@fluentui/react-menu";
export {
  MessageBar,
  MessageBarActions,
  MessageBarBody,
  MessageBarTitle,
} from "@fluentui/react-message-bar";
export { Popover, PopoverSurface, PopoverTrigger } from "@fluentui/react-popover";
export { ProgressBar } from "@fluentui/react-progress";
export { FluentProvider } from "@fluentui/react-provider";
export { Spinner } from "@fluentui/react-spinner";
export { Switch } from "@fluentui/react-switch";
export { Tab, TabList } from "@fluentui/react-tabs";
export { Text } from "@fluentui/react-text";
export { Textarea } from "@fluentui/react-textarea";
export { tokens, webDarkTheme, webLightTheme } from "@fluentui/react-theme";
export {
  Toast,
  ToastBody,
  Toaster,
  ToastTitle,
  ToastTrigger,
  useToastController,
} from "@fluentui/react-toast";
export { Tooltip } from "@fluentui/react-tooltip";
export { useId } from "@fluentui/react-utilities";
export { createDOMRenderer, makeStyles, mergeClasses, RendererProvider } from "@griffel/react";
