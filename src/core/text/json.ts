// Positions in a JSON text: the objects of a publish and the raw text of their members.
//
// Writing a parsed value back changes it: 1.0 becomes 1, 12345678901234567890 loses its last
// digits, escapes change. So an event is assembled from slices of the publisher's own text, and
// this file finds the slices. It assumes a text that JSON.parse has accepted and checks nothing
// again; so it is a single pass without a stack. Deliberately absent: values, errors. Only
// isNestedDeeper takes any text.

/** A member of an object: its name with escapes resolved, and the position of its value's text. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface ObjectSpan {
  readonly start: number;
  readonly end: number;
  /** In the order of the text; a duplicate name is listed twice. */
  readonly members: readonly Member[];
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** The blanks of JSON are the space and three characters below it; valid text has no others. */
const space = 0x20;

/**
 * The objects of a valid text that is an object, or an array of nothing but objects. Null when one
 * of them is nested deeper than `depthMax`; an object without objects and arrays in it is 1 deep.
 */
export function findObjects(text: string, depthMax = Infinity): readonly ObjectSpan[] | null {
  let at = skipBlank(text, 0);
  if (text.charCodeAt(at) === openBrace) {
    const object = findMembers(text, at, depthMax);
    return object && [object];
  }
  const objects: ObjectSpan[] = [];
  at = skipBlank(text, at + 1);
  while (text.charCodeAt(at) !== closeBracket) {
    const object = findMembers(text, at, depthMax);
    if (object === null) return null;
    objects.push(object);
    at = skipBlank(text, object.end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return objects;
}

/** The members of the object whose opening brace is at `start`; null as above. */
export function findMembers(text: string, start: number, depthMax = Infinity): ObjectSpan | null {
  const members: Member[] = [];
  let at = skipBlank(text, start + 1);
  while (text.charCodeAt(at) !== closeBrace) {
    const nameEnd = endOfString(text, at);
    const name = readName(text, at, nameEnd);
    const colon = skipBlank(text, nameEnd);
    const valueStart = skipBlank(text, colon + 1);
    const valueEnd = endOfValue(text, valueStart, depthMax - 1);
    if (valueEnd === tooDeep) return null;
    members.push({ name, start: valueStart, end: valueEnd });
    at = skipBlank(text, valueEnd);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return { start, end: at + 1, members };
}

/** The positions of the elements of a valid array, whatever they are. */
export function findElements(text: string): readonly Pick<Member, "start" | "end">[] {
  const elements: { start: number; end: number }[] = [];
  let at = skipBlank(text, skipBlank(text, 0) + 1);
  while (text.charCodeAt(at) !== closeBracket) {
    const end = endOfValue(text, at, Infinity);
    elements.push({ start: at, end });
    at = skipBlank(text, end);
    if (text.charCodeAt(at) === comma) at = skipBlank(text, at + 1);
  }
  return elements;
}

/**
 * Whether brackets are nested deeper than that in any text, valid or not. Checked for a long text
 * before it is parsed: half a million brackets cost the parser half a second.
 */
export function isNestedDeeper(text: string, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) {
      at = endOfString(text, at) - 1;
      if (at < 0) return false;
    } else if (unit === openBrace || unit === openBracket) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (unit === closeBrace || unit === closeBracket) depth -= 1;
  }
  return false;
}

/** How many bytes a part of a text has as UTF-8. */
export function countUtf8Bytes(text: string, start: number, end: number): number {
  let bytes = 0;
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    // The two halves of a pair are four bytes together.
    else if (unit >= 0xd800 && unit <= 0xdfff) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}

function readName(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) <= space) at += 1;
  return at;
}

/** Instead of an end. */
const tooDeep = -1;

/** Where the value that begins here ends: the position after its last character. */
function endOfValue(text: string, start: number, depthMax: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  if (first === openBrace || first === openBracket) return endOfNest(text, start, depthMax);
  let at = start + 1;
  for (;;) {
    const unit = text.charCodeAt(at);
    // A number or a word ends with a blank, a comma or a bracket; the text never ends with it,
    // because we only look inside objects.
    if (unit <= space || unit === comma || unit === closeBrace || unit === closeBracket) return at;
    at += 1;
  }
}

function endOfNest(text: string, start: number, depthMax: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    const unit = text.charCodeAt(at);
    if (unit === quote) {
      at = endOfString(text, at);
      continue;
    }
    at += 1;
    if (unit === openBrace || unit === openBracket) {
      depth += 1;
      if (depth > depthMax) return tooDeep;
    } else if (unit === closeBrace || unit === closeBracket) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
}

/** `start` is the opening quote. 0 when there is no closing one, which valid text always has. */
function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (text.charCodeAt(end - 1) === backslash && isEscaped(text, end));
  return end + 1;
}

/** A quote is escaped when an odd number of backslashes comes before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}
