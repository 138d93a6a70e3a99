// Scripts that complete commands, options and names in a shell, made from the table of commands. A
// script contains everything it needs but the names of topics, subscriptions and contexts, for
// which it asks the program.

import { listed } from "../../core/text/setting-kinds.ts";
import { refuseValue } from "../../core/text/wording.ts";
import { openClient } from "../client.ts";
import type { Command, Run } from "../command.ts";
import { contextNames } from "../contexts.ts";
import { isNoun, optionsOf, wordsAfter } from "../help.ts";

const shells = ["bash", "zsh", "fish"] as const;

export const printCompletion: Run = async (given, outside) => {
  const shell = shells.find((each) => each === given.operands[0]);
  if (shell === undefined) {
    const value = given.operands[0];
    throw refuseValue({ field: "SHELL", value, allowed: listed(shells) });
  }
  const facts = factsOf(outside.commands, outside.settingNames);
  outside.print(scripts[shell](facts));
  return {};
};

const nameKinds = ["topic", "subscription", "context"] as const;
const pathOf = { topic: "/api/v1/topics", subscription: "/api/v1/subscriptions" } as const;

export const printNames: Run = async (given, outside) => {
  const kind = nameKinds.find((each) => each === given.operands[0]);
  if (kind === undefined) {
    throw refuseValue({ field: "KIND", value: given.operands[0], allowed: listed(nameKinds) });
  }
  const names = kind === "context" ? contextNames(outside) : await namesAt(pathOf[kind]);
  async function namesAt(path: string): Promise<string[]> {
    const all = await openClient(given, outside).list(path);
    return [...new Set(all.map(({ name }) => String(name)))];
  }
  outside.print(names.map((name) => `${name}\n`).join(""));
  return {};
};

interface Facts {
  /** What may follow these words. */
  readonly next: ReadonlyMap<string, readonly string[]>;
  /** The values of this option. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

function factsOf(all: readonly Command[], settingNames: readonly string[]): Facts {
  const next = new Map<string, readonly string[]>([["", [...wordsAfter(all, ""), "help"]]]);
  const values = new Map<string, readonly string[]>();
  for (const command of all) {
    const words = command.words.split(" ");
    for (let count = 1; count < words.length; count++) {
      const noun = words.slice(0, count).join(" ");
      if (isNoun(all, noun)) next.set(noun, wordsAfter(all, noun));
    }
    const isOfSettings = ["serve", "doctor", "config list"].includes(command.words);
    const options = Object.entries(optionsOf(command));
    const ownNames = Object.keys(isOfSettings ? command.options : optionsOf(command));
    const names = isOfSettings ? [...settingNames, ...ownNames] : ownNames;
    next.set(command.words, [
      ...(isNoun(all, command.words) ? wordsAfter(all, command.words) : []),
      ...names.map((name) => `--${name}`),
    ]);
    for (const [name, { choices, aliases = [] }] of options) {
      if (choices === undefined) continue;
      for (const each of [`--${name}`, ...aliases]) values.set(each, choices);
    }
  }
  next.set("completion", shells);
  return { next, values };
}

const scripts: Readonly<Record<(typeof shells)[number], (facts: Facts) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Options whose value is a name; `-n` depends on the command. */
const named: readonly (readonly [string, string])[] = [
  ["--topic-name|-t|--source-resource-id|--subscribe|--to-topic-name", "topic"],
  ["--to-name", "subscription"],
  ["--context", "context"],
];
const ask = (kind: string) => `posthorn names ${kind} 2>/dev/null`;

/** The common part of both shells: the words so far, and what may follow. */
function cases({ next, values }: Facts): string {
  const names = named.map(([options, kind]) => `    ${options}) next="$(${ask(kind)})" ;;`);
  const after = [...values].map(([name, words]) => `    ${name}) next="${words.join(" ")}" ;;`);
  const follow = [...next].map(([words, all]) => `    "${words}") next="${all.join(" ")}" ;;`);
  return `  case "$prev" in
${[...names, ...after].join("\n")}
    --name|-n)
      case "$words" in
        "topic create"|"domain create") ;;
        "topic "[a-df-z]*|"domain "[a-df-z]*) next="$(${ask("topic")})" ;;
        *" create") ;;
        *) next="$(${ask("subscription")})" ;;
      esac ;;
  esac
  case "$words" in
    "context use"|"context delete") [ -z "$next" ] && next="$(${ask("context")})" ;;
  esac
  if [ -z "$next" ]; then
    case "$words" in
${follow.join("\n")}
    esac
  fi`;
}

function bashScript(facts: Facts): string {
  return `# Completes posthorn in bash.
_posthorn() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words="" next="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
    -*) break ;;
    eventgrid) ;;
    *) words="\${words:+$words }\${COMP_WORDS[at]}" ;;
    esac
  done
${cases(facts)}
  COMPREPLY=($(compgen -W "$next" -- "$cur"))
}
complete -o default -F _posthorn posthorn
`;
}

function zshScript(facts: Facts): string {
  return `#compdef posthorn
# Completes posthorn in zsh.
_posthorn() {
  local prev="\${words[CURRENT-1]}" line="" next="" at
  for ((at = 2; at < CURRENT; at++)); do
    case "\${words[at]}" in
    -*) break ;;
    eventgrid) ;;
    *) line="\${line:+$line }\${words[at]}" ;;
    esac
  done
  () {
    local words="$1"
${cases(facts)}
  } "$line"
  if [ -n "$next" ]; then compadd -- \${=next}; else _files; fi
}
if [ "\${funcstack[1]}" = "_posthorn" ]; then _posthorn "$@"; else compdef _posthorn posthorn; fi
`;
}

function fishScript({ next, values }: Facts): string {
  const after = [...values].map(
    ([name, words]) => `    case '${name}'\n      printf '%s\\n' ${words.join(" ")}\n      return`,
  );
  const follow = [...next].map(
    ([words, all]) => `    case '${words}'\n      printf '%s\\n' ${all.join(" ")}`,
  );
  return `# Completes posthorn in fish.
function __posthorn_next
  set -l tokens (commandline -opc)
  set -l words
  for token in $tokens[2..-1]
    switch $token
      case '-*'
        break
      case eventgrid
      case '*'
        set words $words $token
    end
  end
  switch "$tokens[-1]"
${[...named.map(([options, kind]) => `    case ${options.split("|").join(" ")}\n      ${ask(kind)}\n      return`), ...after].join("\n")}
    case --name -n
      switch "$words"
        case '* create'
        case 'topic list' 'topic show' 'topic update' 'topic delete' 'topic key *' 'domain show' 'domain update' 'domain delete'
          ${ask("topic")}
        case '*'
          ${ask("subscription")}
      end
      return
  end
  switch "$words"
${follow.join("\n")}
  end
end
complete -c posthorn -a '(__posthorn_next)'
`;
}
