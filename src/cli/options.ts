// The options of the commands that speak to a running broker: each with what it takes, how often it
// may be given and a sentence, from which the help is made. Deliberately absent: settings of the
// broker itself, which have a table of their own.

import { Refusal } from "../core/refusal.ts";
import { refuseName } from "../core/wording.ts";

interface Option {
  /** What its value is called; null for a switch. */
  readonly takes: string | null;
  readonly isList?: boolean;
  readonly about: string;
}

const whereOptions = {
  server: {
    takes: "URL",
    about: "Where the broker is. POSTHORN_SERVER, else http://127.0.0.1:5888.",
  },
  key: {
    takes: "KEY",
    about: "The admin key. POSTHORN_ADMIN_KEY, else what admin.key in the data folder holds.",
  },
  data: {
    takes: "FOLDER",
    about: "The data folder of a broker on this machine. POSTHORN_DATA, else ./posthorn-data.",
  },
  ca: {
    takes: "FILE",
    about: "The authority to trust over https, as PEM; else ca.pem in the data folder.",
  },
} as const satisfies Record<string, Option>;

export const importOptions = {
  parameters: {
    takes: "NAME=VALUE or FILE",
    isList: true,
    about: "A parameter of the template, or a file of them.",
  },
  endpoint: {
    takes: "SUBSCRIPTION=URL",
    isList: true,
    about: "Where a subscription's events go, whatever the file says: exports hide URLs.",
  },
  attribute: {
    takes: "SUBSCRIPTION:HEADER=VALUE",
    isList: true,
    about: "The value of a secret delivery attribute, which exports hide, too.",
  },
  "use-base-urls": {
    takes: null,
    about: "Take URLs that exports show without their query for the whole.",
  },
  omit: {
    takes: "PROPERTY",
    isList: true,
    about: "Leave a property out of every resource, such as deadLetterDestination.",
  },
  "dry-run": { takes: null, about: "Say what would be done, and do nothing." },
  subscription: { takes: "ID", about: "Azure's subscription that a template is deployed to." },
  "resource-group": { takes: "NAME", about: "The group that a template is deployed to." },
  location: { takes: "NAME", about: "The location of that group." },
  ...whereOptions,
} as const satisfies Record<string, Option>;

export const exportOptions = {
  format: {
    takes: "arm or az",
    about: "A template (the default), or lists as the CLI prints them.",
  },
  "with-secrets": {
    takes: null,
    about: "With keys, whole URLs and secret headers, so that nothing is left to add.",
  },
  "resource-group": { takes: "NAME", about: "Of this group alone." },
  ...whereOptions,
} as const satisfies Record<string, Option>;

export interface Parsed<Name extends string> {
  /** What is no option. */
  readonly files: readonly string[];
  has(name: Name): boolean;
  /** The last that was given. */
  one(name: Name): string | null;
  all(name: Name): readonly string[];
}

/** Refusal: InvalidSetting. */
export function parseOptions<Name extends string>(
  args: readonly string[],
  options: Readonly<Record<Name, Option>>,
): Parsed<Name> {
  const files: string[] = [];
  const given = new Map<string, string[]>();
  const known = Object.keys(options).map((name) => `--${name}`);
  for (let place = 0; place < args.length; place++) {
    const arg = args[place] ?? "";
    if (!arg.startsWith("--")) {
      files.push(arg);
      continue;
    }
    const [, name = "", inline] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    if (!Object.hasOwn(options, name)) {
      throw refuseName({ what: "option", name: `--${name}`, known });
    }
    const { takes } = options[name as Name];
    const value = takes === null ? inline : (inline ?? args[++place]);
    if ((takes === null) !== (value === undefined)) {
      const words = takes === null ? "takes no value" : `must be followed by ${takes}`;
      throw new Refusal("InvalidSetting", `--${name} ${words}`);
    }
    given.set(name, [...(given.get(name) ?? []), value ?? ""]);
  }
  return {
    files,
    has: (name) => given.has(name),
    one: (name) => given.get(name)?.at(-1) ?? null,
    all: (name) => given.get(name) ?? [],
  };
}

/** `name=value` pairs. Refusal: InvalidSetting. */
export function pairsIn(given: readonly string[], form: string): ReadonlyMap<string, string> {
  return new Map(
    given.map((one) => {
      const [, name, value] = /^([^=]+)=([\s\S]+)$/.exec(one) ?? [];
      if (name === undefined || value === undefined) {
        throw new Refusal(
          "InvalidSetting",
          `${form} is how it is written, and there is no such pair`,
        );
      }
      return [name, value];
    }),
  );
}

export const importHelp = `Applies what files hold to a running broker.

Usage:
  posthorn import FILE… [options]    - as a file is the standard input

A file is an ARM template (what \`az bicep build\` makes of Bicep is one), or what the Azure CLI
lists: \`az eventgrid topic list -o json\`, \`az eventgrid event-subscription list -o json\` and the
like. One line is printed for each resource: created, updated, unchanged, failed or skipped.

Options:
${helpOf(importOptions)}
`;

export const exportHelp = `Prints what a running broker has, in a form that import takes.

Usage:
  posthorn export [options]

Options:
${helpOf(exportOptions)}
`;

function helpOf(options: Readonly<Record<string, Option>>): string {
  return Object.entries(options)
    .map(([name, { takes, isList, about }]) => {
      const value = takes === null ? "" : ` ${takes}`;
      const often = isList === true ? " May be given several times." : "";
      return `  --${name}${value}\n      ${about}${often}`;
    })
    .join("\n");
}
