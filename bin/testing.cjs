// The way into the test kit of the installed package. It is CommonJS, so that `import`, `require`
// and runners that bring a module loader of their own (Jest) read it alike, and so that an old Node
// gets as far as the sentence below. The kit itself is loaded with the first broker.

const { whyTooOld } = require("./node-version.cjs");

exports.startPosthorn = async function startPosthorn(options) {
  const why = whyTooOld();
  if (why !== null) throw new Error(`posthorn/testing ${why}; run your tests with a newer Node`);
  // Node's own `require`: Jest's reads no ES modules.
  const { createRequire } = process.getBuiltinModule("node:module");
  return await createRequire(__filename)("../dist/testing.js").startPosthorn(options);
};
