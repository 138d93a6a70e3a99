// Whether a request was meant for a broker on this machine alone. A page from elsewhere can make a
// browser call 127.0.0.1 under a name of its own (DNS rebinding); what it cannot do is to call it
// by its address, or by a name that only this machine has.

const addressRule = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/** `host`: the header, with or without a port. */
export function isNameOfThisMachine(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  return name === "localhost" || name.endsWith(".localhost") || addressRule.test(name);
}
