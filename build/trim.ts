// Removes from node_modules what nothing here reads, a third of it. Runs after every installation
// (`dependencies` in package.json).

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const modules = join(import.meta.dirname, "../node_modules");

const useless = [
  // Builds for other places, in packages that also have one for Node or for the bundler.
  /\/@(azure|azure-rest|typespec)\/[^/]+\/dist\/(browser|react-native|workerd)$/,
  /\/@azure\/(storage-[a-z]+|identity|event-hubs)\/dist\/commonjs$/,
  /\/@azure\/msal-(common\/dist-browser|(common|node)\/src)$/,
  /\/@fluentui\/[^/]+\/lib-commonjs$/,
  /\/@azure\/arm-eventgrid\/(src|dist\/index\.min\.js)$/,
  /\/react-dom\/cjs\/react-dom-(server|profiling)[^/]+$/,
  /\/ajv\/lib$/,
  /\/@opentelemetry\/[^/]+\/build\/esnext$/,
  // Signs in from a web page; @azure/identity imports it only there.
  /\/@azure\/msal-browser\/(dist|lib|src|types)$/,
  // A format of lists of blobs that we never ask for; @azure/storage-blob loads it when asked.
  /\/(apache-arrow|flatbuffers|apache-arrow\/.*\/node)\/(?!package\.json|node_modules)[^/]+$/,
  /\/axe-core\/locales$/,
  // Headers and manuals, a third of what comes with Node.
  /\/node\/node_modules\/node-[^/]+\/(include|share)$/,
  /\.map$/,
  /\/(readme|changelog|history)\.md$/i,
];

function trim(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (useless.some((each) => each.test(path))) rmSync(path, { recursive: true });
    else if (entry.isDirectory() && entry.name !== ".cache") trim(path);
  }
}

trim(modules);
