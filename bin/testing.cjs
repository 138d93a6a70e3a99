// The way into the test kit of the installed package. It is CommonJS, so that `import`, `require`
// and runners that bring a module loader of their own (Jest) read it alike, and so that an old Node
// gets as far as the sentence below. The kit itself is loaded with the first broker.

const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { constants, runInThisContext } = require("node:vm");
const { whyTooOld } = require("./node-version.cjs");

exports.startPosthorn = async function startPosthorn(options) {
  const why = whyTooOld();
  if (why !== null) throw new Error(`posthorn/testing ${why}; run your tests with a newer Node`);
  const url = pathToFileURL(join(__dirname, "../dist/testing.js")).href;
  const kit = await import(url).catch((error) => importOutside(url, error));
  return await kit.startPosthorn(options);
};

/** Jest runs its files where there is no `import`; Node's own is still there. */
function importOutside(url, error) {
  if (error.code !== "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG") throw error;
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  return runInThisContext("(url) => import(url)", { importModuleDynamically })(url);
}
