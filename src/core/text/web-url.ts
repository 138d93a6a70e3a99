// URLs of endpoints, kept exactly as written, so that what is shown is what was written; they are
// parsed when they are used.

export const urlCharactersMax = 2_048;

/** What completes "must be", for refusals. */
export function urlWords(schemes: string): string {
  const url = `an absolute ${schemes} URL of at most ${urlCharactersMax} characters`;
  return `${url}, without user name, password and fragment`;
}

/** Null if it is not such a URL. Blanks and line ends, which parsers drop, are not allowed. */
export function readWebUrl(value: unknown): URL | null {
  if (typeof value !== "string" || value.length > urlCharactersMax) return null;
  if (/[\s\p{Cc}]/u.test(value)) return null;
  const url = URL.parse(value);
  const isFine =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    !value.includes("#") &&
    url.href.length <= urlCharactersMax;
  return isFine ? url : null;
}
