// Arrays as PostgreSQL reads them in binary form. A round is sent as a few arrays, one per column;
// as text each event in them would be escaped here and unescaped there.

const int2 = 21;
const int4 = 23;
const int8 = 20;
const text = 25;

const headBytes = 20;

export function int8Array(values: readonly (number | null)[]): Buffer {
  const sized = values.reduce<number>((sum, value) => sum + (value === null ? 4 : 12), 0);
  const array = begin(int8, values.length, sized);
  let at = headBytes;
  for (const value of values) {
    if (value === null) {
      at = array.writeInt32BE(-1, at);
      continue;
    }
    at = array.writeInt32BE(8, at);
    at = array.writeInt32BE(Math.floor(value / 2 ** 32), at);
    at = array.writeUInt32BE(value >>> 0, at);
  }
  return array;
}

export function int4Array(values: readonly (number | null)[]): Buffer {
  const sized = values.reduce<number>((sum, value) => sum + (value === null ? 4 : 8), 0);
  const array = begin(int4, values.length, sized);
  let at = headBytes;
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 4, at);
    if (value !== null) at = array.writeInt32BE(value, at);
  }
  return array;
}

export function int2Array(values: readonly number[]): Buffer {
  const array = begin(int2, values.length, values.length * 6);
  let at = headBytes;
  for (const value of values) {
    at = array.writeInt32BE(2, at);
    at = array.writeInt16BE(value, at);
  }
  return array;
}

/** Bytes are a text in UTF-8. */
export function textArray(values: readonly (string | Buffer | null)[]): Buffer {
  const lengths = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)));
  const sized = lengths.reduce((sum, length) => sum + 4 + Math.max(0, length), 0);
  const array = begin(text, values.length, sized);
  let at = headBytes;
  for (const [index, value] of values.entries()) {
    const length = lengths[index] as number;
    at = array.writeInt32BE(length, at);
    if (typeof value === "string") at += array.write(value, at, length, "utf8");
    else if (value !== null) at += value.copy(array, at);
  }
  return array;
}

/** One dimension, counted from one, in which there may be nulls. */
function begin(type: number, length: number, bytes: number): Buffer {
  const array = Buffer.allocUnsafe(headBytes + bytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(length, 12);
  array.writeInt32BE(1, 16);
  return array;
}
