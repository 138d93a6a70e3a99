// URLs of endpoints as someone wrote them. They are kept letter by letter, so that whoever compares
// what they wrote with what is shown finds no difference; what a URL means is read when it is used.

export const urlCharactersMax = 2_048;

/** What completes "must be", for refusals. */
export function urlWords(schemes: string): string {
  const url = `an absolute ${schemes} URL of at most ${urlCharactersMax} characters`;
  return `${url}, without user name, password and fragment`;
}

/** Null for what is no such URL. Blanks and line ends, which parsers drop, are in none. */
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
