// Values as bytes, one after the other, and back: for the journal's records (journal-record.ts) and
// for rounds on their way between threads (pack.ts).

const absent = 0xffff_ffff;
/** What a UTF-16 code unit may need as UTF-8. */
const bytesPerUnit = 3;

export class ByteWriter {
  readonly #allocate: (bytes: number) => Buffer;
  #bytes: Buffer;
  #view: DataView;
  #length = 0;

  constructor(bytes: number, allocate: (bytes: number) => Buffer = Buffer.allocUnsafe) {
    this.#allocate = allocate;
    this.#bytes = allocate(bytes);
    this.#view = viewOf(this.#bytes);
  }

  get length(): number {
    return this.#length;
  }

  /** All of it, and what room there is behind it. Another one after every write that needs more. */
  get room(): Buffer {
    return this.#bytes;
  }

  /** Goes on writing at this place, which is not beyond what was written. */
  rewind(length: number): void {
    this.#length = length;
  }

  /** The same with a room of this size. */
  resize(bytes: number): void {
    this.#bytes = this.#allocate(bytes);
    this.#view = viewOf(this.#bytes);
    this.#length = 0;
  }

  /** Leaves so many bytes out, and returns where they are. */
  skip(bytes: number): number {
    this.#ensure(bytes);
    this.#length += bytes;
    return this.#length - bytes;
  }

  byte(value: number): void {
    const at = this.skip(1);
    this.#bytes[at] = value;
  }

  whole(value: number): void {
    const at = this.skip(4);
    this.#view.setUint32(at, value, true);
  }

  number(value: number): void {
    const at = this.skip(8);
    this.#view.setFloat64(at, value, true);
  }

  text(value: string | null): void {
    if (value === null) {
      this.whole(absent);
      return;
    }
    this.#ensure(4 + value.length * bytesPerUnit);
    const length = this.#bytes.write(value, this.#length + 4);
    this.#view.setUint32(this.#length, length, true);
    this.#length += 4 + length;
  }

  copy(from: Buffer, start: number, end: number): void {
    const at = this.skip(end - start);
    from.copy(this.#bytes, at, start, end);
  }

  #ensure(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = this.#allocate(2 * (this.#length + more));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

/** Numbers are written and read by it: as fast as machine code does, and a buffer's own are not. */
function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

export class ByteReader {
  readonly bytes: Buffer;
  readonly #view: DataView;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#view = viewOf(bytes);
    this.#at = at;
    this.#end = end;
  }

  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Returns where it was. */
  skip(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  byte(): number {
    return this.bytes[this.skip(1)] as number;
  }

  whole(): number {
    return this.#view.getUint32(this.skip(4), true);
  }

  number(): number {
    return this.#view.getFloat64(this.skip(8), true);
  }

  text(): string | null {
    const length = this.whole();
    if (length === absent) return null;
    const at = this.skip(length);
    return this.bytes.toString("utf8", at, at + length);
  }
}
