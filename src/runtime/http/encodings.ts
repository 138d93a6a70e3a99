// What an `Accept-Encoding` allows.

/** Named, and not with the weight zero. */
export function takes(accepts: string, encoding: string): boolean {
  return accepts
    .toLowerCase()
    .split(",")
    .map((each) => each.split(";").map((part) => part.trim()))
    .some(([name, weight = "q=1"]) => name === encoding && !/^q=0(\.0*)?$/.test(weight));
}
