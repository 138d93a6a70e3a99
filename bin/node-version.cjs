// Which Node runs Posthorn. Plain and old JavaScript, because an old Node reads it.

const oldest = [24, 15];

/** Null: this one does. Otherwise what is the matter, in words. */
function whyTooOld() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return null;
  return `needs Node ${oldest.join(".")} or newer, and this is ${process.version}`;
}

module.exports = { oldest, whyTooOld };
